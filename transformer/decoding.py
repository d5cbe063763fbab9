"""From a source sentence to a translation: greedy and beam search (§6.1).

Both search a whole batch at once, with a key/value cache, and take any model that has
`encode`, `decode` and `new_cache` (see `EncoderDecoder`). A sentence is searched for
itself: what stands beside it in the batch changes nothing.
"""

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from transformer.config import BEAM_SIZE, BOS_ID, EOS_ID, LENGTH_PENALTY, PAD_ID
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
        """Make an empty cache that `decode` fills, with `select(rows)`."""


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
    """
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
        """Keep, repeat or reorder rows of the batch."""
        self.memory, self.src_mask = self.memory[rows], self.src_mask[rows]
        if self.cache is not None:
            self.cache.select(rows)


def _length_limits(src: Tensor, extra_length: int, max_len: int | None) -> Tensor:
    """Count each source's real tokens, eos included, and add what a target may have more."""
    limits = (src != PAD_ID).sum(dim=1) + extra_length
    return limits if max_len is None else limits.clamp(max=max_len)


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
        scores = scores + best
        prefix = torch.cat((prefix, token[:, None]), dim=1)
        alive = []
        for row, (index, last) in enumerate(zip(sentence, token.tolist(), strict=True)):
            if last == EOS_ID or prefix.shape[1] > limits[index]:
                ids = prefix[row, 1:].tolist()
                finished = last == EOS_ID
                found[index] = Hypothesis(
                    ids[:-1] if finished else ids, scores[row].item(), finished
                )
            else:
                alive.append(row)
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
    the living are taken as they stand, after the finished. With beam_size 1 this is greedy search.

    Args:
        model: In evaluation mode.
        src: Source ids with eos, padded, (batch, src_len).
        beam_size: Prefixes a sentence, 1 or more.
        alpha: Of the length penalty.
        extra_length: Tokens a target may have more than its source.
        max_len: Most tokens of any target.
        use_cache: Whether to keep keys and values from step to step.

    Returns:
        For each sentence up to beam_size hypotheses, the best first.

    Raises:
        UserError: beam_size is below 1.
    """
    if beam_size < 1:
        raise UserError(f"beam size {beam_size} is too small: give 1 or more")
    decoder = _Decoder(model, src, use_cache)
    decoder.select(torch.arange(len(src), device=src.device).repeat_interleave(beam_size))
    limits = _length_limits(src, extra_length, max_len).tolist()
    found: list[list[Hypothesis]] = [[] for _ in range(len(src))]
    sentence = list(range(len(src)))  # which sentence each row of `scores` is
    prefix = src.new_full((len(src) * beam_size, 1), BOS_ID)
    scores = torch.full((len(src), beam_size), -torch.inf, device=src.device)
    scores[:, 0] = 0.0  # all prefixes are the same at first: let one of them count
    while sentence:
        log_probs = decoder.next_log_probs(prefix).unflatten(0, (-1, beam_size))
        totals = scores[:, :, None] + log_probs  # (sentences, beam_size, vocab_size)
        best, flat = totals.flatten(start_dim=1).topk(2 * beam_size)
        origin, token = flat // totals.shape[2], flat % totals.shape[2]
        rows = origin + torch.arange(len(sentence), device=src.device)[:, None] * beam_size
        ends = token == EOS_ID
        penalty = length_penalty(prefix.shape[1], alpha)  # of a target one token longer
        for row, rank in (ends & best.isfinite())[:, :beam_size].nonzero().tolist():
            ids = prefix[rows[row, rank], 1:].tolist()
            score = best[row, rank].item() / penalty
            found[sentence[row]].append(Hypothesis(ids, score, finished=True))
        living = ends.int().argsort(dim=1, stable=True)[:, :beam_size]  # the best without eos
        scores, rows = best.gather(1, living), rows.gather(1, living)
        prefix = torch.cat((prefix[rows.flatten()], token.gather(1, living).view(-1, 1)), dim=1)
        prefix = prefix.unflatten(0, (-1, beam_size))  # (sentences, beam_size, tgt_len)
        going_on = []
        for row, index in enumerate(sentence):
            if len(found[index]) >= beam_size:
                continue
            if prefix.shape[2] <= limits[index]:
                going_on.append(row)
                continue
            for ids, score in zip(prefix[row, :, 1:].tolist(), scores[row].tolist(), strict=True):
                found[index].append(Hypothesis(ids, score / penalty, finished=False))
        kept = torch.tensor(going_on, dtype=torch.long, device=src.device)
        decoder.select(rows[kept].flatten())
        prefix, scores = prefix[kept].flatten(end_dim=1), scores[kept]
        sentence = [sentence[row] for row in going_on]
    return [sorted(each, key=lambda h: (not h.finished, -h.score))[:beam_size] for each in found]
