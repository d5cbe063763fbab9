"""Greedy search finds what the model scores highest, and every search ends at eos (§6.1)."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from numbers import Integral
from reprlib import repr as short_repr
from typing import Any

import torch
from torch import Tensor

from attention_laws.law import assert_not_none, law
from attention_laws.report import (
    Finding,
    Verdict,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 130
# The sources have at least as many tokens as a target may have.
SENTENCES, LENGTH = 5, 8
BEAM_SIZE = 4
MAX_EOS_RAISES = 4  # of the logit of eos, by 2 each, until a sentence ends


def draw_sources(subject: Subject) -> list[Tensor]:
    """Draw sources of several lengths, (1, src_len) each; of one length without padding."""
    if subject.adapter.pad_id is None:
        return [subject.draw_src(1, LENGTH) for _ in range(SENTENCES)]
    return [subject.draw_src(1, LENGTH + 3 * row % 5) for row in range(SENTENCES)]


def run_searches_on_drawn_sources(
    subject: Subject, *searches: Callable[[Tensor], Iterable[Any]]
) -> list[tuple[Any, ...]]:
    """Search a batch of sources; return each, (1, src_len), with the result of each search."""
    sources = draw_sources(subject)
    batch = _padded_to_one_length(subject, sources)
    return list(zip(sources, *(search(batch) for search in searches), strict=True))


def draw_source_batch(subject: Subject) -> Tensor:
    """Draw sources of several lengths, padded, (sentences, src_len)."""
    return _padded_to_one_length(subject, draw_sources(subject))


def _padded_to_one_length(subject: Subject, sources: list[Tensor]) -> Tensor:
    longest = max(source.shape[1] for source in sources)
    return torch.cat(
        [subject.with_src_padding_appended(source, longest - source.shape[1]) for source in sources]
    )


def logits_after_each_prefix(subject: Subject, src: Tensor, ids: list[int]) -> Tensor:
    """Return the logits after bos and after each of `ids`, (len(ids) + 1, vocab)."""
    return subject.logits(src, torch.tensor([[subject.adapter.bos_id, *ids]]))[0]


def mask_padding_and_bos_logits(subject: Subject, logits: Tensor) -> Tensor:
    """Return logits in which padding and bos are impossible, as in a careful search."""
    impossible = [subject.tgt_pad_id, subject.adapter.bos_id]
    logits = logits.clone()
    logits[..., [token for token in impossible if token is not None]] = -torch.inf
    return logits


def _logit_shortfall_of_choice(subject: Subject, logits: Tensor, chosen: int) -> float:
    """Return how far a choice is below the best of (vocab,), with padding and bos or without."""
    both = (logits, mask_padding_and_bos_logits(subject, logits))
    shortfall = min(float(scores.max() - logits[chosen]) for scores in both)
    return shortfall if shortfall > 2 * subject.tolerance else 0.0


def also_check_with_likelier_eos(
    check: Callable[[Subject], Finding],
) -> Callable[[Subject], Finding]:
    """Retry a check if no sentence ends: with larger logits, and more for eos."""

    @wraps(check)
    def retried_check(subject: Subject) -> Finding:
        finding = check(subject)
        if finding.verdict != Verdict.KEPT or _does_any_search_reach_eos(subject):
            return finding
        random_state = subject.generator.get_state()
        ends = make_sentences_end(subject)
        subject.generator.set_state(random_state)
        # Also if none ends: a search that never does may leave out what forward scores highest.
        retried = check(subject)
        if retried.verdict == Verdict.KEPT:
            return retried if ends else kept_finding(f"{finding.seen}; no sentence ends in eos")
        return replace(retried, seen=f"with eos likelier, so that sentences end: {retried.seen}")

    return retried_check


def _does_any_search_reach_eos(subject: Subject) -> bool:
    """Return whether eos ends a translation of greedy search, or a candidate of a beam."""
    greedy, beam = subject.adapter.greedy, subject.adapter.beam
    if greedy is not None:
        translations = run_searches_on_drawn_sources(subject, lambda src: greedy(src, LENGTH))
        return any(len(ids) < LENGTH for _, ids in translations)
    if beam is None:
        return False
    beams = run_searches_on_drawn_sources(subject, lambda src: beam(src, BEAM_SIZE, LENGTH))
    return any(candidate.finished for _, candidates in beams for candidate in candidates)


@torch.no_grad()
def make_sentences_end(subject: Subject) -> bool:
    """Scale up a model's output layer and raise eos until a sentence ends; return whether one does.

    Without a bias the row of eos is turned towards what the layer reads.
    """
    if subject.adapter.module is None:
        return False
    ids = subject.draw_src(1, 5), subject.draw_tgt_in(1, 4)
    width = subject.logits(*ids).shape[-1]
    linear_calls = [call for call in subject.torch_calls_of_forward(*ids) if call.name == "linear"]
    outputs = [call for call in linear_calls if call.output.shape[-1] == width]
    if not outputs:
        return False
    pointers = {arg.data_ptr() for arg in outputs[-1].args[1:] if arg is not None}
    weights = [w for w in subject.module.parameters() if w.data_ptr() in pointers]
    biases = [weight for weight in weights if weight.dim() == 1]
    matrices = [weight for weight in weights if weight.dim() == 2]
    for matrix in matrices:
        matrix.mul_(3)
    hidden = outputs[-1].args[0].flatten(end_dim=-2).mean(dim=0)
    for _ in range(MAX_EOS_RAISES):
        for bias in biases:
            bias[subject.adapter.eos_id] += 2
        for matrix in matrices if not biases else []:
            matrix[subject.adapter.eos_id] += 2 * hidden / hidden.square().sum()
        if _does_any_search_reach_eos(subject):
            return True
    return False


@law()
@also_check_with_likelier_eos
@torch.no_grad()
def searches_return_ids_in_lists(subject: Subject) -> Finding:
    """A search returns ids in a list; of a beam, with a log probability and whether eos ended it.

    Means: the search hands out what it computes with, such as a view of a tensor that it goes on
    to change, or the parts of a candidate in another order; or it stops before eos and the limit
    Look: at where a candidate is made
    """
    greedy, beam = subject.adapter.greedy, subject.adapter.beam
    if greedy is None and beam is None:
        return not_tried_finding("the adapter has no greedy and no beam")
    count = 0
    if greedy is not None:
        for _, ids in run_searches_on_drawn_sources(subject, lambda src: greedy(src, LENGTH)):
            count += 1
            if not _is_list_of_ids(ids):
                return broken_finding(
                    f"greedy search returns {_one_line_repr(ids)}, and no list of ids"
                )
    if beam is None:
        return kept_finding(f"{count} translations are lists of ids")
    for src, candidates in run_searches_on_drawn_sources(
        subject, lambda src: beam(src, BEAM_SIZE, LENGTH)
    ):
        for ids, log_prob, finished in candidates:
            count += 1
            if not _is_list_of_ids(ids):
                return broken_finding(f"a candidate has {_one_line_repr(ids)}, and no list of ids")
            is_truth = finished in (True, False) and not isinstance(finished, float)
            if isinstance(log_prob, bool) or not is_truth:
                seen = f"a candidate has a log probability of {_one_line_repr(log_prob)}"
                return broken_finding(
                    f"{seen}, and {_one_line_repr(finished)} for whether eos ended it"
                )
        longest = max((len(ids) for ids, _, _ in candidates), default=LENGTH)
        if longest < LENGTH and not any(finished for _, _, finished in candidates):
            seen = (
                f"none of {len(candidates)} candidates ends in eos, and the longest has {longest}"
            )
            return broken_finding(f"{seen} tokens, where {LENGTH} are allowed", src=src[0])
    return kept_finding(f"{count} translations and candidates are lists of ids")


def _is_list_of_ids(ids: Any) -> bool:
    return isinstance(ids, list | tuple) and all(isinstance(token, Integral) for token in ids)


def _one_line_repr(value: Any) -> str:
    return " ".join(short_repr(value).split())


@law("greedy")
@also_check_with_likelier_eos
@torch.no_grad()
def greedy_search_matches_forward(subject: Subject) -> Finding:
    """Greedy search chooses what forward scores highest after each of its prefixes.

    Means: translation takes another path than training: a mask or positions differ, the model
    is in training mode, bos is another id, or the argmax is taken at the wrong position
    Look: at the first token that differs: what did the model read at that step?
    """
    greedy, ended = assert_not_none(subject.adapter.greedy), 0
    for src, output in run_searches_on_drawn_sources(subject, lambda src: greedy(src, LENGTH)):
        ids, ends = _cut_at_eos_or_padding(subject, output)
        choices = [[token] for token in ids]
        if ends:
            ended += 1
            choices.append(ends)
        logits = logits_after_each_prefix(subject, src, ids)
        for position, tokens in enumerate(choices):
            shortfall = min(
                _logit_shortfall_of_choice(subject, logits[position], token) for token in tokens
            )
            if shortfall:
                choice = "it ends" if position == len(ids) else f"it chooses {tokens[0]}"
                best = int(logits[position].argmax())
                seen = f"after {ids[:position]} {choice}, and forward scores {best} higher"
                return broken_finding(f"{seen} by {shortfall:.2g}", src=src[0])
    return kept_finding(
        f"{SENTENCES} translations, {ended} of them ended before the limit, are forward's choices"
    )


def _cut_at_eos_or_padding(subject: Subject, output: list[int]) -> tuple[list[int], list[int]]:
    """Return a translation up to its eos or padding, and which tokens may have ended it.

    No token did if the limit did. Before padding an eos may have been left out. What follows is
    not looked at.
    """
    eos, pad = subject.adapter.eos_id, subject.tgt_pad_id
    end = next((i for i, token in enumerate(output) if token in (eos, pad)), len(output))
    if end >= LENGTH:
        return output[:end], []
    if end == len(output) or output[end] == eos:
        return output[:end], [eos]
    return output[:end], [eos, output[end]]


@law()
@also_check_with_likelier_eos
@torch.no_grad()
def search_stops_at_eos(subject: Subject) -> Finding:
    """A translation holds no bos and no padding, and nothing after eos.

    Means: the search does not look for eos, or looks for another id; a model that has not learned
    yet also chooses padding or bos if nothing prevents it, seldom one that has
    Look: at the condition that ends a sentence, in a batch above all
    """
    adapter, greedy, beam = subject.adapter, subject.adapter.greedy, subject.adapter.beam
    searches: list[Callable[[Tensor], Iterable[Any]]] = []
    if greedy is not None:
        searches.append(lambda src: ([ids] for ids in greedy(src, LENGTH)))
    if beam is not None:
        searches.append(
            lambda src: (
                [candidate.ids for candidate in candidates]
                for candidates in beam(src, BEAM_SIZE, LENGTH)
            )
        )
    if not searches:
        return not_tried_finding("the adapter has no greedy and no beam")
    translations = []
    for src, *results in run_searches_on_drawn_sources(subject, *searches):
        for translations_of_search in results:
            for ids in translations_of_search:
                translations.append((ids, f"src {src[0].tolist()} gives {ids}"))
    for ids, example in translations:
        if len(ids) > LENGTH:
            return broken_finding(f"{example}: {len(ids)} tokens, although {LENGTH} were allowed")
        if adapter.eos_id in ids[:-1]:
            return broken_finding(f"{example}: it goes on after eos, {adapter.eos_id}")
    for ids, example in translations:
        if adapter.eos_id in ids:
            return not_tried_finding(
                f"{example}: the adapter is to leave eos, {adapter.eos_id}, out"
            )
    for ids, example in translations:
        special_ids = [token for token in ids if token in (subject.tgt_pad_id, adapter.bos_id)]
        if special_ids:
            seen = f"{example}: nothing prevents {special_ids[0]}, which is no word"
            return (
                kept_finding(f"{seen}; the model is untrained")
                if adapter.untrained
                else warned_finding(seen)
            )
    count = len(translations)
    return kept_finding(f"{count} translations hold no bos, no padding, and nothing after eos")
