"""Toys for exercises, small enough that every right answer is known.

What is random in them comes from their own seed. Some count what they are asked, or refuse to be
asked twice: that is how an exercise sees how an answer works.
"""

import heapq
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lessonkit.exercises.outcome import BrokenRuleError, Toy
from transformer.config import BOS_ID, EOS_ID, PAD_ID

SHIFT = int(os.environ.get("LESSONKIT_SHIFT", "0"))  # of all cases' seeds, which `grade` sets


def chance_of(seed: int) -> torch.Generator:
    """Give a source of chance, the same each time."""
    return torch.Generator().manual_seed(seed + SHIFT)


def drawing(seed: int) -> Callable[..., Tensor]:
    """Give what draws tensors of a size by chance, the same ones each time: `draw(2, 3)`."""
    chance = chance_of(seed)
    return lambda *size: torch.randn(size, generator=chance)


MAX_SEARCHED = 2_000  # questions: more than any search through all sentences has
MAX_PLACES = 32  # of a sentence: more than any right answer writes


@dataclass(repr=False)
class Table(Toy):
    """A toy model that reads the next token's probabilities off a table, by the last token."""

    rows: dict[int, dict[int, float]]
    calls: int = field(default=0, init=False)

    def __call__(self, written: list[int]) -> dict[int, float]:
        """Give each possible next token with its probability."""
        self.calls += 1
        if self.calls > MAX_SEARCHED:
            raise RuntimeError(f"the model was asked {MAX_SEARCHED} times: does your search end?")
        if not written or written[0] != BOS_ID:
            raise ValueError(f"asked about {list(written)}: give all tokens so far, bos first")
        return dict(self.rows[written[-1]])


def searched(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Search with a table of all prefixes of a level and their probabilities."""
    level: dict[tuple[int, ...], float] = {(): 1.0}
    finished: dict[tuple[int, ...], float] = {}
    for _ in range(limit):
        extended: dict[tuple[int, ...], float] = {}
        for words, prob in level.items():
            for token, share in next_probs([BOS_ID, *words]).items():
                extended[(*words, token)] = prob * share
        ends = {words for words in extended if words[-1] == EOS_ID}
        finished |= {words[:-1]: extended[words] for words in ends}
        kept = heapq.nlargest(beam_size, extended.keys() - ends, key=extended.__getitem__)
        level = {words: extended[words] for words in kept}
    best = max(finished, key=finished.__getitem__)
    return list(best)


def clear_tables(beam_sizes: Sequence[int]) -> list[tuple[Table, int, int]]:
    """Draw tables, limits and beams whose best sentence stays, if all shares change a little."""
    chance = random.Random(7 + SHIFT)
    cases = []
    for number in range(80):
        rows: dict[int, dict[int, float]] = {}
        for last in (BOS_ID, 4, 5, 6):
            shares = [chance.choice((1, 2, 3, 5, 8, 13)) for _ in range(4)]
            if last == BOS_ID:
                shares[0] = 0  # a sentence without words is no sentence
            shown = [round(share / sum(shares), 2) for share in shares]
            rows[last] = dict(zip((EOS_ID, 4, 5, 6), shown, strict=True))
        for limit in (2, 3, 4):
            case = Table(rows), limit, beam_sizes[number % len(beam_sizes)]
            moved = [_moved(rows, chance) for _ in range(49)]
            if len({tuple(searched(Table(each), *case[1:])) for each in moved}) == 1:
                cases.append(case)
    return cases


def _moved(rows: dict[int, dict[int, float]], chance: random.Random) -> dict[int, dict[int, float]]:
    return {
        last: {token: share * chance.uniform(0.97, 1.03) for token, share in row.items()}
        for last, row in rows.items()
    }


@dataclass(repr=False)
class Blocks(Toy, Sequence[Any]):
    """Many blocks of keys and values, drawn by chance: pairs (length, 2) and (length, 1).

    It is read as a list is, but for this: there is one way through, and not a second. The block
    just given may be asked for again (its key, then its value); the first and the last, for their
    shape, at any time.
    """

    number: int
    length: int

    def __post_init__(self) -> None:
        chance = chance_of(0)
        self._pairs = [self._draw(chance) for _ in range(self.number)]
        self._given: set[int] = set()
        self._newest: set[int] = set()

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, place: Any) -> Any:
        """Give a block, or several; refuse to give all of them twice."""
        places = range(self.number)[place]
        wanted = set(places if isinstance(place, slice) else [places]) - {0, self.number - 1}
        is_newest = not isinstance(place, slice) and wanted == self._newest
        if wanted & self._given and not is_newest:
            raise BrokenRuleError("it goes through the blocks a second time")
        self._given |= wanted
        self._newest = wanted
        return self._pairs[place]

    def _draw(self, chance: torch.Generator) -> tuple[Tensor, Tensor]:
        key = 3 * torch.randn(self.length, 2, generator=chance)
        return key, torch.randn(self.length, 1, generator=chance)


def drop(hidden: Tensor) -> Tensor:
    """Drop every third number and enlarge the others, as dropout would by chance."""
    kept = torch.arange(hidden.numel()).reshape(hidden.shape) % 3 > 0
    return hidden * kept * 1.5


@dataclass(repr=False)
class Layer(Toy):
    """The parts of a decoder layer, for the learner to put together.

    Its weights are drawn by chance; with no seed every matrix is the identity, every gain 1 and
    every bias 0. Its dropout drops the same numbers each time, or none.
    """

    d_model: int
    num_heads: int
    seed: int | None = None
    drops: bool = False
    shown = ("norms",)

    def __post_init__(self) -> None:
        chance = chance_of(self.seed or 0)
        width = self.d_model

        def draw(rows: int, columns: int) -> Tensor:
            drawn = torch.randn(rows, columns, generator=chance) / rows**0.5  # sums stay near 1
            return torch.eye(rows, columns) if self.seed is None else drawn

        def vector(size: int, middle: float) -> Tensor:
            drawn = torch.rand(size, generator=chance) - 0.5
            return middle + (drawn if self.seed is not None else torch.zeros(size))

        self.own, self.cross = (torch.stack([draw(width, width) for _ in range(4)]) for _ in "ab")
        self.inner, self.outer = draw(width, width + 1), draw(width + 1, width)
        self.gains = [vector(width, 1.0) for _ in range(3)]
        self.biases = [vector(width, 0.0) for _ in range(3)]
        self.norms = [
            partial(F.layer_norm, normalized_shape=(width,), weight=gain, bias=bias)
            for gain, bias in zip(self.gains, self.biases, strict=True)
        ]

    def self_attention(self, query: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Attend from (batch, q_len, d_model) to (batch, k_len, d_model)."""
        return self._attend(self.own, query, memory, mask)

    def cross_attention(self, query: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Do the same with other weights."""
        return self._attend(self.cross, query, memory, mask)

    def feed_forward(self, hidden: Tensor) -> Tensor:
        """Map each position for itself."""
        return (hidden @ self.inner).relu() @ self.outer

    def dropout(self, hidden: Tensor) -> Tensor:
        """Drop some numbers, or none."""
        return drop(hidden) if self.drops else hidden

    def _attend(self, weights: Tensor, query: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        queries, keys, values = (
            (each @ matrix).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for each, matrix in zip((query, memory, memory), weights, strict=False)
        )
        heads = F.scaled_dot_product_attention(queries, keys, values, mask)
        return heads.transpose(1, 2).flatten(2) @ weights[3]


class Parrot(Toy, nn.Module):
    """A small network to train; it makes logits of the last token and the source's first.

    It comes in evaluation mode, as after a validation; in training it drops the same numbers of a
    batch each time. With no seed all its weights are 0.
    """

    def __init__(self, vocab_size: int, d_model: int, seed: int | None = None) -> None:
        super().__init__()
        self.vocab_size, self.d_model, self.seed = vocab_size, d_model, seed
        chance = chance_of(seed or 0)
        scale = 0.0 if seed is None else 1.0
        self.embedding = nn.Parameter(scale * torch.randn(vocab_size, d_model, generator=chance))
        self.output = nn.Parameter(scale * torch.randn(d_model, vocab_size, generator=chance))
        self.eval()

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Ids (batch, src_len) and (batch, tgt_len) -> logits (batch, tgt_len, vocab_size)."""
        hidden = self.embedding[tgt_in] + self.embedding[src[:, :1]]
        return (drop(hidden) if self.training else hidden) @ self.output


@dataclass(repr=False)
class Reader(Toy):
    """A toy Transformer with `encode` and `decode`, for a search; it reads its source once.

    What it writes depends on all tokens so far. With no seed it copies its source.
    """

    seed: int | None
    read: bool = field(default=False, init=False)

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Give a memory of ids (1, src_len), (1, src_len, 7); refuse to do it again."""
        _require_mask(src_mask)
        if self.read:
            raise BrokenRuleError("it reads the source a second time")
        self.read = True
        return F.one_hot(src, 7).float()

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor) -> Tensor:
        """Give logits of the token after each of (1, tgt_len), all of them from bos on."""
        _require_mask(src_mask)
        ids = tgt_in[0].tolist()
        if ids[:1] != [BOS_ID] or len(ids) > MAX_PLACES:
            raise ValueError("give all tokens, bos first")
        src = memory[0].argmax(dim=-1).tolist()
        return torch.tensor([[self.scores(src, ids[: n + 1]) for n in range(len(ids))]])

    def scores(self, src: list[int], written: list[int]) -> list[float]:
        """Score the seven types that may follow; pad and bos are the last choice."""
        if self.seed is None:
            wanted = [*src, *src[-1:] * len(written)][len(written) - 1]
            return [float(token == wanted) for token in range(7)]
        weights = drawing(self.seed)(MAX_PLACES, 7, 7)
        seen = sum(weights[place, token] for place, token in enumerate(written))
        logits = seen + weights[-1, src].mean(dim=0)
        logits[[PAD_ID, BOS_ID]] = -torch.inf
        return logits.tolist()


def _require_mask(src_mask: Any) -> None:
    if getattr(src_mask, "dtype", None) != torch.bool:
        raise ValueError("src_mask is no mask")
