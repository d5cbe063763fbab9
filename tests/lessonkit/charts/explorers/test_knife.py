"""The knife's chart: every choice has its row, and the drawing shows that row and no other."""

import copy
import json
from typing import Any

import pytest
import torch

from lessonkit.analysis.heads import all_heads
from lessonkit.analysis.interventions import next_token
from lessonkit.analysis.knife import EDGES, MEAN, PLACE_AFTER, PLACE_BEFORE, SWAP, ZERO, Knife
from lessonkit.charts.explorers.knife import NOTHING, knife_explorer
from tests.helpers.hiding import translate_hiding
from tests.helpers.vega import as_text, texts, title, with_controls
from transformer.models.translator import Translator
from transformer.support.errors import UserError

Spec = dict[str, Any]
SENTENCE, OTHER = "The saleswoman is reading.", "The salesman is reading."
LINES, BARS = 0, 1


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo-en-fr")


@pytest.fixture(scope="module")
def plain(translator: Translator) -> Spec:
    return knife_explorer(translator, SENTENCE, key=1).to_dict()


@pytest.fixture(scope="module")
def full(translator: Translator) -> Spec:
    means = {head: torch.full((32,), 0.1) for head in all_heads(translator.model)}  # type: ignore[arg-type]
    return knife_explorer(
        translator, SENTENCE, edges=True, means=means, other=OTHER, cut=NOTHING
    ).to_dict()


def part(spec: Spec, index: int) -> Spec:
    """One of the two pictures as a chart of its own."""
    shared = {key: spec[key] for key in ("data", "params", "$schema", "config")}
    return copy.deepcopy(spec["vconcat"][index] | shared)


def written(spec: Spec) -> list[list[str]]:
    """The tokens of the three lines, as they stand in the drawing."""
    chart = part(spec, LINES)
    chart["layer"] = chart["layer"][:1]
    marks = sorted(texts(chart, "role-mark"), key=lambda mark: (mark[2], mark[1]))
    rows = sorted({y for *_, y in marks})
    return [[text for text, _, y in marks if y == row] for row in rows]


def drawn_bars(spec: Spec) -> dict[str, list[float]]:
    """Each token's two probabilities."""
    chart = part(spec, BARS)
    layer = chart["layer"][0]
    as_text(layer, "datum.token + ' ' + format(datum.chance, '.2f')")
    for side in ("x2", "y2"):
        del layer["encoding"][side]
    chart["layer"] = [layer]
    found: dict[str, list[float]] = {}
    for text, _, _ in sorted(texts(chart, "role-mark"), key=lambda mark: mark[2]):
        token, chance = text.rsplit(" ", 1)
        found.setdefault(token, []).append(float(chance))
    return found


def test_hidden_places_are_written_and_drawn(translator: Translator, plain: Spec) -> None:
    knife = Knife(translator, SENTENCE)
    for cut, way in ((PLACE_BEFORE, "before"), (PLACE_AFTER, "after")):
        for key in range(len(knife.src_tokens)):
            moved = with_controls(plain, cut=cut, key=key)
            source, whole, now = written(moved)
            assert (source, whole) == (knife.src_tokens, knife.tgt_tokens)
            said = translate_hiding(translator, SENTENCE, **{way: [key]})
            assert "".join(now).replace("▁", " ").replace("<eos>", "").strip() == said
            (la,) = translator.tgt_tokenizer.encode("La")
            chance = float(next_token(translator, SENTENCE, **{way: [key]})[la])
            old, new = drawn_bars(moved)["▁La"]
            assert (old, new) == pytest.approx((1.0, chance), abs=0.0051)
            assert title(part(moved, LINES)).endswith(
                f"place {key}, {knife.src_tokens[key].replace('▁', '')}"
            )


def test_the_next_token_is_asked_after_each_beginning(translator: Translator, plain: Spec) -> None:
    said = Knife(translator, SENTENCE).whole.said
    moved = with_controls(plain, cut=PLACE_BEFORE, key=1, next=1)
    assert title(part(moved, BARS)) == "What comes after: <bos> La"
    chances = next_token(translator, SENTENCE, said[:1], before=[1])
    pieces = translator.tgt_tokenizer.pieces(list(range(len(chances))))
    for token, (_, new) in drawn_bars(moved).items():
        found = pieces.index(token)
        assert new == pytest.approx(float(chances[found]), abs=0.0051)


@pytest.mark.parametrize("cut", [NOTHING, *EDGES.values(), ZERO, MEAN, SWAP])
def test_every_place_of_the_controls_shows_one_row(full: Spec, cut: str) -> None:
    params = {param["name"]: param for param in full["params"]}
    assert cut in params["cut"]["bind"]["options"]
    most = params["key"]["bind"]["max"]
    for query in (0, 2, most):
        for key in (0, 1, most):
            moved = with_controls(full, cut=cut, query=query, key=key, head="cross 2.3")
            lines = written(moved)
            assert len(lines) == 3
            assert lines[2]
            for old, new in drawn_bars(moved).values():
                assert 0 <= min(old, new) <= max(old, new) <= 1


def test_an_edge_is_named_by_its_tokens(full: Spec) -> None:
    row = "in every head: the row that says"
    said = {
        "encoder": "In the encoder, in every head: The cannot look at saleswoman",
        "cross": f"In cross-attention, {row} La cannot look at saleswoman",
        "decoder": f"In the decoder, {row} vendeuse cannot look at La",
    }
    for stack, text in said.items():
        moved = with_controls(full, cut=EDGES[stack], query=0, key=1)
        assert title(part(moved, LINES)) == text


def test_nothing_cut_is_the_same_twice(full: Spec) -> None:
    _, whole, now = written(with_controls(full, cut=NOTHING))
    assert whole == now
    for old, new in drawn_bars(with_controls(full, cut=NOTHING, next=2)).values():
        assert old == new


def test_each_control_changes_the_drawing(full: Spec) -> None:
    def settings(**values: object) -> list[str]:
        chart = part(with_controls(full, **values), LINES)
        chart["layer"] = chart["layer"][-1:]
        return [text for text, *_ in texts(chart, "role-mark")]

    first = settings()
    for moved in ({"key": 2}, {"query": 2}, {"head": "decoder 1.3"}):
        assert settings(**moved) != first


def test_new_tokens_are_marked_and_a_run_is_cut_short(translator: Translator) -> None:
    from lessonkit.charts.explorers.knife import _new, _shortened

    assert _new(["a", "b", "c"], ["a", "x", "c"]) == [0, 1, 0]
    assert sum(_new(["a", "b"], ["a", "a", "b"])) == 1
    assert _shortened(["word"] * 99)[-1] == "..."
    assert _shortened(["word"] * 9) == ["word"] * 9


def test_it_is_small_and_says_what_it_shows(plain: Spec, full: Spec) -> None:
    assert len(json.dumps(plain)) < 30_000
    assert len(json.dumps(full)) < 200_000
    assert "the whole model's translation" in full["description"]
    assert [p["name"] for p in plain["params"] if "bind" in p] == ["cut", "key", "next"]


def test_errors(translator: Translator) -> None:
    with pytest.raises(UserError, match="an edge of the encoder"):
        knife_explorer(translator, SENTENCE, cut="an edge of the encoder")
    with pytest.raises(UserError, match="place is 40: the places go from 0 to"):
        knife_explorer(translator, SENTENCE, key=40)
    long = "The old dog sees the small cat and " * 5 + "the bird sings."
    with pytest.raises(UserError, match="give a shorter sentence"):
        knife_explorer(translator, long, edges=True)
