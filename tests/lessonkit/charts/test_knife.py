"""The knife's chart: every choice has its row, and the drawing shows that row and no other."""

import json

import pytest
import torch

from lessonkit.analysis.heads import all_heads
from lessonkit.analysis.interventions import next_token
from lessonkit.analysis.knife import EDGES, PLACE_BEFORE, Knife
from lessonkit.charts.knife import NOTHING, knife_explorer
from tests.helpers.vega import Spec, part, texts, title, values, with_controls
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SENTENCE, OTHER = "The saleswoman is reading.", "The salesman is reading."
LINES, BARS = 0, 1


@pytest.fixture(scope="module")
def plain(shipped: Translator) -> Spec:
    return knife_explorer(shipped, SENTENCE, key=1).to_dict()


@pytest.fixture(scope="module")
def full(shipped: Translator) -> Spec:
    means = {head: torch.full((32,), 0.1) for head in all_heads(shipped.model)}  # type: ignore[arg-type]
    chart = knife_explorer(shipped, SENTENCE, edges=True, means=means, other=OTHER, cut=NOTHING)
    return chart.to_dict()


def written(spec: Spec) -> list[list[str]]:
    """The tokens of the three lines, as they stand in the drawing."""
    marks = texts(part(spec, LINES, 0), "role-mark")
    marks.sort(key=lambda mark: (mark[2], mark[1]))
    rows = sorted({y for *_, y in marks})
    return [[text for text, _, y in marks if y == row] for row in rows]


def drawn_bars(spec: Spec) -> dict[str, list[float]]:
    """Each token's two probabilities."""
    found: dict[str, list[float]] = {}
    for token, chance in values(spec, (BARS, 0), "datum.token", "format(datum.chance, '.2f')"):
        found.setdefault(token, []).append(float(chance))
    return found


def test_the_next_token_is_asked_after_each_beginning(shipped: Translator, plain: Spec) -> None:
    said = Knife(shipped, SENTENCE).whole.said
    moved = with_controls(plain, cut=PLACE_BEFORE, key=1, next=1)
    assert title(part(moved, BARS)) == "What comes after: <bos> La"
    chances = next_token(shipped, SENTENCE, said[:1], before=[1])
    pieces = shipped.tgt_tokenizer.pieces(list(range(len(chances))))
    for token, (_, new) in drawn_bars(moved).items():
        assert new == pytest.approx(float(chances[pieces.index(token)]), abs=0.0051)


def test_an_edge_is_named_by_its_tokens(full: Spec) -> None:
    row = "in every head: the row that says"
    for stack, text in {
        "encoder": "In the encoder, in every head: The cannot look at saleswoman",
        "cross": f"In cross-attention, {row} La cannot look at saleswoman",
        "decoder": f"In the decoder, {row} vendeuse cannot look at La",
    }.items():
        moved = with_controls(full, cut=EDGES[stack], query=0, key=1)
        assert title(part(moved, LINES)) == text


def test_nothing_cut_is_the_same_twice_and_each_control_changes_the_drawing(full: Spec) -> None:
    _, whole, now = written(full)
    assert whole == now
    assert all(old == new for old, new in drawn_bars(with_controls(full, next=2)).values())

    def settings(**moved: object) -> list[str]:
        chart = part(with_controls(full, **moved), LINES, -1)
        return [text for text, *_ in texts(chart, "role-mark")]

    moves = ({}, {"key": 2}, {"query": 2}, {"head": "decoder 1.3"})
    assert len({tuple(settings(**moved)) for moved in moves}) == 4
    assert len(json.dumps(full)) < 200_000


def test_errors(shipped: Translator) -> None:
    with pytest.raises(UserError, match="unknown cut 'an edge of the encoder': did you mean"):
        knife_explorer(shipped, SENTENCE, cut="an edge of the encoder")
    with pytest.raises(UserError, match="place is 40: the slider goes from 0 to"):
        knife_explorer(shipped, SENTENCE, key=40)
    long = "The old dog sees the small cat and " * 5 + "the bird sings."
    with pytest.raises(UserError, match="give a shorter sentence"):
        knife_explorer(shipped, long, edges=True)
