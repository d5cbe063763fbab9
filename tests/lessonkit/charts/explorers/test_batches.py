"""The explorer of batches: the drawing has the rows, lengths and shares that were given."""

import copy
from typing import Any

import pytest
from lessonkit.charts.explorers.batches import batch_explorer

from tests.helpers.vega import as_text, texts, title, with_controls
from transformer.support.errors import UserError

BATCHES = {"random": [[7, 2, 5], [3, 3]], "token budget": [[2, 3], [11]]}
Spec = dict[str, Any]


def rectangles(spec: Spec) -> list[tuple[int, str, int, int]]:
    """What is drawn: row, part, first and last position, in the order of the rows."""
    spec = copy.deepcopy(spec)
    label = "datum.row + ' ' + datum.part + ' ' + datum.start + ' ' + datum.end"
    as_text(spec, label)
    for channel in ("x2", "y2"):
        del spec["encoding"][channel]
    parts = [text.split() for text, *_ in texts(spec, "role-mark") if text]
    return sorted((int(row), part, int(start), int(end)) for row, part, start, end in parts)


@pytest.mark.parametrize("rule", BATCHES)
@pytest.mark.parametrize("batch", [1, 2])
def test_each_sentence_is_drawn_and_filled_up(rule: str, batch: int) -> None:
    spec = with_controls(batch_explorer(BATCHES).to_dict(), rule=rule, batch=batch)
    lengths = BATCHES[rule][batch - 1]
    expected = []
    for row, length in enumerate(lengths):
        expected += [(row, "padding", length, max(lengths)), (row, "token", 0, length)]
    assert rectangles(spec) == expected


def test_the_title_gives_size_and_share() -> None:
    spec = batch_explorer(BATCHES).to_dict()
    assert title(spec) == "random, batch 1 of 2: 3 x 7 = 21 positions, 33% padding"
    moved = with_controls(spec, rule="token budget", batch=2)
    assert title(moved) == "token budget, batch 2 of 2: 1 x 11 = 11 positions, 0% padding"


def test_the_description_gives_the_share_of_each_rule() -> None:
    # random: 20 tokens in 21 + 6 positions; token budget: 16 in 6 + 11
    said = batch_explorer(BATCHES).to_dict()["description"]
    wanted = "Padding of the 2 batches to choose from, by rule: random 26%, token budget 6%."
    assert wanted in said
    assert said.endswith("Controls change rule and batch.")


def test_the_axes_stay_where_they_are() -> None:
    spec = batch_explorer(BATCHES).to_dict()
    assert spec["encoding"]["x"]["scale"]["domain"] == [0, 11]
    assert spec["encoding"]["y"]["scale"]["domain"] == [3, 0]


def test_more_than_a_stored_chart_should_hold() -> None:
    with pytest.raises(UserError, match="5,001 sentences, and a chart holds 5,000"):
        batch_explorer({"a": [[2] * 5001]})
