"""The slow beam search of one sentence: the same search, with a record that adds up."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from lessonkit.analysis.beam_tree import CandidateStatus, grow_beam_tree
from tests.helpers.scripted import VOCAB, Scripted, Sparse
from transformer.config import BOS_ID, EOS_ID
from transformer.decoding import beam_search
from transformer.support.errors import UserError

SRC = torch.tensor([[4, EOS_ID]])


def agree(model: Any, src: Tensor, *, use_cache: bool = True, **options: Any) -> None:
    """Hold a tree to what the beam search finds, and its record to itself."""
    tree = grow_beam_tree(model, src, **options)
    (found,) = beam_search(model, src, use_cache=use_cache, **options)
    assert [(h.ids, h.finished) for h in tree.hypotheses] == [(h.ids, h.finished) for h in found]
    scores = [h.score for h in tree.hypotheses]
    assert scores == pytest.approx([h.score for h in found], abs=1e-4)
    totals = {(): 0.0}
    for number, candidates in enumerate(tree.steps, start=1):
        assert candidates == sorted(candidates, key=lambda each: -each.total)
        assert len(candidates) <= 2 * options["beam_size"]
        for each in candidates:
            assert len(each.ids) == number
            assert each.total == pytest.approx(totals[each.ids[:-1]] + each.log_prob, abs=1e-5)
            assert each.total > -math.inf
        totals = {
            each.ids: each.total for each in candidates if each.status is CandidateStatus.KEPT
        }
        assert len(totals) <= options["beam_size"]


def test_it_finds_what_the_beam_search_finds_with_probabilities_of_zero_too() -> None:
    for dead in ((), (BOS_ID,), tuple(range(4, 12)), tuple(range(4, VOCAB))):
        for beam_size in (1, 2, 7, 40):
            for seed in range(20):
                options: dict[str, Any] = {
                    "beam_size": beam_size,
                    "alpha": (0.0, 0.6, 2.0)[seed % 3],
                }
                options |= {"max_len": 3} if seed == 7 else {"extra_length": 3}
                agree(Sparse(seed, dead), SRC, use_cache=False, **options)


def test_a_tree_worked_by_hand() -> None:
    tree = grow_beam_tree(Scripted(), SRC, beam_size=2, alpha=0.0)
    a, b, end = 4, 5, EOS_ID
    first, second, third = tree.steps
    assert [(c.ids, c.status) for c in first] == [
        ((a,), CandidateStatus.KEPT),
        ((b,), CandidateStatus.KEPT),
    ]
    assert [(c.ids, c.status) for c in second] == [
        ((b, end), CandidateStatus.FINISHED),  # .4 x .9 = .36
        ((a, a), CandidateStatus.KEPT),  # .6 x .45 = .27
        ((a, b), CandidateStatus.KEPT),  # .27 too, and later among equals
        ((a, end), CandidateStatus.DROPPED),  # .06 is not among the best two
    ]
    assert (third[0].ids, third[0].status) == ((a, b, end), CandidateStatus.FINISHED)
    assert math.exp(third[0].total) == pytest.approx(0.243)
    assert [h.ids for h in tree.hypotheses] == [[b], [a, b]]


def test_mistakes_are_named() -> None:
    for beam_size in (0, 3_000_000):
        with pytest.raises(UserError, match=f"beam_size is {beam_size}: give a whole number from"):
            grow_beam_tree(Scripted(), SRC, beam_size=beam_size)
    with pytest.raises(UserError, match=r"src has shape \(2, 2\): give one sentence"):
        grow_beam_tree(Scripted(), SRC.expand(2, -1))
