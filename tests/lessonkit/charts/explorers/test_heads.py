"""The heads explorer: each head in its place, the query's row on the sentence, one copy of data."""

import json
from itertools import pairwise
from typing import Any

import pytest
import torch
import vl_convert
from lessonkit.charts.explorers.heads import FILLED, THUMB, heads_explorer

from lessonkit.analysis.heads import Head
from lessonkit.charts.renderer import PICTURE_VERSION
from lessonkit.charts.style import TARGET
from tests.helpers.vega import (
    NUM_HEADS,
    NUM_LAYERS,
    SAID,
    SRC,
    as_text,
    softmaxed,
    some_attention,
    texts,
    title,
    with_controls,
)
from transformer.attention import AttentionMaps
from transformer.config import BOS_ID, SPECIAL_TOKENS

Spec = dict[str, Any]
OVERVIEW, LARGE, SENTENCE, TRANSLATION = range(4)
FIRST, SECOND = Head("cross", 1, 2), Head("encoder", 2, 3)


def part(spec: Spec, index: int) -> Spec:
    """One of the pictures as a chart of its own; the choice of a head as two plain values."""
    shared = {key: spec[key] for key in ("data", "params", "$schema", "config")}
    beside, *below = spec["vconcat"]
    shared = json.loads(json.dumps(shared))
    (chosen,) = (param for param in shared["params"] if param["name"] == "chosen")
    shared["params"].remove(chosen)
    for param in shared["params"]:
        if param["name"] in chosen["value"][0]:
            del param["expr"]
            param["value"] = chosen["value"][0][param["name"]]
    return json.loads(json.dumps([*beside["hconcat"], *below][index] | shared))


@pytest.fixture
def spec() -> Spec:
    return heads_explorer(some_attention()).to_dict()


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
def test_the_overview_has_every_head_in_its_place(spec: Spec, stack: str) -> None:
    overview = part(with_controls(spec, stack=stack), OVERVIEW)
    as_text(overview["layer"][0], "format(datum.value, '.2f')")
    del overview["layer"][1]
    for side in ("x2", "y2"):
        del overview["layer"][0]["encoding"][side]
    weights = getattr(some_attention().maps, stack)[:, 0]
    q_len, k_len = weights.shape[2:]
    marks = texts(overview, "role-mark")
    assert len(marks) == weights.numel()
    for text, x, y in marks:
        head, column = int(x // THUMB), (x % THUMB) / (THUMB * FILLED) * k_len
        layer, row = int(y // THUMB), (y % THUMB) / (THUMB * FILLED) * q_len
        expected = weights[layer, head, round(row), round(column)].item()
        assert float(text) == pytest.approx(expected, abs=0.0051)


def test_a_frame_stands_around_the_chosen_head(spec: Spec) -> None:
    for layer in range(1, NUM_LAYERS + 1):
        for head in range(1, NUM_HEADS + 1):
            overview = part(with_controls(spec, layer=layer, head=head), OVERVIEW)
            frame = overview["layer"][1]
            as_text(frame, "datum.left + ' ' + datum.right + ' ' + datum.top")
            del overview["layer"][0]
            for side in ("x2", "y2"):
                del frame["encoding"][side]
            (text, *_), *others = texts(overview, "role-mark")
            assert not others
            assert [float(n) for n in text.split()] == [head - 1, head - 1 + FILLED, layer - 1]


@pytest.mark.parametrize(
    ("stack", "query", "said", "keys"),
    [
        ("encoder", 2, SRC[1], SRC[:-1]),
        ("decoder", 3, SAID[2], [SPECIAL_TOKENS[BOS_ID], *SAID[:2]]),
        ("cross", 1, SAID[0], SRC[:-1]),
        ("cross", 4, SAID[2], SRC[:-1]),  # past the last row: the last
    ],
)
def test_the_sentence_shows_the_query_s_row(
    spec: Spec, stack: str, query: int, said: str, keys: list[str]
) -> None:
    spec = with_controls(spec, stack=stack, layer=2, head=3, query=query)
    sentence = part(spec, SENTENCE)
    row = min(query, 3 if stack != "encoder" else 4)
    assert title(sentence) == f"query {row}, {said}, attends to"
    ground = sentence["layer"][0]
    as_text(ground, "datum.key + ' ' + format(datum.value, '.2f')")
    del ground["encoding"]["x2"], sentence["layer"][1]
    shown = [text.split() for text, *_ in sorted(texts(sentence, "role-mark"), key=lambda m: m[1])]
    weights = getattr(some_attention().maps, stack)[1, 0, 2, row - 1]
    assert [key for key, _ in shown] == keys
    values = torch.tensor([float(value) for _, value in shown])
    torch.testing.assert_close(values, weights, atol=0.0051, rtol=0)


def test_words_stand_side_by_side_in_their_order(spec: Spec) -> None:
    sentence = part(spec, SENTENCE)
    del sentence["layer"][0]
    words = sorted(texts(sentence, "role-mark"), key=lambda mark: mark[1])
    assert [text for text, *_ in words] == SRC[:-1]
    places = [x for _, x, _ in words]
    assert all(b - a > 20 for a, b in pairwise(places))


def test_the_large_picture_follows_the_same_controls(spec: Spec) -> None:
    moved = part(with_controls(spec, stack="encoder", layer=1, head=2), LARGE)
    assert title(moved) == "Encoder self-attention, layer 1, head 2"


def test_the_weights_are_stored_once_and_the_drawing_has_no_holes(spec: Spec) -> None:
    written = json.dumps(spec)
    assert written.count('"cells"') == 3 * NUM_LAYERS * NUM_HEADS
    svg = vl_convert.vegalite_to_svg(spec, vl_version=PICTURE_VERSION)
    assert "undefined" not in svg
    assert "NaN" not in svg
    assert {"layer", "head", "attends (query)", "attended to (key)"} <= {
        text for text, *_ in texts(spec, "role-axis-title")
    }


def test_built_twice_is_the_same() -> None:
    first, second = (json.dumps(heads_explorer(some_attention()).to_dict()) for _ in range(2))
    assert first == second


def test_it_says_what_it_shows(spec: Spec) -> None:
    assert "every head" in spec["description"]
    assert " ".join(SRC[:-1]) in spec["description"]
    assert spec["description"].startswith("Three pictures")
    assert "removes the chosen head" not in spec["description"]
    assert "a control removes the chosen head" in removable()["description"]
    controls = [param for param in spec["params"] if "bind" in param]
    assert {param["name"] for param in controls} == {"stack", "chosen", "query"}
    (chosen,) = (param for param in controls if param["name"] == "chosen")
    assert {name: bound["max"] for name, bound in chosen["bind"].items()} == {
        "layer": NUM_LAYERS,
        "head": NUM_HEADS,
    }


def removable() -> Spec:
    heads = [
        Head(stack, layer, head)
        for stack in ("encoder", "decoder", "cross")
        for layer in range(1, NUM_LAYERS + 1)
        for head in range(1, NUM_HEADS + 1)
    ]
    said = {head: f"sans {head}" for head in heads}
    whole = dict.fromkeys(heads, "le chat")
    return heads_explorer(some_attention(), 1, {"by zero": said, "by its mean": whole}).to_dict()


@pytest.mark.parametrize("head", [FIRST, SECOND])
def test_a_removed_head_s_translation_is_written_in_another_colour(head: Head) -> None:
    at = {"stack": head.stack, "layer": head.layer, "head": head.head}
    for way, text, colour in (
        ("not", "le chat", "black"),
        ("by zero", f"sans {head}", TARGET),
        ("by its mean", "le chat", "black"),
    ):
        shown = part(with_controls(removable(), **at, remove=way), TRANSLATION)
        assert [said for said, *_ in texts(shown, "role-mark")] == [text]
        assert f'fill="{colour}"' in vl_convert.vegalite_to_svg(shown, vl_version=PICTURE_VERSION)
        wanted = "Translation with " if way == "not" else "Translation without "
        assert title(shown) == wanted + str(head) + ("" if way == "not" else f", {way}")


def test_a_click_on_a_small_head_chooses_it(spec: Spec) -> None:
    """Every rectangle knows its head: a click on one sets the values that the sliders move."""
    compiled = vl_convert.vegalite_to_vega(spec, vl_version=PICTURE_VERSION)
    signals = {signal["name"]: signal for signal in compiled["signals"]}
    for part_of in ("layer", "head"):
        signal = signals[f"chosen_{part_of}"]
        (event,) = signal["on"][0]["events"]
        assert (event["type"], event["marktype"]) == ("click", "rect")
        assert f'datum["{part_of}"]' in signal["on"][0]["update"]
        assert signal["bind"]["input"] == "range"
        assert signals[part_of]["update"] == f"chosen_{part_of}"


def test_many_heads_stand_above_the_large_picture() -> None:
    weights = [softmaxed(2, 1, 8, *shape) for shape in ((4, 4), (3, 3), (3, 4))]
    many = some_attention()._replace(maps=AttentionMaps(*weights))
    assert len(heads_explorer(many).to_dict()["vconcat"]) == 3
