"""Beam search reports right log probabilities, in order, and finds the best (§6.1)."""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from attention_laws.adapter import Candidate
from attention_laws.law import assert_not_none, law
from attention_laws.laws.search import (
    BEAM_SIZE,
    LENGTH,
    SENTENCES,
    also_check_with_likelier_eos,
    draw_sources,
    logits_after_each_prefix,
    mask_padding_and_bos_logits,
    run_searches_on_drawn_sources,
)
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 135
ORDER_BEAM_SIZE = 16
MAX_VOCAB_SIZE_FOR_FULL_BEAM = 100  # of a beam as wide as the vocabulary


def _sequence_log_probs_by_forward(
    subject: Subject, src: Tensor, ids: list[int], finished: bool
) -> list[float]:
    """Return the log probability of ids by forward: over all types, and without padding, bos."""
    logits = logits_after_each_prefix(subject, src, ids).double()
    chosen = torch.tensor([*ids, subject.adapter.eos_id] if finished else ids, dtype=torch.long)
    sums = []
    for scores in (logits, mask_padding_and_bos_logits(subject, logits)):
        log_probs = scores.log_softmax(dim=-1)[: len(chosen)].gather(1, chosen[:, None])
        sums.append(float(log_probs.sum()))
    return sums


@law("beam")
@also_check_with_likelier_eos
@torch.no_grad()
def beam_log_probs_match_forward(subject: Subject) -> Finding:
    """Each sentence has candidates, whose log probabilities are what forward gives for their ids.

    Means: the cache is not reordered with the beams, sentences of a batch are mixed, logits are
    added in place of log probabilities, or scores are gathered by the wrong index
    Look: where prefixes are reordered: is everything else that has a row reordered too?
    """
    beam, sizes, count = assert_not_none(subject.adapter.beam), (1, BEAM_SIZE), 0
    searches = [lambda src, size=size: beam(src, size, LENGTH) for size in sizes]
    for src, *results in run_searches_on_drawn_sources(subject, *searches):
        for size, candidates in zip(sizes, results, strict=True):
            if not candidates:
                return broken_finding(f"beam {size} returns no candidate", src=src[0])
            for ids, log_prob, finished in candidates:
                count += 1
                sums = _sequence_log_probs_by_forward(subject, src, ids, finished)
                allowed = (len(ids) + 1) * (2 * subject.tolerance + 1e-5)
                gap = min(abs(expected - log_prob) for expected in sums)
                if not gap <= allowed:
                    candidate = f"beam {size}: {ids}{' and eos' if finished else ''}"
                    seen = f"{candidate} reports {log_prob:.4f} nats"
                    return broken_finding(f"{seen}, and has {sums[0]:.4f} by forward", src=src[0])
    return kept_finding(
        f"{count} candidates of {SENTENCES} sentences have the sums that forward gives"
    )


@law("beam")
@torch.no_grad()
def beam_candidates_are_sorted_and_unique(subject: Subject) -> Finding:
    """No candidate occurs twice, and of equally long ones the more probable comes first.

    Means: all beams begin with the same prefix and a score of 0, or the order is ascending
    Look: at the first step's scores: all but one must be minus infinity
    """
    beam = assert_not_none(subject.adapter.beam)
    for src, candidates in run_searches_on_drawn_sources(
        subject, lambda src: beam(src, BEAM_SIZE, LENGTH)
    ):
        for i, first in enumerate(candidates):
            for second in candidates[i + 1 :]:
                if first.ids == second.ids and first.finished == second.finished:
                    return broken_finding(f"{first.ids} occurs twice", src=src[0])
                is_as_long = len(first.ids) == len(second.ids)
                is_comparable = is_as_long and first.finished == second.finished
                if is_comparable and second.log_prob > first.log_prob + 1e-5:
                    seen = f"{first.ids} with {first.log_prob:.4f} nats precedes "
                    seen += f"{second.ids} with {second.log_prob:.4f} nats"
                    return broken_finding(seen, src=src[0])
    return kept_finding("no candidate occurs twice, and of equally long ones the best is first")


@law("beam", "candidate_score")
@also_check_with_likelier_eos
@torch.no_grad()
def beam_order_is_that_of_scores(subject: Subject) -> Finding:
    """Candidates stand in the order of their scores, or of their log probabilities.

    Means: the length penalty is applied twice or to a sum that has it, or eos is not counted in
    the length
    Look: at the length that the score is given, and at what is sorted
    How: Those that eos ended and those that it did not are compared among themselves.
    """
    score = assert_not_none(subject.adapter.candidate_score)
    beam = assert_not_none(subject.adapter.beam)
    # Many candidates of several lengths, since few pairs tell a penalty from two.
    size = min(ORDER_BEAM_SIZE, subject.adapter.tgt_vocab_size // 2)
    orders: dict[str, Callable[[Candidate], float]] = {
        "their scores": lambda x: score(x.log_prob, len(x.ids) + x.finished),
        "their log probabilities": lambda x: x.log_prob,
        "scores that do not count eos": lambda x: score(x.log_prob, max(len(x.ids), 1)),
        "scores with two penalties": lambda x: score(
            score(x.log_prob, len(x.ids) + x.finished), len(x.ids) + x.finished
        ),
    }
    rows = [
        [candidate for candidate in candidates if candidate.finished == finished]
        for _, candidates in run_searches_on_drawn_sources(
            subject, lambda src: beam(src, size, LENGTH)
        )
        for finished in (True, False)
    ]
    fitting = [
        name for name, key in orders.items() if all(_is_descending(row, key) for row in rows)
    ]
    if set(fitting) & set(list(orders)[:2]):
        return kept_finding(f"candidates are in the order of {fitting[0]}")
    row = next(row for row in rows if not _is_descending(row, orders["their scores"]))
    scores = ", ".join(f"{orders['their scores'](candidate):.4g}" for candidate in row)
    hint = f"; it is that of {fitting[0]}" if fitting else ""
    return broken_finding(f"candidates have scores of {scores} in this order{hint}")


def _is_descending(row: list[Candidate], key: Callable[[Candidate], float]) -> bool:
    """Return whether candidates are sorted by a key, the highest first, up to rounding."""
    values = [key(candidate) for candidate in row]
    return all(later <= earlier + 1e-5 for earlier, later in pairwise(values))


@law("beam", "greedy")
@also_check_with_likelier_eos
@torch.no_grad()
def beam_of_one_is_greedy(subject: Subject) -> Finding:
    """A beam of one is greedy search, and knows where it ended.

    Means: what ends with eos is dropped, or is not marked as finished; or the beam follows a token
    that is not the best
    Look: at what becomes of a candidate that ends, and at how many go on
    How: A sound beam may go on after eos, or keep what ends with the second best token, as in
    Tensor2Tensor, and then find another translation.
    """
    greedy, beam = assert_not_none(subject.adapter.greedy), assert_not_none(subject.adapter.beam)
    results = run_searches_on_drawn_sources(
        subject, lambda src: greedy(src, LENGTH), lambda src: beam(src, 1, LENGTH)
    )
    equal = 0
    for src, ids, candidates in results:
        unfinished = any(x.ids == ids and not x.finished for x in candidates)
        if unfinished and len(ids) < LENGTH:
            return broken_finding(
                f"{ids} ends greedy search, and is not finished in a beam", src=src[0]
            )
        if candidates and candidates[0].ids == ids:
            equal += 1
        elif len(ids) >= LENGTH and _is_less_probable(subject, src, candidates, ids):
            found = f"a beam of one finds {candidates[0].ids}"
            return broken_finding(f"{found}, greedy search {ids} without an end", src=src[0])
    return kept_finding(f"{equal} of {SENTENCES} translations are greedy search's, ends included")


def _is_less_probable(
    subject: Subject, src: Tensor, candidates: list[Candidate], ids: list[int]
) -> bool:
    """Return whether the first candidate leaves `ids` for a token that is less probable.

    False if it leaves them for eos alone, or either has padding or bos, which one of the searches
    may forbid.
    """
    other = candidates[0].ids if candidates else []
    special_ids = {subject.tgt_pad_id, subject.adapter.bos_id}
    if not candidates or special_ids & {*ids, *other}:
        return False
    pairs = zip(other, ids, strict=False)
    place = next((i for i, (one, best) in enumerate(pairs) if one != best), None)
    if place is None:
        return False
    logits = logits_after_each_prefix(subject, src, ids[:place])[-1]
    return float(logits[ids[place]] - logits[other[place]]) > 2 * subject.tolerance + 1e-5


@law("beam")
@torch.no_grad()
def wide_beam_finds_the_best(subject: Subject) -> Finding:
    """A beam as wide as the vocabulary finds the most probable of all pairs of words.

    Means: fewer prefixes go on than the beam is wide, or what ends takes the place of others
    Look: at how many continuations are taken, and from what
    """
    vocab_size = subject.adapter.tgt_vocab_size
    if vocab_size > MAX_VOCAB_SIZE_FOR_FULL_BEAM:
        return not_tried_finding(
            f"a beam of {vocab_size} is too wide to try: {MAX_VOCAB_SIZE_FOR_FULL_BEAM} at most"
        )
    words = torch.tensor([i for i in range(vocab_size) if i not in subject.special_ids])
    pairs = torch.cartesian_prod(words, words)
    bos = torch.full((len(words), 1), subject.adapter.bos_id)
    tgt_in = torch.cat((bos, words[:, None]), dim=1)
    for src in draw_sources(subject)[:3]:
        (candidates,) = assert_not_none(subject.adapter.beam)(src, vocab_size, 2)
        found = {tuple(candidate.ids) for candidate in candidates if not candidate.finished}
        is_found = torch.tensor([tuple(pair) in found for pair in pairs.tolist()])
        count = int(is_found.sum())
        logits = subject.logits(src.expand(len(words), -1), tgt_in)
        shortfalls = []
        for scores in (logits, mask_padding_and_bos_logits(subject, logits)):
            log_probs = scores.log_softmax(dim=-1)
            first, second = log_probs[0, 0][words], log_probs[:, 1][:, words]
            sums = (first[:, None] + second).flatten()
            best = sums.sort(descending=True).values[:count]
            gaps = best - sums[is_found].sort(descending=True).values
            shortfalls.append(max(gaps.tolist(), default=0.0))
        if min(shortfalls) > 4 * subject.tolerance + 1e-5:
            seen = f"{count} pairs that a beam of {vocab_size} finds are not the most probable"
            return broken_finding(f"{seen}, by up to {min(shortfalls):.2g} nats", src=src[0])
    return kept_finding(
        f"a beam of {vocab_size} finds the most probable of {len(pairs)} pairs of words"
    )
