"""From a source sentence to a translation: greedy and beam search (§6.1).

Both search a whole batch at once, with a key/value cache, and take any model that has
`encode`, `decode` and `new_cache` (see `EncoderDecoder`). A sentence is searched for
itself: what stands beside it in the batch changes nothing.
"""

from typing import Any, NamedTuple, Protocol, TypeVar

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

Thing = TypeVar("Thing")
EXTRA_LENGTH = 50  # §6.1: at most the input length + 50
GROUP = 64  # types that are compared with each other first, when the best of all are looked for
FEW = 3  # rows in which it is as quick to look at every type


class EncoderDecoder(Protocol):
    """What a model must offer to be searched.

    Its `decode` is given a memory and a mask with a row for each row of `tgt_in`; one with a true
    attribute `beams_share_memory` is given a row for each source, and finds as many prefixes of
    each source side by side in `tgt_in`.
    """

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Read sources (batch, src_len) into a memory whose first axis is the batch."""

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: Any = None) -> Tensor:
        """Give logits (batch, tgt_len, vocab_size) of the token after each of `tgt_in`.

        They are the caller's: the search writes over them.
        """

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
    """Steps a model through target positions, with or without a cache.

    Args:
        model: In evaluation mode.
        src: Source ids, (sources, src_len).
        use_cache: Whether to keep keys and values from step to step.
        beam_size: Prefixes of each source, side by side in the batch.
    """

    def __init__(
        self, model: EncoderDecoder, src: Tensor, use_cache: bool, beam_size: int = 1
    ) -> None:
        self.model = model
        self.src_mask = padding_mask(src)
        self.memory = model.encode(src, self.src_mask)
        self.cache = model.new_cache() if use_cache else None
        self.never = torch.tensor([PAD_ID, BOS_ID], device=src.device)
        self.shared = beam_size if getattr(model, "beams_share_memory", False) else 1
        if self.shared < beam_size:
            self.memory = self.memory.repeat_interleave(beam_size, dim=0)
            self.src_mask = self.src_mask.repeat_interleave(beam_size, dim=0)

    def next_log_probs(self, prefixes: list[list[int]]) -> Tensor:
        """Score the token after each prefix: (batch, vocab_size)."""
        new = prefixes if self.cache is None else [prefix[-1:] for prefix in prefixes]
        tgt_in = torch.tensor(new, device=self.memory.device)
        logits = self.model.decode(tgt_in, self.memory, self.src_mask, self.cache)[:, -1].float()
        torch.log_softmax(logits, dim=-1, out=logits)  # half the time of a copy
        return logits.index_fill_(1, self.never, -torch.inf)  # no sentence holds these

    def select(self, rows: list[int]) -> None:
        """Go on with these rows of the batch: with all the prefixes of a source, or none."""
        kept = torch.tensor(rows, dtype=torch.long, device=self.memory.device)
        sources = kept[:: self.shared] // self.shared
        self.memory, self.src_mask = self.memory[sources], self.src_mask[sources]
        if self.cache is not None:
            self.cache.select(kept)

    def reorder(self, rows: list[int]) -> None:
        """Put other prefixes of the same sources in the rows' places."""
        if self.cache is not None and rows != list(range(len(rows))):
            self.cache.reorder(torch.tensor(rows, device=self.memory.device))


def _length_limits(src: Tensor, extra_length: int, max_len: int | None) -> list[int]:
    """Count each source's real tokens, eos included, and add what a target may have more."""
    if extra_length < 0 or (max_len is not None and max_len < 1):
        raise UserError(
            f"extra_length is {extra_length} and max_len {max_len}: give 0 or more, and 1 or more"
        )
    limits = (src != PAD_ID).sum(dim=1) + extra_length
    return (limits if max_len is None else limits.clamp(max=max_len)).tolist()


def best_tokens(
    log_probs: Tensor, number: int, scores: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Find the best ways to go on from each sentence's prefixes, the first of equals if it is one.

    The best lie in the groups of types that have the best maxima: it is much cheaper to find
    maxima than to sort.

    Args:
        log_probs: Of each prefix's next token, (sentences, prefixes, vocab_size).
        number: How many; all of them, if there are fewer.
        scores: What is added for each prefix, (sentences, prefixes); None means 0.

    Returns:
        Their scores, the best first, and where each stands among prefixes * vocab_size: at
        prefix * vocab_size + id. (sentences, number) each.
    """
    sentences, prefixes, vocab_size = log_probs.shape
    if scores is None:
        scores = log_probs.new_zeros(sentences, prefixes)
    groups, rest = divmod(vocab_size, GROUP)
    if groups <= number or sentences * prefixes <= FEW:
        totals = (scores[:, :, None] + log_probs).flatten(start_dim=1)
        return _largest(totals, min(number, totals.shape[1]))
    maxima = log_probs[:, :, : vocab_size - rest].unflatten(2, (groups, GROUP)).amax(dim=3)
    best_groups = _largest((scores[:, :, None] + maxima).flatten(start_dim=1), number)[1]
    first = best_groups // groups * vocab_size + best_groups % groups * GROUP  # (sentences, number)
    offsets = torch.arange(GROUP, device=log_probs.device)
    places = (first[:, :, None] + offsets).flatten(start_dim=1)
    if rest:
        ends = torch.arange(1, prefixes + 1, device=log_probs.device) * vocab_size
        others = (ends[:, None] - 1 - offsets[:rest]).flatten()
        places = torch.cat((places, others.expand(sentences, -1)), dim=1)
    totals = log_probs.flatten(start_dim=1).gather(1, places)
    best, found = _largest(totals + scores.gather(1, places // vocab_size), number)
    return best, places.gather(1, found)


def _largest(values: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """Give the largest values of each row and their places, (batch, number) each."""
    found = values.max(dim=1, keepdim=True) if number == 1 else values.topk(number)
    return found[0], found[1]


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
        max_len: Most tokens of any target; a Transformer takes no more than its own max_len.
        use_cache: Whether to keep keys and values from step to step.

    Returns:
        One hypothesis a sentence; its score has no length penalty.

    Raises:
        UserError: extra_length is below 0, or max_len below 1.
    """
    decoder = _Decoder(model, src, use_cache)
    limits = _length_limits(src, extra_length, max_len)
    prefixes = [[BOS_ID] for _ in limits]
    scores = [0.0] * len(src)
    found: dict[int, bool] = {}  # whether it ends in eos, by sentence
    sentence = list(range(len(src)))  # which sentence each row of the batch is
    while sentence:
        log_probs = decoder.next_log_probs([prefixes[index] for index in sentence])
        best, token = best_tokens(log_probs[:, None], 1)
        for index, log_prob, new in zip(
            sentence, best[:, 0].tolist(), token[:, 0].tolist(), strict=True
        ):
            if log_prob == -torch.inf:  # no token can follow
                found[index] = False
                continue
            scores[index] += log_prob
            if new == EOS_ID:
                found[index] = True
                continue
            prefixes[index].append(new)
            if len(prefixes[index]) > limits[index]:
                found[index] = False
        alive = fill_gaps([row for row, index in enumerate(sentence) if index not in found])
        if len(alive) < len(sentence):
            decoder.select(alive)
            sentence = [sentence[row] for row in alive]
    return [
        Hypothesis(prefix[1:], score, found[index])
        for index, (prefix, score) in enumerate(zip(prefixes, scores, strict=True))
    ]


def fill_gaps(kept: list[int]) -> list[int]:
    """Order what stays of a batch, so that the last take the places of those that left.

    Nobody else moves, and a cache need copy only what moves.

    Args:
        kept: Rows that stay, in ascending order.

    Returns:
        The same rows: each below `len(kept)` at its own place.
    """
    placed = {row: row for row in kept if row < len(kept)}
    return _settled(placed, [row for row in kept if row not in placed])


class _Beam:
    """The search for one sentence's translation.

    Args:
        size: Prefixes that are followed side by side.
        limit: Most tokens of a target.
        alpha: Of the length penalty.
    """

    def __init__(self, size: int, limit: int, alpha: float) -> None:
        self.size, self.limit, self.alpha = size, limit, alpha
        self.prefixes = [[BOS_ID]] * size
        # All prefixes are the same at first: one of them counts.
        self.scores = [0.0] + [-torch.inf] * (size - 1)  # sums of log probabilities
        self.found: list[Hypothesis] = []
        self.done = False

    def extend(self, scores: list[float], origins: list[int], tokens: list[int]) -> list[int]:
        """Go a token further.

        Args:
            scores: Of the best 2 x size continuations, the best first.
            origins: The prefix that each continues, 0 to size - 1.
            tokens: What each adds.

        Returns:
            Which prefix each of the new ones continues.
        """
        penalty = length_penalty(len(self.prefixes[0]), self.alpha)  # of one token longer
        if scores[0] == -torch.inf:  # no token can follow
            self._stop()
            return list(range(self.size))
        living = []
        for rank, (score, origin, token) in enumerate(zip(scores, origins, tokens, strict=True)):
            if token != EOS_ID:
                living.append((score, origin, token))
            elif rank < self.size and score != -torch.inf:
                ids = self.prefixes[origin][1:]
                self.found.append(Hypothesis(ids, score / penalty, finished=True))
            if rank + 1 >= self.size == len(living):
                break
        living = _in_place(living)
        self.scores = [score for score, _, _ in living]
        self.prefixes = [[*self.prefixes[origin], token] for _, origin, token in living]
        if len(self.found) >= self.size or max(self.scores) == -torch.inf:
            self.done = True
        elif len(self.prefixes[0]) > self.limit:
            self._stop()
        return [origin for _, origin, _ in living]

    def _stop(self) -> None:
        """Take the prefixes as they stand, those that have a probability above 0."""
        penalty = length_penalty(len(self.prefixes[0]) - 1, self.alpha)
        self.found += [
            Hypothesis(prefix[1:], score / penalty, finished=False)
            for prefix, score in zip(self.prefixes, self.scores, strict=True)
            if score != -torch.inf
        ]
        self.done = True

    def best(self) -> list[Hypothesis]:
        """Give the hypotheses, the best first, unfinished ones last."""
        return sorted(self.found, key=lambda h: (not h.finished, -h.score))[: self.size]


def _in_place(living: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """Order continuations so that each prefix's best one takes its place: no cache is moved."""
    placed: dict[int, tuple[float, int, int]] = {}
    others = [each for each in living if placed.setdefault(each[1], each) is not each]
    return _settled(placed, others)


def _settled(placed: dict[int, Thing], others: list[Thing]) -> list[Thing]:
    """Give what has a place its place, and the others those that are left; `others` is used up."""
    places = range(len(placed) + len(others))
    return [placed[place] if place in placed else others.pop() for place in places]


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
        max_len: Most tokens of any target; a Transformer takes no more than its own max_len.
        use_cache: Whether to keep keys and values from step to step.

    Returns:
        For each sentence one to beam_size hypotheses, the best first.

    Raises:
        UserError: beam_size is below 1 or above `MOST_BEAM_SIZE`, alpha is out of range,
            extra_length is below 0, or max_len below 1.
    """
    if not 1 <= beam_size <= MOST_BEAM_SIZE:
        raise UserError(f"beam size {beam_size} is out of range: give 1 to {MOST_BEAM_SIZE}")
    decoder = _Decoder(model, src, use_cache, beam_size)
    limits = _length_limits(src, extra_length, max_len)
    everyone = [_Beam(beam_size, limit, alpha) for limit in limits]
    beams = everyone  # those of the batch
    while beams:
        log_probs = decoder.next_log_probs([prefix for beam in beams for prefix in beam.prefixes])
        scores = torch.tensor([beam.scores for beam in beams], device=src.device)
        best, places = best_tokens(log_probs.unflatten(0, (-1, beam_size)), 2 * beam_size, scores)
        vocab_size = log_probs.shape[1]
        found = best, places // vocab_size, places % vocab_size
        rows = []
        for place, (beam, *lists) in enumerate(
            zip(beams, *(each.tolist() for each in found), strict=True)
        ):
            origins = beam.extend(*lists)
            rows.append([place * beam_size + origin for origin in origins])
        kept = fill_gaps([i for i, beam in enumerate(beams) if not beam.done])
        if len(kept) == len(beams):
            decoder.reorder([row for each in rows for row in each])
        else:
            decoder.select([row for i in kept for row in rows[i]])
            beams = [beams[i] for i in kept]
    return [beam.best() for beam in everyone]
