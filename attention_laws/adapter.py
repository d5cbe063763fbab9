"""What is asked of an encoder-decoder, and of what stands around it, whoever wrote it.

Not in the paper. An `Adapter` is a handful of functions around somebody's model, a `Pipeline`
around text, data and score. Only `forward` is needed; a law that needs more says so.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from attention_laws.errors import UserError

PAD_ID, BOS_ID, EOS_ID = 0, 2, 3  # unless an adapter says others: the course's own
Pair = tuple[str, str]
Rows = Sequence[list[int]]


class Candidate(NamedTuple):
    """What a search found for one source."""

    ids: list[int]  # target ids, without bos and eos
    # sum over these ids, and eos where `finished` (nats), before any length penalty
    log_prob: float
    finished: bool  # whether eos ended it, not a limit


@dataclass(frozen=True, kw_only=True)
class CachedDecoder:
    """How a model decodes a token at a time; `cache` is whatever it remembers.

    Attributes:
        start: `start(src)` encodes (batch, src_len) and gives an empty cache that goes with it.
        step: `step(tokens, cache)` reads the newest token of each row, (batch, 1), extends the
            cache in place or gives it back changed, and returns (logits (batch, vocab), cache).
        reorder: `reorder(cache, rows)` gives the cache whose row i was row `rows[i]`.
    """

    start: Callable[[Tensor], Any]
    step: Callable[[Tensor, Any], tuple[Tensor, Any]]
    reorder: Callable[[Any, Tensor], Any] | None = None


@dataclass(frozen=True, kw_only=True)
class _Given:
    def replace(self, **changes: Any) -> Self:
        """Give another that differs in these attributes."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class Adapter(_Given):
    """An encoder-decoder as the laws see it: batch first, ids in, logits out.

    Attributes:
        forward: `forward(src, tgt_in)` gives logits (batch, tgt_len, tgt_vocab_size), before the
            softmax, of ids src (batch, src_len) and tgt_in (batch, tgt_len); it makes its masks
            from the ids. Position t scores the token after `tgt_in[:, t]`.
        src_vocab_size: Source ids are below it.
        tgt_vocab_size: Target ids are below it; the width of the logits.
        module: What holds the parameters and the mode; without it no law on either is tried.
        pad_id: Padding, of both sides; None where the model has none.
        bos_id: Begins each target.
        eos_id: Ends each sentence.
        encode: `encode(src)` gives the memory, (batch, src_len, width).
        decode: `decode(tgt_in, memory, src)` gives logits of a memory from `encode`.
        cached: Decoding with a cache.
        attention: `attention(src, tgt_in)` gives weights by name, each
            (batch, num_heads, q_len, k_len).
        greedy: `greedy(src, length)` gives each row's ids, without bos and eos: `length` of them,
            or fewer where eos ended it.
        beam: `beam(src, beam_size, length)` gives for each row its candidates, the best first.
        rank: `rank(log_prob, length)` is what the search orders candidates by, more is better;
            `length` is their number of tokens, eos included.
        alpha: Of the paper's length penalty, if `rank` is to be that.
        loss: `loss(logits, tgt_out)` gives a scalar, in nats: a sum over tokens, or a mean.
        optimizer: What trains `module`.
        train_step: `train_step(src, tgt_in, tgt_out)` does one whole step of training, and gives
            its loss.
        stateful: What a `train_step` changes besides `module` and `optimizer`, such as a
            scheduler or the count of steps; each has `state_dict` and `load_state_dict`.
        schedule: `schedule(step)` gives the learning rate of a step, from 1.
        warmup_steps: Of the paper's schedule, if `schedule` is to be that.
        d_model: Width, for that schedule.
        make_batch: `make_batch(sources, targets)` gives src, tgt_in and tgt_out of lists of ids
            without special ids.
        declared_tied: Names of parameters that are said to be one matrix, in groups.
        fresh: Whether the weights are still as they were drawn; None: it is looked for.
        assumptions: What had to be assumed, each with the option that says otherwise.
    """

    forward: Callable[[Tensor, Tensor], Tensor]
    src_vocab_size: int
    tgt_vocab_size: int
    module: nn.Module | None = None
    pad_id: int | None = PAD_ID
    bos_id: int = BOS_ID
    eos_id: int = EOS_ID
    encode: Callable[[Tensor], Tensor] | None = None
    decode: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None
    cached: CachedDecoder | None = None
    attention: Callable[[Tensor, Tensor], Mapping[str, Tensor]] | None = None
    greedy: Callable[[Tensor, int], list[list[int]]] | None = None
    beam: Callable[[Tensor, int, int], list[list[Candidate]]] | None = None
    rank: Callable[[float, int], float] | None = None
    alpha: float | None = None
    loss: Callable[[Tensor, Tensor], Tensor] | None = None
    optimizer: torch.optim.Optimizer | None = None
    train_step: Callable[[Tensor, Tensor, Tensor], float] | None = None
    stateful: tuple[Any, ...] = ()
    schedule: Callable[[int], float] | None = None
    warmup_steps: int | None = None
    d_model: int | None = None
    make_batch: Callable[[Rows, Rows], tuple[Tensor, Tensor, Tensor]] | None = None
    declared_tied: tuple[tuple[str, ...], ...] = ()
    fresh: bool | None = None
    assumptions: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        """Refuse sizes with which no sentence can be made."""
        for side, size in (("source", self.src_vocab_size), ("target", self.tgt_vocab_size)):
            if size < 8:
                what = f"a {side} vocabulary of {size} is too small to diagnose with"
                raise UserError(f"{what}: give 8 or more")


@dataclass(frozen=True, kw_only=True)
class Pipeline(_Given):
    """How text becomes ids, ids become text, and text a score.

    Attributes:
        train: Pairs of texts that the model learns from, source and target, as the corpus has
            them.
        test: Pairs that it is judged by.
        encode_src: Ids of a source, as in training.
        encode_tgt: Ids of a target, as in training.
        encode_to_translate: Ids of a source, as when somebody translates.
        decode: The text that is scored, of target ids as a search gives them: bos, eos and
            padding may be among them.
        score: `score(hypotheses, references)` is the corpus's BLEU in percent.
        pad_id: Padding; None where there is none.
        bos_id: Begins each target.
        eos_id: Ends each sentence.
        unk_id: What unknown words become; None where nothing is unknown.
        joint_vocabulary: Whether both sides have the same ids, so that `decode` reads sources too.
    """

    train: Sequence[Pair] = ()
    test: Sequence[Pair] = ()
    encode_src: Callable[[str], list[int]] | None = None
    encode_tgt: Callable[[str], list[int]] | None = None
    encode_to_translate: Callable[[str], list[int]] | None = None
    decode: Callable[[list[int]], str] | None = None
    score: Callable[[list[str], list[str]], float] | None = None
    pad_id: int | None = PAD_ID
    bos_id: int = BOS_ID
    eos_id: int = EOS_ID
    unk_id: int | None = None
    joint_vocabulary: bool = False

    def without_marks(self, ids: list[int]) -> list[int]:
        """Leave out bos, eos and padding."""
        return [each for each in ids if each not in (self.pad_id, self.bos_id, self.eos_id)]
