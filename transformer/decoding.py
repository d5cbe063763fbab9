"""From a source sentence to a translation: greedy and beam search (§6.1).

Both search a whole batch at once, each sentence for itself, in any model that has `encode`,
`decode` and `new_cache`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from transformer.config import BEAM_SIZE, BOS_ID, EOS_ID, LENGTH_PENALTY, MAX_DIMENSION, PAD_ID
from transformer.masks import padding_mask
from transformer.support.checks import check_id_tensor, check_number
from transformer.support.errors import require
from transformer.support.signatures import check_argument_types

EXTRA_LENGTH = 50  # §6.1: at most the input length + 50
MAX_BEAM_SIZE = 1000
MAX_ALPHA = 10  # a larger exponent of the length penalty soon overflows


class EncoderDecoder(Protocol):
    """A model that can be searched; with `use_cache`, it has a `new_cache` too.

    `new_cache()` returns an empty cache that `decode` fills; it has `select(rows)`.
    """

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Encode sources (batch, src_len) as a memory whose first axis is the batch."""

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: Any = None) -> Tensor:
        """Return logits (batch, tgt_len, vocab_size) of the token after each of `tgt_in`."""


class Hypothesis(NamedTuple):
    """A translation with its score."""

    ids: list[int]  # of the target, without bos and eos
    score: float  # sum of log probabilities, eos included, over the length penalty (nats)
    finished: bool  # whether it ends in eos, not at the length limit


def length_penalty(length: int, alpha: float = LENGTH_PENALTY) -> float:
    """Return the divisor of a sum of log probabilities (§6.1; Wu et al. 2016, Eq. 14).

    The length is in target tokens, eos included. An alpha of 0 means no penalty; with 1 the
    quotient is nearly the mean per token.
    """
    check_number("length", length, 1, integer=True)
    check_number("alpha", alpha, 0, MAX_ALPHA)
    return ((5 + length) / 6) ** alpha


def check_search_settings(beam_size: int, alpha: float = LENGTH_PENALTY) -> None:
    """Raise a UserError unless a search can have these settings."""
    check_number("beam_size", beam_size, 1, MAX_BEAM_SIZE, integer=True)
    check_number("alpha", alpha, 0, MAX_ALPHA)


class Beam:
    """The search for one sentence's translation: its living prefixes and its hypotheses.

    It follows `size` prefixes side by side, up to `limit` tokens; `alpha` is the length penalty's.
    """

    def __init__(self, size: int, limit: int, alpha: float) -> None:
        self.size, self.limit, self.alpha = size, limit, alpha
        self.prefixes = [[BOS_ID]] * size
        # All prefixes are the same at first: one of them counts.
        self.scores = [0.0] + [-torch.inf] * (size - 1)  # sums of log probabilities
        self.hypotheses: list[Hypothesis] = []
        self.done = False

    def extend(self, scores: list[float], indices: list[int], vocab_size: int) -> list[int]:
        """Make each prefix a token longer; return the parent of each, an index of a prefix.

        Args:
            scores: Of the best 2 x size continuations, the best first; of the best one if size
                is 1.
            indices: Of the same: the index of the prefix that it continues * vocab_size + its
                token.
            vocab_size: Number of target types.

        Raises:
            UserError: the scores are nan, as those of a model whose weights are.
        """
        require(
            not math.isnan(scores[0]),
            "the model's logits hold nan or an infinite number, so that no token is the most "
            "probable: its weights are damaged, or its training has diverged; use other weights",
        )
        if scores[0] == -torch.inf:  # no token can follow
            self._end_with_unfinished_prefixes()
            return []
        penalty = length_penalty(len(self.prefixes[0]), self.alpha)  # of one token longer
        continuations = [
            (score, *divmod(index, vocab_size))
            for score, index in zip(scores, indices, strict=True)
        ]
        self.hypotheses += [
            Hypothesis(self.prefixes[parent][1:], score / penalty, finished=True)
            for score, parent, token in continuations[: self.size]
            if token == EOS_ID and score != -torch.inf
        ]
        living = [continuation for continuation in continuations if continuation[2] != EOS_ID]
        living = living[: self.size]
        self.prefixes = [[*self.prefixes[parent], token] for _, parent, token in living]
        self.scores = [score for score, _, _ in living]
        if len(self.hypotheses) >= self.size or self.scores[0] == -torch.inf:
            self.done = True
        elif len(self.prefixes[0]) > self.limit:
            self._end_with_unfinished_prefixes()
        return [parent for _, parent, _ in living]

    def _end_with_unfinished_prefixes(self) -> None:
        """Take the prefixes as they stand, those that have a probability above 0."""
        penalty = length_penalty(max(1, len(self.prefixes[0]) - 1), self.alpha)
        self.hypotheses += [
            Hypothesis(prefix[1:], score / penalty, finished=False)
            for prefix, score in zip(self.prefixes, self.scores, strict=True)
            if score != -torch.inf
        ]
        self.done = True

    def best_hypotheses(self) -> list[Hypothesis]:
        """Return the best `size` hypotheses, the best first, unfinished ones last."""
        return sorted(self.hypotheses, key=lambda h: (not h.finished, -h.score))[: self.size]


def start_beams(
    src: Tensor, beam_size: int, alpha: float, extra_length: int, max_len: int | None
) -> list[Beam]:
    """Return a new beam for each source; arguments and errors are those of `beam_search`."""
    check_id_tensor("src", src)
    check_search_settings(beam_size, alpha)
    check_number("extra_length", extra_length, 0, MAX_DIMENSION, integer=True)
    if max_len is not None:
        check_number("max_len", max_len, 1, MAX_DIMENSION, integer=True)
    limits = (src != PAD_ID).sum(dim=1) + extra_length  # (sentences,)
    limits = limits if max_len is None else limits.clamp(max=max_len)
    return [Beam(beam_size, limit, alpha) for limit in limits.tolist()]


def top_continuations(logits: Tensor, prefix_scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Pick the best continuations of each sentence's prefixes, by the sum of log probabilities.

    Args:
        logits: Of each prefix's next token, (sentences, beam_size, vocab_size).
        prefix_scores: Sum of log probabilities of each prefix, (sentences, beam_size).
        count: How many to pick for a sentence.

    Returns:
        Their scores, the best first, and their indices: prefix * vocab_size + id. Both are
        (sentences, count).
    """
    log_probs = logits.log_softmax(dim=-1)
    log_probs[..., [PAD_ID, BOS_ID]] = -torch.inf  # no sentence holds these
    totals = (prefix_scores[..., None] + log_probs).flatten(start_dim=1)
    if count == 1:
        scores, indices = totals.max(dim=1, keepdim=True)  # the first of equals
    else:
        scores, indices = totals.topk(count)
    return scores, indices


PickContinuations = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]


@check_argument_types
@torch.inference_mode()
def beam_search(
    model: EncoderDecoder,
    src: Tensor,
    *,
    beam_size: int = BEAM_SIZE,
    alpha: float = LENGTH_PENALTY,
    extra_length: int = EXTRA_LENGTH,
    max_len: int | None = None,
    use_cache: bool = True,
    pick_continuations: PickContinuations = top_continuations,
) -> list[list[Hypothesis]]:
    """Follow the `beam_size` best prefixes of each sentence side by side (§6.1).

    Each step considers the best 2 x beam_size continuations of a sentence. Those among the first
    beam_size that end in eos are finished hypotheses, and the best beam_size of the others are the
    next prefixes. A sentence is done when it has beam_size finished hypotheses. At its limit, or if
    no token can follow, its prefixes become unfinished hypotheses, ranked after the finished ones.

    Args:
        model: In evaluation mode.
        src: Source ids with eos, padded, (batch, src_len).
        beam_size: Prefixes of a sentence, 1 or more.
        alpha: Exponent of the length penalty.
        extra_length: How many tokens longer than its source a target may be.
        max_len: Maximal tokens of any target; a Transformer has a maximum of its own.
        use_cache: Whether to keep keys and values from step to step.
        pick_continuations: `top_continuations`, or another function that picks the same ones
            (see `fast_search`).

    Returns:
        For each sentence one to beam_size hypotheses, the best first.
    """
    beams = all_beams = start_beams(src, beam_size, alpha, extra_length, max_len)
    src_mask = padding_mask(src)
    memory = model.encode(src, src_mask).repeat_interleave(beam_size, dim=0)
    src_mask = src_mask.repeat_interleave(beam_size, dim=0)  # (beams * beam_size, 1, 1, src_len)
    cache = make_empty_cache(model) if use_cache else None
    given_cache = () if cache is None else (cache,)  # not to a model that knows of none
    count = 1 if beam_size == 1 else 2 * beam_size
    while beams:
        tgt_in = _next_inputs(beams, src.device, cache is not None)  # (beams * beam_size, tgt_len)
        logits = model.decode(tgt_in, memory, src_mask, *given_cache)[:, -1].float()
        logits = logits.unflatten(0, (len(beams), beam_size))  # (beams, beam_size, vocab_size)
        prefix_scores = torch.tensor([beam.scores for beam in beams]).to(logits)
        scores, indices = pick_continuations(logits, prefix_scores, count)  # (beams, count) each
        parents = [
            beam.extend(beam_scores, beam_indices, logits.shape[-1])
            for beam, beam_scores, beam_indices in zip(
                beams, scores.tolist(), indices.tolist(), strict=True
            )
        ]
        unfinished = [i for i, beam in enumerate(beams) if not beam.done]
        row_list = [i * beam_size + parent for i in unfinished for parent in parents[i]]
        rows = torch.tensor(row_list, dtype=torch.long, device=src.device)
        if cache is not None:
            cache.select(rows)
        # The prefixes of a sentence share its source: these change only when a sentence is done.
        if len(unfinished) < len(beams):
            memory, src_mask = memory[rows], src_mask[rows]
        beams = [beams[i] for i in unfinished]
    return [beam.best_hypotheses() for beam in all_beams]


def _next_inputs(beams: Sequence[Beam], device: torch.device, are_cached: bool) -> Tensor:
    """Return the prefixes to continue; their last tokens alone if the others are cached."""
    prefixes = [prefix for beam in beams for prefix in beam.prefixes]
    if are_cached:
        prefixes = [prefix[-1:] for prefix in prefixes]
    return torch.tensor(prefixes, device=device)


def make_empty_cache(model: Any) -> Any:
    """Return what `new_cache` of a model returns; a UserError if the model has none."""
    message = "the model has no new_cache(): write one, or give use_cache=False"
    require(hasattr(model, "new_cache"), message)
    return model.new_cache()


@check_argument_types
def greedy_search(model: EncoderDecoder, src: Tensor, **options: Any) -> list[Hypothesis]:
    """Take the most probable token at every step: a beam of one, without length penalty.

    Arguments are those of `beam_search`, but for `beam_size` and `alpha`.
    """
    hypotheses = beam_search(model, src, beam_size=1, alpha=0.0, **options)
    return [hypothesis for (hypothesis,) in hypotheses]
