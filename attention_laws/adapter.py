"""What an encoder-decoder and its surroundings offer to the laws, whoever wrote them.

Not in the paper. An `Adapter` is a handful of functions around somebody's model, a `Pipeline`
around text, data and score. Only `forward` is required; a law that needs more says so.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from reprlib import repr as short_repr  # any value in a few dozen characters at most
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from attention_laws.argument_kinds import check_argument_kinds, check_field_kinds
from attention_laws.errors import UserError

# The course's own ids, unless an adapter names others.
PAD_ID, BOS_ID, EOS_ID = 0, 2, 3
MIN_VOCAB_SIZE = 8

TextPair = tuple[str, str]
TokenIdSequences = Sequence[list[int]]


class Candidate(NamedTuple):
    """A translation that a search returned for one source."""

    ids: list[int]  # target ids, without bos and eos
    # The sum over these ids, and eos if `finished` (nats), before any length penalty.
    log_prob: float
    finished: bool  # whether eos ended it rather than a limit


@dataclass(frozen=True, kw_only=True)
class CachedDecoder:
    """Incremental decoding, one token at a time; `cache` is whatever the model remembers.

    Attributes:
        start: `start(src)` encodes (batch, src_len) and returns an empty cache for it.
        step: `step(tokens, cache)` reads the newest token of each row, (batch, 1), extends the
            cache in place or returns a changed one: (logits (batch, vocab), cache).
        reorder: `reorder(cache, rows)` returns the cache whose row i was row `rows[i]`.
        is_assumed: Whether it was made by what a module's `forward` seems to take, so that an error
            in it need not be the module's fault.
    """

    start: Callable[[Tensor], Any]
    step: Callable[[Tensor, Any], tuple[Tensor, Any]]
    reorder: Callable[[Any, Tensor], Any] | None = None
    is_assumed: bool = False

    def __post_init__(self) -> None:
        """Raise unless each is of its kind."""
        check_field_kinds(self)


@dataclass(frozen=True, kw_only=True)
class _ReplaceMixin:
    def replace(self, **changes: Any) -> Self:
        """Return a copy with these attributes changed."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class Adapter(_ReplaceMixin):
    """An encoder-decoder, or a decoder alone, as the laws see it: ids in, batch first, logits out.

    Attributes:
        forward: `forward(src, tgt_in)` returns logits (batch, tgt_len, tgt_vocab_size), before
            the softmax, for ids src (batch, src_len) and tgt_in (batch, tgt_len); it makes its
            masks from the ids. Position t scores the token after `tgt_in[:, t]`.
        src_vocab_size: Number of source ids.
        tgt_vocab_size: Number of target ids, which is the width of the logits.
        module: The module with the parameters and the mode; laws about either need it.
        pad_id: Padding of sources, and of targets unless they have their own; None if the model
            has none.
        tgt_pad_id: Padding of targets if it is another.
        bos_id: First token of each target.
        eos_id: Last token of each sentence.
        encode: `encode(src)` returns the memory, (batch, src_len, width).
        decode: `decode(tgt_in, memory, src)` returns logits for a memory from `encode`.
        cached: Decoding with a cache.
        attention: `attention(src, tgt_in)` returns weights by name, each
            (batch, num_heads, q_len, k_len).
        greedy: `greedy(src, length)` returns each row's ids, without bos and eos: `length` of
            them, or fewer if eos ended it.
        beam: `beam(src, beam_size, length)` returns the candidates of each row, the best first.
        candidate_score: `candidate_score(log_prob, length)` is what the search orders candidates
            by, higher is better; `length` is their number of tokens, eos included.
        alpha: Exponent of the paper's length penalty, if `candidate_score` is meant to use it.
        length_exponent: Exponent of the length, if `candidate_score` is meant to divide by a power.
        loss: `loss(logits, tgt_out)` returns a scalar in nats: a sum over tokens, or a mean.
        label_smoothing: Share of the target that `loss` is meant to take from the true token.
        optimizer: The optimizer that trains `module`.
        optimizer_settings: Settings that the optimizer is meant to have, such as
            `{"betas": (0.9, 0.98), "eps": 1e-9}`.
        max_gradient_norm: Norm that `train_step` is meant to clip all gradients to.
        train_step: `train_step(src, tgt_in, tgt_out)` makes one whole update and returns its loss.
        stateful: What a `train_step` changes besides `module` and `optimizer`, such as a
            scheduler or a step counter; each has `state_dict` and `load_state_dict`.
        schedule: `schedule(step)` returns the learning rate of a step, counted from 1.
        warmup_steps: Steps in which `schedule` rises.
        schedule_rates: Rates that `schedule` is meant to have, by step, such as its peak and end.
        d_model: Width, if `schedule` is meant to be the paper's.
        relative_max_distance: Greatest distance of relative positions, if they are T5's.
        rotary_base: Base of the frequencies of rotary positions, often called theta.
        norm_epsilon: What norms are meant to add to the variance, or to its root.
        initial_std: Standard deviation that all matrices are meant to be drawn with.
        dropout: Rate of dropout that each sub-layer's output and the embeddings are meant to have.
        attention_dropout: Rate of dropout that attention weights are meant to have.
        make_batch: `make_batch(sources, targets)` returns src, tgt_in and tgt_out for lists of ids
            without special tokens.
        declared_tied: Groups of names of parameters that are meant to be one tensor.
        untrained: Whether the weights are as they were initialized; None: the laws find out.
        decoder_only: Whether it has no encoder: `forward` reads `tgt_in` alone, and laws about a
            source are not tried.
        left_padded: `left_padded(ids)` returns logits as `forward` does, of a decoder-only model
            and of rows that begin with padding, which it hides and does not count as positions.
        assumptions: What had to be assumed, each with the option that overrides it.
    """

    forward: Callable[[Tensor, Tensor], Tensor]
    src_vocab_size: int
    tgt_vocab_size: int
    module: nn.Module | None = None
    pad_id: int | None = PAD_ID
    tgt_pad_id: int | None = None
    bos_id: int = BOS_ID
    eos_id: int = EOS_ID
    encode: Callable[[Tensor], Tensor] | None = None
    decode: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None
    cached: CachedDecoder | None = None
    attention: Callable[[Tensor, Tensor], Mapping[str, Tensor]] | None = None
    greedy: Callable[[Tensor, int], list[list[int]]] | None = None
    beam: Callable[[Tensor, int, int], list[list[Candidate]]] | None = None
    candidate_score: Callable[[float, int], float] | None = None
    alpha: float | None = None
    length_exponent: float | None = None
    loss: Callable[[Tensor, Tensor], Tensor] | None = None
    label_smoothing: float | None = None
    optimizer: torch.optim.Optimizer | None = None
    optimizer_settings: Mapping[str, Any] | None = None
    max_gradient_norm: float | None = None
    train_step: Callable[[Tensor, Tensor, Tensor], float] | None = None
    stateful: tuple[Any, ...] = ()
    schedule: Callable[[int], float] | None = None
    warmup_steps: int | None = None
    schedule_rates: Mapping[int, float] | None = None
    d_model: int | None = None
    relative_max_distance: int | None = None
    rotary_base: float | None = None
    norm_epsilon: float | None = None
    initial_std: float | None = None
    dropout: float | None = None
    attention_dropout: float | None = None
    make_batch: (
        Callable[[TokenIdSequences, TokenIdSequences], tuple[Tensor, Tensor, Tensor]] | None
    ) = None
    declared_tied: tuple[tuple[str, ...], ...] = ()
    untrained: bool | None = None
    decoder_only: bool = False
    left_padded: Callable[[Tensor], Tensor] | None = None
    assumptions: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        """Raise unless sentences fit the vocabularies and each state can be restored."""
        check_field_kinds(self)
        self._check_ranges_of_settings()
        for side, size in (("source", self.src_vocab_size), ("target", self.tgt_vocab_size)):
            if size < MIN_VOCAB_SIZE:
                problem = f"a {side} vocabulary of {short_repr(size)} is too small to diagnose with"
                raise UserError(f"{problem}: give {MIN_VOCAB_SIZE} or more")
        if self.pad_id is None and self.tgt_pad_id is not None:
            problem = f"targets have padding, {self.tgt_pad_id}, and sources have none"
            raise UserError(f"{problem}: name an unused id as pad_id")
        for part in self.stateful:
            if not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
                problem = f"stateful holds {short_repr(part)}, whose state cannot be restored"
                raise UserError(f"{problem}: give objects with state_dict and load_state_dict")

    def _check_ranges_of_settings(self) -> None:
        """Raise a UserError unless sizes are above 0, and shares from 0 to below 1."""
        for name in ("rotary_base", "norm_epsilon", "initial_std"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UserError(f"{name} is {value}: give a number above 0, or leave it out")
        for name in ("label_smoothing", "dropout", "attention_dropout"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1:
                raise UserError(f"{name} is {value}: give a share from 0 to below 1")


@dataclass(frozen=True, kw_only=True)
class Pipeline(_ReplaceMixin):
    """How text becomes ids, ids become text, and text a score.

    Attributes:
        train: Pairs of texts that the model learns from, source and target, as in the corpus.
        test: Pairs that it is evaluated on.
        encode_src: Ids of a source, as in training.
        encode_tgt: Ids of a target, as in training.
        encode_to_translate: Ids of a source, as at inference.
        decode: The text that is scored, for target ids as a search returns them: bos, eos and
            padding may be among them.
        score: `score(hypotheses, references)` is the corpus's BLEU in percent.
        pad_id: Padding; None if there is none.
        bos_id: First token of each target.
        eos_id: Last token of each sentence.
        unk_id: The id of unknown words; None if nothing is unknown.
        joint_vocabulary: Whether both sides have the same ids, so that `decode` reads sources too.
    """

    train: Sequence[TextPair] = ()
    test: Sequence[TextPair] = ()
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

    def __post_init__(self) -> None:
        """Raise unless each is of its kind."""
        check_field_kinds(self)

    @check_argument_kinds
    def without_special_ids(self, ids: Sequence[int]) -> list[int]:
        """Return ids without bos, eos and padding."""
        special_ids = (self.pad_id, self.bos_id, self.eos_id)
        return [token for token in ids if token not in special_ids]
