"""Figures of a text by hand, and the record of Multi30k: traceable, and made again."""

import json
import re
from pathlib import Path

import pytest

from lessonkit.analysis import text_figures
from lessonkit.analysis.batching_rules import RULES
from lessonkit.analysis.text_figures import (
    BUDGETS,
    SIZES,
    recorded,
    unknown_share,
    vocabulary_growth,
)
from transformer.support.errors import UserError

TEXT = ["a", "b", "a", "c", "b", "a", "d"]


def test_growth_by_hand() -> None:
    assert vocabulary_growth(TEXT) == [(1, 1), (2, 2), (4, 3), (7, 4)]
    assert vocabulary_growth(TEXT[:4]) == [(1, 1), (2, 2), (4, 3)]
    assert vocabulary_growth(["a"]) == [(1, 1)]
    with pytest.raises(UserError, match="without tokens"):
        vocabulary_growth([])


@pytest.mark.parametrize(
    ("size", "share"),
    [(1, 3 / 5), (2, 2 / 5), (3, 2 / 5), (4, 1 / 5), (99, 1 / 5)],
)
def test_unknown_share_by_hand(size: int, share: float) -> None:
    # kept in this order: a (3 times), b (twice), c and d (once; by alphabet); x never
    assert unknown_share(TEXT, ["a", "x", "b", "d", "a"], size) == pytest.approx(share)


def test_unknown_share_refuses() -> None:
    with pytest.raises(UserError, match="without tokens"):
        unknown_share([], ["a"], 1)
    with pytest.raises(UserError, match="without tokens"):
        unknown_share(["a"], [], 1)
    with pytest.raises(UserError, match="size is 0"):
        unknown_share(["a"], ["a"], 0)


def test_the_record_can_be_traced() -> None:
    record = recorded()
    assert record["command"] == "python -m transformer record text"  # as it was typed then
    assert re.fullmatch(r"[0-9a-f]{40}", record["commit"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])
    assert record["hardware"]
    assert isinstance(record["seed"], int)
    figures = record["figures"]
    assert set(figures["languages"]) == {"de", "en", "fr"}
    rows = [(row["batch_tokens"], row["rule"]) for row in figures["padding"]]
    assert rows == [(budget, rule) for budget in BUDGETS for rule in RULES]


def test_no_record_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_figures, "results_folder", lambda: tmp_path)
    with pytest.raises(UserError, match="make it with python -m experiments text"):
        recorded()


@pytest.mark.slow
def test_the_record_is_what_multi30k_gives(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", str(shared_data))
    figures = text_figures.multi30k_figures()
    assert json.loads(json.dumps(figures)) == recorded()["figures"]
    assert figures["sizes"] == SIZES
