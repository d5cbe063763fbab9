"""A search finds what the model says (§6.1)."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from attention_laws.law import Subject, law, needed
from attention_laws.report import Finding, Verdict, broken, kept, not_tried, warned
from attention_laws.watch import let_end

SENTENCES, LENGTH = 5, 8  # the sources have at least as many tokens as a target may have
BEAM_SIZE, WIDEST = 4, 100


def _sources(subject: Subject) -> list[Tensor]:
    """Draw sources of several lengths, (1, src_len) each; of one where there is no padding."""
    grows = subject.adapter.pad_id is not None
    return [subject.src(1, LENGTH + grows * (3 * row % 5)) for row in range(SENTENCES)]


def _found(subject: Subject, *searches: Callable[[Tensor], Iterable[Any]]) -> list[Any]:
    """Search a batch of sources; give each, (1, src_len), and what each search finds for it."""
    sources = _sources(subject)
    longest = max(each.shape[1] for each in sources)
    batch = torch.cat([subject.padded(each, longest - each.shape[1]) for each in sources])
    return list(zip(sources, *(search(batch) for search in searches), strict=True))


def _next(subject: Subject, src: Tensor, ids: list[int]) -> Tensor:
    """Give the logits after bos and after each of `ids`, (len(ids) + 1, vocab), for one source."""
    return subject.logits(src, torch.tensor([[subject.adapter.bos_id, *ids]]))[0]


def _barred(subject: Subject, logits: Tensor) -> Tensor:
    """Bar padding and bos, as a careful search does."""
    barred = [subject.adapter.pad_id, subject.adapter.bos_id]
    logits = logits.clone()
    logits[..., [each for each in barred if each is not None]] = -torch.inf
    return logits


def _short_of_best(subject: Subject, logits: Tensor, chosen: int) -> float:
    """Give how far a choice is below the best of (vocab,), all counted or the barred not."""
    short = min(float(each.max() - logits[chosen]) for each in (logits, _barred(subject, logits)))
    return short if short > 2 * subject.tolerance else 0.0


def some_end(check: Callable[[Subject], Finding]) -> Callable[[Subject], Finding]:
    """Try a check again where no sentence ends: with larger logits, and more for eos."""

    @wraps(check)
    def tried(subject: Subject) -> Finding:
        found = check(subject)
        if found.verdict != Verdict.KEPT or _ended(subject):
            return found
        drawn = subject.generator.get_state()
        if not let_end(subject) or not _ended(subject):
            return kept(f"{found.seen}; no sentence ends in eos")
        subject.generator.set_state(drawn)
        again = check(subject)
        if again.verdict == Verdict.KEPT:
            return again
        return Finding(again.verdict, f"with eos likelier, so that sentences end: {again.seen}")

    return tried


def _ended(subject: Subject) -> bool:
    """Tell whether eos ends a translation of greedy search, or a candidate."""
    greedy, beam = subject.adapter.greedy, subject.adapter.beam
    if greedy is not None:
        return any(len(ids) < LENGTH for _, ids in _found(subject, lambda src: greedy(src, LENGTH)))
    beams = [] if beam is None else _found(subject, lambda src: beam(src, BEAM_SIZE, LENGTH))
    return any(each.finished for _, row in beams for each in row)


@law("greedy")
@some_end
@torch.no_grad()
def greedy_search_matches_forward(subject: Subject) -> Finding:
    """Greedy search says what forward scores highest after each of its prefixes.

    Means: translation takes another road than training: a mask or positions differ, the model
    is in training mode, bos is another id, or the argmax is taken at the wrong position
    Look: at the first token that differs: what did the model read at that step?
    """
    adapter, greedy, ended = subject.adapter, needed(subject.adapter.greedy), 0
    for src, given in _found(subject, lambda src: greedy(src, LENGTH)):
        marks = [i for i, each in enumerate(given) if each in (adapter.eos_id, adapter.pad_id)]
        ids = given[: min(marks, default=len(given))]  # after a mark it may say what it likes
        ends = len(given) < LENGTH if ids == given else given[len(ids)] == adapter.eos_id
        said = [*ids, adapter.eos_id] if ends else ids
        ended += len(said) > len(ids)
        logits = _next(subject, src, ids)
        for place, token in enumerate(said):
            if short := _short_of_best(subject, logits[place], token):
                what = "it ends" if place == len(ids) else f"it says {token}"
                more = f"{int(logits[place].argmax())} by {short:.2g} more"
                return broken(f"after {ids[:place]} {what}, and forward scores {more}", src=src[0])
    return kept(f"{SENTENCES} translations, {ended} of them ended by eos, are forward's choices")


@law()
@some_end
@torch.no_grad()
def search_stops_at_eos(subject: Subject) -> Finding:
    """A translation holds no bos and no padding, and nothing after eos.

    Means: the search does not look for eos, or looks for another id; padding or bos that
    nothing bars is said by a model that has not learned yet, seldom by one that has
    Look: at the condition that ends a sentence, in a batch above all
    """
    adapter, greedy, beam = subject.adapter, subject.adapter.greedy, subject.adapter.beam
    searches = []
    if greedy is not None:
        searches.append(lambda src: ([ids] for ids in greedy(src, LENGTH)))
    if beam is not None:
        searches.append(lambda src: ([x.ids for x in row] for row in beam(src, BEAM_SIZE, LENGTH)))
    if not searches:
        return not_tried("the adapter has no greedy and no beam")
    found = [(src, ids) for src, *rows in _found(subject, *searches) for row in rows for ids in row]
    given = [(ids, f"src {src[0].tolist()} gives {ids}") for src, ids in found]
    for ids, shown in given:
        if len(ids) > LENGTH:
            return broken(f"{shown}: {len(ids)} tokens where {LENGTH} were allowed")
        if adapter.eos_id in ids[:-1]:
            return broken(f"{shown}: it goes on after eos, {adapter.eos_id}")
    for ids, shown in given:
        if adapter.eos_id in ids:
            return not_tried(f"{shown}: the adapter is to leave eos, {adapter.eos_id}, out")
    for ids, shown in given:
        if marks := [each for each in ids if each in (adapter.pad_id, adapter.bos_id)]:
            seen = f"{shown}: nothing bars {marks[0]}, no word"
            return kept(f"{seen}; the model is fresh") if adapter.fresh else warned(seen)
    return kept(f"{len(found)} translations hold no bos, no padding, and nothing after eos")


def _log_probs(subject: Subject, src: Tensor, ids: list[int], finished: bool) -> list[float]:
    """Add up log probabilities of ids by forward: over all types, and without the barred ones."""
    logits = _next(subject, src, ids).double()
    said = torch.tensor([*ids, subject.adapter.eos_id] if finished else ids, dtype=torch.long)
    sums = []
    for each in (logits, _barred(subject, logits)):
        picked = each.log_softmax(dim=-1)[: len(said)].gather(1, said[:, None])
        sums.append(float(picked.sum()))
    return sums


@law("beam")
@some_end
@torch.no_grad()
def beam_log_probs_match_forward(subject: Subject) -> Finding:
    """Each candidate's log probability is what forward gives for its ids.

    Means: the cache is not reordered with the beams, sentences of a batch are mixed, logits are
    added in place of log probabilities, or scores are gathered by the wrong index
    Look: where prefixes are reordered: is everything else that has a row reordered too?
    """
    beam, sizes, number = needed(subject.adapter.beam), (1, BEAM_SIZE), 0
    searches = [lambda src, size=size: beam(src, size, LENGTH) for size in sizes]
    for src, *found in _found(subject, *searches):
        for size, candidates in zip(sizes, found, strict=True):
            for ids, log_prob, finished in candidates:
                number += 1
                sums = _log_probs(subject, src, ids, finished)
                allowed = (len(ids) + 1) * (2 * subject.tolerance + 1e-5)
                apart = min(abs(each - log_prob) for each in sums)
                if not apart <= allowed:
                    what = f"beam {size}: {ids}{' and eos' if finished else ''}"
                    wrong = f"is said to have {log_prob:.4f} nats, and has {sums[0]:.4f} by forward"
                    return broken(f"{what} {wrong}", src=src[0])
    return kept(f"{number} candidates of {SENTENCES} sentences have the sums that forward gives")


@law("beam")
@torch.no_grad()
def beam_candidates_are_sorted_and_unique(subject: Subject) -> Finding:
    """No candidate stands twice, and of equally long ones the more probable comes first.

    Means: all beams begin with the same prefix and a score of 0, or the order is ascending
    Look: at the first step's scores: all but one must be minus infinity
    """
    beam = needed(subject.adapter.beam)
    for src, candidates in _found(subject, lambda src: beam(src, BEAM_SIZE, LENGTH)):
        for place, one in enumerate(candidates):
            for other in candidates[place + 1 :]:
                if one.ids == other.ids and one.finished == other.finished:
                    return broken(f"{one.ids} stands there twice", src=src[0])
                alike = len(one.ids) == len(other.ids) and one.finished == other.finished
                if alike and other.log_prob > one.log_prob + 1e-5:
                    first, second = (f"{x.ids} with {x.log_prob:.4f} nats" for x in (one, other))
                    return broken(f"{first} stands before {second}", src=src[0])
    return kept("no candidate stands twice, and of equally long ones the best is first")


@law("beam", "greedy")
@some_end
@torch.no_grad()
def beam_of_one_is_greedy(subject: Subject) -> Finding:
    """A beam of one is greedy search, and knows where it ended.

    Means: what ends with eos is dropped, or is not marked as finished
    Look: at what becomes of a candidate that ends
    How: A sound beam may go on after eos, and then find another translation.
    """
    greedy, beam = needed(subject.adapter.greedy), needed(subject.adapter.beam)
    both = _found(subject, lambda src: greedy(src, LENGTH), lambda src: beam(src, 1, LENGTH))
    alike = 0
    for src, ids, candidates in both:
        if any(one.ids == ids and not one.finished for one in candidates) and len(ids) < LENGTH:
            return broken(f"{ids} ends greedy search, and is not finished in a beam", src=src[0])
        alike += bool(candidates) and candidates[0].ids == ids
    return kept(f"{alike} of {SENTENCES} translations are greedy search's, ends included")


@law("beam")
@torch.no_grad()
def wide_beam_finds_the_best(subject: Subject) -> Finding:
    """A beam as wide as the vocabulary finds the most probable of all pairs of words.

    Means: fewer prefixes go on than the beam is wide, or what ends takes the place of others
    Look: at how many continuations are taken, and from what
    """
    types = subject.adapter.tgt_vocab_size
    if types > WIDEST:
        return not_tried(f"a beam of {types} is too wide to try: {WIDEST} at most")
    words = torch.tensor([each for each in range(types) if each not in subject.special])
    pairs = torch.cartesian_prod(words, words)
    for src in _sources(subject)[:3]:
        (found,) = needed(subject.adapter.beam)(src, types, 2)
        given = {tuple(each.ids) for each in found if not each.finished}
        tgt_in = torch.cat((torch.full((len(words), 1), subject.adapter.bos_id), words[:, None]), 1)
        logits = subject.logits(src.expand(len(words), -1), tgt_in)
        short = []
        for scores in (logits, _barred(subject, logits)):
            steps = scores.log_softmax(dim=-1)
            sums = (steps[0, 0][words][:, None] + steps[:, 1][:, words]).flatten()
            has = torch.tensor([tuple(pair) in given for pair in pairs.tolist()])
            best = sums.sort(descending=True).values[: int(has.sum())]
            apart = best - sums[has].sort(descending=True).values
            short.append(max(apart.tolist(), default=0.0))
        if min(short) > 4 * subject.tolerance + 1e-5:
            what = f"{len(best)} pairs that a beam of {types} finds are not the most probable"
            return broken(f"{what}, by up to {min(short):.2g} nats", src=src[0])
    return kept(f"a beam of {types} finds the most probable of {len(pairs)} pairs of words")
