"""Judging attributions: error rates, their differences with intervals, and who agrees."""

import pytest

from experiments.attributions import attribution_scores, error_difference
from lessonkit.analysis.alignment import alignment_error_rate, strongest_links, word_attention
from lessonkit.analysis.attribution import METHODS
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.models.translator import Translator
from transformer.support.errors import UserError

GOLD = [frozenset({(0, 0), (1, 1)})] * 7
RIGHT, HALF = GOLD, [frozenset({(0, 0), (1, 0)})] * 7


def test_a_difference_that_every_sentence_shows_has_no_spread() -> None:
    # 1 of 2 found right against 2 of 2, in each sentence: 0.5 against 0.
    assert error_difference(RIGHT, HALF, GOLD) == pytest.approx((0.5, 0.5, 0.5))
    assert error_difference(HALF, RIGHT, GOLD) == pytest.approx((-0.5, -0.5, -0.5))
    assert error_difference(HALF, HALF, GOLD) == (0, 0, 0)


def test_scores_are_those_of_the_alignments(shipped: Translator) -> None:
    text = corpora.load("embedded", "test", "en", "fr")
    assert text.alignments is not None
    few = ParallelText(
        src_lang="en", tgt_lang="fr", src=text.src[:5], tgt=text.tgt[:5],
        alignments=text.alignments[:5],
    )  # fmt: skip
    scores = attribution_scores(shipped, few)
    assert list(scores) == [*METHODS, "place alone", "best possible"]
    weights = [
        word_attention(shipped, *pair).weights.mean(dim=(0, 1))
        for pair in zip(few.src, few.tgt, strict=True)
    ]
    by_hand = alignment_error_rate(
        [strongest_links(each) for each in weights], few.alignments or []
    )
    assert scores["attention weights"]["error"] == pytest.approx(by_hand, abs=1e-4)
    assert scores["attention weights"]["difference"] == 0
    assert scores["hiding"]["agrees"] == 1
    assert scores["best possible"]["error"] <= min(scores[name]["error"] for name in METHODS)
    for name in METHODS:
        figures = scores[name]
        assert figures["low"] <= figures["difference"] <= figures["high"]
        assert figures["difference"] == pytest.approx(figures["error"] - by_hand, abs=2e-4)


def test_a_text_without_gold_is_refused(shipped: Translator) -> None:
    text = ParallelText(src_lang="en", tgt_lang="fr", src=["A cat."], tgt=["Un chat."])
    with pytest.raises(UserError, match="without gold alignments"):
        attribution_scores(shipped, text)
