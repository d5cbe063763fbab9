"""From a source sentence to a translation: greedy and beam search (§6.1).

Both search a whole batch at once, with a key/value cache, and take any model that has
`encode`, `decode` and `new_cache` (see `EncoderDecoder`). A sentence is searched for
itself: what stands beside it in the batch changes nothing.
"""

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from transformer.config import (
    BEAM_SIZE,
    BOS_ID,
    EOS_ID,
    LENGTH_PENALTY,
    MOST_ALPHA,
    MOST_BEAM_SIZE,
    PAD_ID,
)
from transformer.masks import padding_mask
from transformer.support.errors import UserError

EXTRA_LENGTH = 50  # §6.1: at most the input length + 50


class EncoderDecoder(Protocol):
    """What a model must offer to be searched."""

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Read sources (batch, src_len) into a memory whose first axis is the batch."""

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: Any = None) -> Tensor:
        """Give logits (batch, tgt_len, vocab_size) of the token after each of `tgt_in`."""

    def new_cache(self) -> Any:
        """Make an empty cache that `decode` fills, with `select(rows)` and `reorder(rows)`."""


class Hypothesis(NamedTuple):
    """A translation and how good the model thinks it is.

    Attributes:
        ids: Target ids, without bos and eos.
        score: Sum of log probabilities, eos included, over the length penalty (nats).
        finished: Whether it ends in eos, not at the length limit.
    """

    ids: list[int]
    score: float
    finished: bool


def length_penalty(length: int, alpha: float = LENGTH_PENALTY) -> float:
    """Give what a sum of log probabilities is divided by (§6.1; Wu et al. 2016, Eq. 14).

    Args:
        length: Target tokens, eos included.
        alpha: 0 means no penalty, 1 nearly the mean per token.

    Raises:
        UserError: alpha is not a number from 0 to `MOST_ALPHA`.
    """
    if not 0 <= alpha <= MOST_ALPHA:
        raise UserError(f"alpha is {alpha}: give a number from 0 to {MOST_ALPHA}")
    return ((5 + length) / 6) ** alpha


class _Decoder:
    """Steps a model through target positions, with or without a cache."""

    def __init__(self, model: EncoderDecoder, src: Tensor, use_cache: bool) -> None:
        self.model = model
        self.src_mask = padding_mask(src)
        self.memory = model.encode(src, self.src_mask)
        self.cache = model.new_cache() if use_cache else None

    def next_log_probs(self, prefix: Tensor) -> Tensor:
        """Score the token after each prefix: (batch, tgt_len) -> (batch, vocab_size)."""
        new = prefix if self.cache is None else prefix[:, -1:]
        logits = self.model.decode(new, self.memory, self.src_mask, self.cache)
        log_probs = logits[:, -1].float().log_softmax(dim=-1)
        log_probs[:, [PAD_ID, BOS_ID]] = -torch.inf  # no sentence holds these
        return log_probs

    def select(self, rows: Tensor) -> None:
        """Keep or repeat rows of the batch, (new_batch,): each prefix with its source."""
        self.memory, self.src_mask = self.memory[rows], self.src_mask[rows]
        if self.cache is not None:
            self.cache.select(rows)

    def reorder(self, rows: Tensor) -> None:
        """Put other prefixes of the same sources in the rows' places, (batch,)."""
        if self.cache is not None:
            self.cache.reorder(rows)


def _check_beam_size(beam_size: int) -> None:
    """Refuse what is no beam."""
    if not 1 <= beam_size <= MOST_BEAM_SIZE:
        size = "small" if beam_size < 1 else "large"
        raise UserError(f"beam size {beam_size} is too {size}: give 1 to {MOST_BEAM_SIZE}")


def _length_limits(src: Tensor, extra_length: int, max_len: int | None) -> Tensor:
    """Count each source's real tokens, eos included, and add what a target may have more."""
    limits = (src != PAD_ID).sum(dim=1) + extra_length
    return limits if max_len is None else limits.clamp(max=max_len)


def _best_continuations(
    scores: Tensor, log_probs: Tensor, number: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Take each sentence's best prefixes that are a token longer.

    Args:
        scores: Sums of log probabilities, (sentences, beam_size).
        log_probs: Of each prefix's next token, (sentences * beam_size, vocab_size).
        number: How many.

    Returns:
        Their scores, the best first; the prefix that each continues, 0 to beam_size - 1; and its
        new token: (sentences, number) each.
    """
    totals = scores[:, :, None] + log_probs.unflatten(0, scores.shape)
    best, flat = totals.flatten(start_dim=1).topk(number)  # of beam_size * vocab_size
    return best, flat // totals.shape[2], flat % totals.shape[2]


def _as_they_stand(prefixes: Tensor, scores: Tensor, alpha: float) -> list[Hypothesis]:
    """Make unfinished hypotheses of one sentence's prefixes that have a probability above 0.

    Args:
        prefixes: Ids with bos, (beam_size, tgt_len).
        scores: Sums of log probabilities, (beam_size,).
        alpha: Of the length penalty.
    """
    penalty = length_penalty(prefixes.shape[1] - 1, alpha)
    return [
        Hypothesis(ids, score / penalty, finished=False)
        for ids, score in zip(prefixes[:, 1:].tolist(), scores.tolist(), strict=True)
        if score != -torch.inf
    ]


@torch.inference_mode()
def greedy_search(
    model: EncoderDecoder,
    src: Tensor,
    *,
    extra_length: int = EXTRA_LENGTH,
    max_len: int | None = None,
    use_cache: bool = True,
) -> list[Hypothesis]:
    """Take the most probable token at every step.

    A sentence is done with eos, at its limit, or where no token has a probability above 0.

    Args:
        model: In evaluation mode.
        src: Source ids with eos, padded, (batch, src_len).
        extra_length: Tokens a target may have more than its source.
        max_len: Most tokens of any target.
        use_cache: Whether to keep keys and values from step to step.

    Returns:
        One hypothesis a sentence; its score has no length penalty.
    """
    decoder = _Decoder(model, src, use_cache)
    limits = _length_limits(src, extra_length, max_len).tolist()
    found: list[Hypothesis | None] = [None] * len(src)
    sentence = list(range(len(src)))  # which sentence each row of the batch is
    prefix = src.new_full((len(src), 1), BOS_ID)
    scores = torch.zeros(len(src), device=src.device)
    while sentence:
        best, token = decoder.next_log_probs(prefix).max(dim=-1)
        longer = torch.cat((prefix, token[:, None]), dim=1)  # (sentences, tgt_len + 1)
        totals = scores + best
        ends, stuck = (token == EOS_ID).tolist(), best.isneginf().tolist()
        alive = []
        for row, index in enumerate(sentence):
            if stuck[row]:  # no token can follow
                found[index] = Hypothesis(prefix[row, 1:].tolist(), scores[row].item(), False)
            elif ends[row]:
                found[index] = Hypothesis(prefix[row, 1:].tolist(), totals[row].item(), True)
            elif longer.shape[1] > limits[index]:
                found[index] = Hypothesis(longer[row, 1:].tolist(), totals[row].item(), False)
            else:
                alive.append(row)
        prefix, scores = longer, totals
        if len(alive) < len(sentence):
            rows = torch.tensor(alive, dtype=torch.long, device=src.device)
            prefix, scores = prefix[rows], scores[rows]
            decoder.select(rows)
            sentence = [sentence[row] for row in alive]
    return [hypothesis for hypothesis in found if hypothesis is not None]


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
) -> list[list[Hypothesis]]:
    """Follow the `beam_size` best prefixes of each sentence side by side (§6.1).

    At each step the best 2 x beam_size continuations of a sentence are looked at: those
    among the first beam_size that end in eos are finished, and the best beam_size of the
    others live on. A sentence is done with beam_size finished ones, or at its limit, where
    the living are taken as they stand, after the finished; so they are where no token has a
    probability above 0. With beam_size 1 this is greedy search.

    Args:
        model: In evaluation mode.
        src: Source ids with eos, padded, (batch, src_len).
        beam_size: Prefixes a sentence, 1 or more.
        alpha: Of the length penalty.
        extra_length: Tokens a target may have more than its source.
        max_len: Most tokens of any target.
        use_cache: Whether to keep keys and values from step to step.

    Returns:
        For each sentence one to beam_size hypotheses, the best first.

    Raises:
        UserError: beam_size is below 1 or above `MOST_BEAM_SIZE`, or alpha is out of range.
    """
    if not 1 <= beam_size <= MOST_BEAM_SIZE:
        raise UserError(f"beam size {beam_size} is out of range: give 1 to {MOST_BEAM_SIZE}")
    decoder = _Decoder(model, src, use_cache)
    decoder.select(torch.arange(len(src), device=src.device).repeat_interleave(beam_size))
    limits = _length_limits(src, extra_length, max_len).tolist()
    found: list[list[Hypothesis]] = [[] for _ in range(len(src))]
    sentence = list(range(len(src)))  # which sentence each row of `scores` is
    prefix = src.new_full((len(src), beam_size, 1), BOS_ID)  # (sentences, beam_size, tgt_len)
    scores = torch.full((len(src), beam_size), -torch.inf, device=src.device)
    scores[:, 0] = 0.0  # all prefixes are the same at first: let one of them count
    while sentence:
        log_probs = decoder.next_log_probs(prefix.flatten(end_dim=1))
        best, origin, token = _best_continuations(scores, log_probs, 2 * beam_size)
        ends = token == EOS_ID  # (sentences, 2 * beam_size), as are best, origin and token
        penalty = length_penalty(prefix.shape[2], alpha)  # of a target one token longer
        for row, rank in (ends & best.isfinite())[:, :beam_size].nonzero().tolist():
            ids, score = prefix[row, origin[row, rank], 1:].tolist(), best[row, rank].item()
            found[sentence[row]].append(Hypothesis(ids, score / penalty, finished=True))
        for row in best[:, 0].isneginf().nonzero().flatten().tolist():  # no token can follow
            found[sentence[row]] += _as_they_stand(prefix[row], scores[row], alpha)
        living = ends.int().argsort(dim=1, stable=True)[:, :beam_size]  # the best without eos
        scores, origin, token = (each.gather(1, living) for each in (best, origin, token))
        rows = origin + torch.arange(len(sentence), device=src.device)[:, None] * beam_size
        prefix = torch.cat((prefix.flatten(end_dim=1)[rows], token[:, :, None]), dim=2)
        alive = (~scores[:, 0].isneginf()).tolist()
        going_on = []
        for row, index in enumerate(sentence):
            if len(found[index]) < beam_size and alive[row]:
                if prefix.shape[2] <= limits[index]:
                    going_on.append(row)
                else:
                    found[index] += _as_they_stand(prefix[row], scores[row], alpha)
        if len(going_on) == len(sentence):
            decoder.reorder(rows.flatten())
        else:
            kept = torch.tensor(going_on, dtype=torch.long, device=src.device)
            decoder.select(rows[kept].flatten())
            prefix, scores = prefix[kept], scores[kept]
            sentence = [sentence[row] for row in going_on]
    return [sorted(each, key=lambda h: (not h.finished, -h.score))[:beam_size] for each in found]
