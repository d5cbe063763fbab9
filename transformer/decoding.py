"""From a source sentence to a translation: greedy and beam search (§6.1).

Both search a whole batch at once, each sentence for itself, and take any model that has `encode`,
`decode` and `new_cache`.
"""

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from transformer.config import BEAM_SIZE, BOS_ID, EOS_ID, LENGTH_PENALTY, MAX_DIMENSION, PAD_ID
from transformer.masks import padding_mask
from transformer.support.checks import check_id_tensor, check_number

EXTRA_LENGTH = 50  # §6.1: at most the input length + 50
MAX_BEAM_SIZE = 1000
MAX_ALPHA = 10  # more says nothing more, and soon is no number


class EncoderDecoder(Protocol):
    """What a model must offer to be searched."""

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Read sources (batch, src_len) into a memory whose first axis is the batch."""

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: Any = None) -> Tensor:
        """Give logits (batch, tgt_len, vocab_size) of the token after each of `tgt_in`."""

    def new_cache(self) -> Any:
        """Make an empty cache that `decode` fills, with `select(rows)`."""


class Hypothesis(NamedTuple):
    """A translation and how good the model thinks it is."""

    ids: list[int]  # of the target, without bos and eos
    score: float  # sum of log probabilities, eos included, over the length penalty (nats)
    finished: bool  # whether it ends in eos, not at the length limit


def length_penalty(length: int, alpha: float = LENGTH_PENALTY) -> float:
    """Give what a sum of log probabilities is divided by (§6.1; Wu et al. 2016, Eq. 14).

    The length is in target tokens, eos included. An alpha of 0 means no penalty, of 1 nearly the
    mean per token.
    """
    check_number("length", length, 1)
    check_number("alpha", alpha, 0, MAX_ALPHA)
    return ((5 + length) / 6) ** alpha


def check_search(beam_size: int, alpha: float = LENGTH_PENALTY) -> None:
    """Refuse what no search can be made with."""
    check_number("beam_size", beam_size, 1, MAX_BEAM_SIZE, integer=True)
    check_number("alpha", alpha, 0, MAX_ALPHA)


class Beam:
    """The search for one sentence's translation: its living prefixes, and what it has found.

    It follows `size` prefixes side by side, up to `limit` tokens; `alpha` is the length penalty's.
    """

    def __init__(self, size: int, limit: int, alpha: float) -> None:
        self.size, self.limit, self.alpha = size, limit, alpha
        self.prefixes = [[BOS_ID]] * size
        # All prefixes are the same at first: one of them counts.
        self.scores = [0.0] + [-torch.inf] * (size - 1)  # sums of log probabilities
        self.found: list[Hypothesis] = []
        self.done = False

    def extend(self, scores: list[float], places: list[int], vocab_size: int) -> list[int]:
        """Go a token further; give which prefix each of the new ones continues.

        Args:
            scores: Of the best 2 x size continuations, the best first; with a size of 1 it alone.
            places: Where each stands: the prefix that it continues * vocab_size + its token.
            vocab_size: Number of target types.
        """
        penalty = length_penalty(len(self.prefixes[0]), self.alpha)  # of one token longer
        if scores[0] == -torch.inf:  # no token can follow
            self._stop()
            return []
        ranked = [
            (score, *divmod(place, vocab_size)) for score, place in zip(scores, places, strict=True)
        ]
        self.found += [
            Hypothesis(self.prefixes[origin][1:], score / penalty, finished=True)
            for score, origin, token in ranked[: self.size]
            if token == EOS_ID and score != -torch.inf
        ]
        living = [each for each in ranked if each[2] != EOS_ID][: self.size]
        self.prefixes = [[*self.prefixes[origin], token] for _, origin, token in living]
        self.scores = [score for score, _, _ in living]
        if len(self.found) >= self.size or self.scores[0] == -torch.inf:
            self.done = True
        elif len(self.prefixes[0]) > self.limit:
            self._stop()
        return [origin for _, origin, _ in living]

    def _stop(self) -> None:
        """Take the prefixes as they stand, those that have a probability above 0."""
        penalty = length_penalty(max(1, len(self.prefixes[0]) - 1), self.alpha)
        self.found += [
            Hypothesis(prefix[1:], score / penalty, finished=False)
            for prefix, score in zip(self.prefixes, self.scores, strict=True)
            if score != -torch.inf
        ]
        self.done = True

    def best(self) -> list[Hypothesis]:
        """Give the hypotheses, the best first, unfinished ones last."""
        return sorted(self.found, key=lambda h: (not h.finished, -h.score))[: self.size]


def start_beams(
    src: Tensor, beam_size: int, alpha: float, extra_length: int, max_len: int | None
) -> list[Beam]:
    """Begin the search of each source; arguments and errors are those of `beam_search`."""
    check_id_tensor("src", src)
    check_search(beam_size, alpha)
    check_number("extra_length", extra_length, 0, MAX_DIMENSION, integer=True)
    if max_len is not None:
        check_number("max_len", max_len, 1, MAX_DIMENSION, integer=True)
    limits = (src != PAD_ID).sum(dim=1) + extra_length  # (sentences,)
    limits = limits if max_len is None else limits.clamp(max=max_len)
    return [Beam(beam_size, limit, alpha) for limit in limits.tolist()]


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

    At each step the best 2 x beam_size continuations of a sentence are looked at: those among the
    first beam_size that end in eos are finished, and the best beam_size of the others live on. A
    sentence is done with beam_size finished ones. At its limit, or where no token can follow, the
    living are taken as they stand, after the finished.

    Args:
        model: In evaluation mode.
        src: Source ids with eos, padded, (batch, src_len).
        beam_size: Prefixes a sentence, 1 or more.
        alpha: Of the length penalty.
        extra_length: Tokens a target may have more than its source.
        max_len: Most tokens of any target; a Transformer takes no more than its own max_len.
        use_cache: Whether to keep keys and values from step to step.

    Returns:
        For each sentence one to beam_size hypotheses, the best first.
    """
    beams = everyone = start_beams(src, beam_size, alpha, extra_length, max_len)
    mask = padding_mask(src)
    memory = model.encode(src, mask).repeat_interleave(beam_size, dim=0)
    mask = mask.repeat_interleave(beam_size, dim=0)  # (sentences * beam_size, 1, 1, src_len)
    cache = model.new_cache() if use_cache else None
    while beams:
        prefixes = [prefix for beam in beams for prefix in beam.prefixes]
        new = prefixes if cache is None else [prefix[-1:] for prefix in prefixes]
        tgt_in = torch.tensor(new, device=src.device)  # (sentences * beam_size, tgt_len)
        logits = model.decode(tgt_in, memory, mask, cache)[:, -1]
        log_probs = logits.float().log_softmax(dim=-1)  # (sentences * beam_size, vocab_size)
        log_probs[:, [PAD_ID, BOS_ID]] = -torch.inf  # no sentence holds these
        scores = torch.tensor([score for beam in beams for score in beam.scores]).to(log_probs)
        totals = scores[:, None] + log_probs
        totals = totals.view(len(beams), -1)  # (sentences, beam_size * vocab_size)
        if beam_size == 1:
            best, places = totals.max(dim=1, keepdim=True)  # (sentences, 1), of equals the first
        else:
            best, places = totals.topk(2 * beam_size)  # (sentences, 2 * beam_size)
        origins = [
            beam.extend(likeliest, where, log_probs.shape[1])
            for beam, likeliest, where in zip(beams, best.tolist(), places.tolist(), strict=True)
        ]
        alive = [i for i, beam in enumerate(beams) if not beam.done]
        rows = [i * beam_size + origin for i in alive for origin in origins[i]]
        kept = torch.tensor(rows, dtype=torch.long, device=src.device)
        memory, mask = memory[kept], mask[kept]
        if cache is not None:
            cache.select(kept)
        beams = [beams[i] for i in alive]
    return [beam.best() for beam in everyone]


def greedy_search(model: EncoderDecoder, src: Tensor, **options: Any) -> list[Hypothesis]:
    """Take the most probable token at every step: a beam of one, without length penalty.

    Arguments are those of `beam_search`, but for `beam_size` and `alpha`.
    """
    return [found for (found,) in beam_search(model, src, beam_size=1, alpha=0.0, **options)]
