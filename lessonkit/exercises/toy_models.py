"""Toy models that several lessons use, small enough that every right answer is known.

Not in the paper. What is random in them comes from their own seed. Some count what they are asked,
or refuse to be asked twice: so an exercise sees how an answer works.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lessonkit.exercises.outcome import describe_value
from lessonkit.exercises.random_tensors import make_normal_sampler, seeded_generator
from lessonkit.exercises.rules import BrokenRuleError
from lessonkit.exercises.toys import BaseToy
from transformer.config import BOS_ID, PAD_ID

MAX_SENTENCE_LENGTH = 32  # of a sentence: more than any right answer writes
POSITION_READER_TYPES = 7  # of `PositionReader`'s vocabulary
MAX_DECODE_CALLS = 64  # of `EncodeOnceTransformer`: more than any right search makes


@dataclass(repr=False)
class ReadOnceKeyValueBlocks(BaseToy, Sequence[Any]):
    """Many blocks of keys and values, drawn by chance: pairs (length, 2) and (length, 1).

    It is read like a list, except that there is one way through and not a second. The block just
    read may be read again (its key, then its value); the first and the last, for their shape, at
    any time.
    """

    number: int
    length: int

    def __post_init__(self) -> None:
        generator = seeded_generator(0)
        self._pairs = [self._random_key_value_block(generator) for _ in range(self.number)]
        self._read: set[int] = set()
        self._newest: set[int] = set()

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, place: Any) -> Any:
        """Return a block, or several; refuse to return all of them twice."""
        places = range(self.number)[place]
        wanted = set(places if isinstance(place, slice) else [places]) - {0, self.number - 1}
        is_newest = not isinstance(place, slice) and wanted == self._newest
        if wanted & self._read and not is_newest:
            raise BrokenRuleError("it goes through the blocks a second time")
        self._read |= wanted
        self._newest = wanted
        return self._pairs[place]

    def _random_key_value_block(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        key = 3 * torch.randn(self.length, 2, generator=generator)
        return key, torch.randn(self.length, 1, generator=generator)


def drop_every_third_number(hidden: Tensor) -> Tensor:
    """Drop every third number and enlarge the others, as dropout would by chance."""
    survives = torch.arange(hidden.numel()).reshape(hidden.shape) % 3 > 0
    return hidden * survives * 1.5


@dataclass(repr=False)
class DecoderLayerParts(BaseToy):
    """The parts of a decoder layer, for the learner to put together.

    Its weights are drawn by chance; with no seed every matrix is the identity, every gain 1 and
    every bias 0. Its dropout drops the same numbers each time, or none.
    """

    d_model: int
    num_heads: int
    seed: int | None = None
    drops: bool = False
    visible = ("norms",)

    def __post_init__(self) -> None:
        generator = seeded_generator(self.seed or 0)
        width = self.d_model

        def draw(rows: int, columns: int) -> Tensor:
            matrix = torch.randn(rows, columns, generator=generator) / rows**0.5  # sums near 1
            return torch.eye(rows, columns) if self.seed is None else matrix

        def draw_vector(mean: float) -> Tensor:
            noise = torch.rand(width, generator=generator) - 0.5
            return mean + (noise if self.seed is not None else torch.zeros(width))

        self.self_weights = torch.stack([draw(width, width) for _ in range(4)])
        self.cross_weights = torch.stack([draw(width, width) for _ in range(4)])
        self.inner = draw(width, width + 1)
        self.outer = draw(width + 1, width)
        self.gains = [draw_vector(1.0) for _ in range(3)]
        self.biases = [draw_vector(0.0) for _ in range(3)]
        self.norms = [
            partial(F.layer_norm, normalized_shape=(width,), weight=gain, bias=bias)
            for gain, bias in zip(self.gains, self.biases, strict=True)
        ]

    def self_attention(self, query: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Attend from (batch, q_len, d_model) to (batch, k_len, d_model)."""
        return self._attend(self.self_weights, query, memory, mask)

    def cross_attention(self, query: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Do the same with other weights."""
        return self._attend(self.cross_weights, query, memory, mask)

    def feed_forward(self, hidden: Tensor) -> Tensor:
        """Map each position for itself."""
        return (hidden @ self.inner).relu() @ self.outer

    def dropout(self, hidden: Tensor) -> Tensor:
        """Drop some numbers, or none."""
        return drop_every_third_number(hidden) if self.drops else hidden

    def _attend(self, weights: Tensor, query: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        w_query, w_key, w_value, w_output = weights
        queries = self._split_heads(query @ w_query)
        keys = self._split_heads(memory @ w_key)
        values = self._split_heads(memory @ w_value)
        heads = F.scaled_dot_product_attention(queries, keys, values, mask)
        return heads.transpose(1, 2).flatten(2) @ w_output

    def _split_heads(self, hidden: Tensor) -> Tensor:
        return hidden.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


class TinyTrainableNetwork(BaseToy, nn.Module):
    """A small network to train: its logits depend on the last token and the source's first.

    It comes in evaluation mode, as after a validation; in training it drops the same numbers of a
    batch each time. With no seed all its weights are 0.
    """

    def __init__(self, vocab_size: int, d_model: int, seed: int | None = None) -> None:
        super().__init__()
        self.vocab_size, self.d_model, self.seed = vocab_size, d_model, seed
        generator = seeded_generator(seed or 0)
        scale = 0.0 if seed is None else 1.0
        embedding = torch.randn(vocab_size, d_model, generator=generator)
        output = torch.randn(d_model, vocab_size, generator=generator)
        self.embedding = nn.Parameter(scale * embedding)
        self.output = nn.Parameter(scale * output)
        self.eval()

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Ids (batch, src_len) and (batch, tgt_len) -> logits (batch, tgt_len, vocab_size)."""
        hidden = self.embedding[tgt_in] + self.embedding[src[:, :1]]
        return (drop_every_third_number(hidden) if self.training else hidden) @ self.output


@dataclass(repr=False)
class EncodeOnceTransformer(BaseToy):
    """A toy Transformer with `encode` and `decode`, for a search; it reads its source once.

    What it writes depends on all tokens so far. With no seed it copies its source.
    """

    seed: int | None
    read: bool = field(default=False, init=False)
    calls: int = field(default=0, init=False)  # of `decode`

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Return a memory (1, src_len, 7) of ids (1, src_len); refuse to do it again."""
        _require_mask(src_mask)
        if self.read:
            raise BrokenRuleError("it reads the source a second time")
        self.read = True
        return F.one_hot(src, 7).float()

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor) -> Tensor:
        """Return the logits of the token after each of (1, tgt_len), which begin with bos."""
        _require_mask(src_mask)
        self.calls += 1
        shape = tuple(getattr(tgt_in, "shape", ()))
        if len(shape) != 2 or shape[0] != 1:
            raise BrokenRuleError(
                f"it gives decode {describe_value(tgt_in)}, not a tensor (1, number of ids)"
            )
        ids = tgt_in[0].tolist()
        if self.calls > MAX_DECODE_CALLS or len(ids) > MAX_SENTENCE_LENGTH:
            raise BrokenRuleError(
                "it goes on and on: does your loop end at the eos, and after `limit` tokens?"
            )
        if ids[:1] != [BOS_ID]:
            raise BrokenRuleError(f"it gives decode the ids {ids}, which do not begin with the bos")
        src = memory[0].argmax(dim=-1).tolist()
        return torch.tensor([[self.scores(src, ids[: n + 1]) for n in range(len(ids))]])

    def scores(self, src: list[int], written: list[int]) -> list[float]:
        """Return the scores of the seven types that may follow; pad and bos score lowest."""
        if self.seed is None:
            wanted = src[min(len(written), len(src)) - 1]
            return [float(token == wanted) for token in range(7)]
        weights = make_normal_sampler(self.seed)(MAX_SENTENCE_LENGTH, 7, 7)
        seen = sum(weights[place, token] for place, token in enumerate(written))
        logits = seen + weights[-1, src].mean(dim=0)
        logits[[PAD_ID, BOS_ID]] = -torch.inf
        return logits.tolist()


@dataclass(repr=False)
class PositionReader(BaseToy):
    """A toy decoder: `rows` says which positions each position reads, "101" the first and third.

    It takes a list of ids and returns logits (length, 7). Types 0 and 1 have the same vector, and
    so have 2 and 3, and 4 and 5.
    """

    rows: tuple[str, ...]
    seed: int

    def __call__(self, ids: list[int]) -> Tensor:
        """Return the logits of the token after each position."""
        if len(ids) != len(self.rows):
            raise ValueError(f"it was given {len(ids)} ids: give {len(self.rows)}, as at first")
        draw = make_normal_sampler(self.seed)
        vectors = draw(4, POSITION_READER_TYPES)[[int(token) // 2 for token in ids]]
        vectors[:, PAD_ID] = 0  # a logit that nothing changes
        reads = torch.tensor([[float(mark) for mark in row] for row in self.rows])
        amounts = 1 + torch.arange(len(ids))  # so that no two positions make up for each other
        return (reads * amounts) @ vectors


def _require_mask(src_mask: Any) -> None:
    if getattr(src_mask, "dtype", None) != torch.bool:
        raise ValueError("src_mask is no mask")
