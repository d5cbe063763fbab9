"""The position explorer: what the browser computes is the package's table, and its products."""

import copy
import json
import math
import re
from typing import Any

import pytest
import torch
import vl_convert
from lessonkit.charts.explorers.positions import (
    BASES,
    HEIGHT,
    LAST,
    LENGTH,
    OFFSETS,
    WIDTHS,
    position_explorer,
)

from lessonkit.charts.renderer import PICTURE_VERSION
from tests.helpers.vega import as_text, texts, title, with_controls
from transformer.embeddings import sinusoidal_positions
from transformer.support.errors import UserError

TABLE, CURVE = 0, 1  # the two charts
CELLS, POINTS, NUMBER = 0, 0, -1  # layers of them
Spec = dict[str, Any]


@pytest.fixture(scope="module")
def spec() -> Spec:
    found: Spec = position_explorer().to_dict()
    return found


def computed(spec: Spec, chart: int, layer: int, *fields: str) -> list[list[float]]:
    """What the browser computes for one layer: the fields of each of its marks."""
    spec = copy.deepcopy(spec)
    spec["vconcat"] = [spec["vconcat"][chart]]
    layers = spec["vconcat"][0]["layer"]
    spec["vconcat"][0]["layer"] = [layers[layer]]
    as_text(layers[layer], " + ' ' + ".join(f"datum.{field}" for field in fields))
    for channel in ("x2", "y2"):
        layers[layer]["encoding"].pop(channel, None)
    return [[float(n) for n in text.split()] for text, *_ in texts(spec, "role-mark") if text]


def heading(spec: Spec) -> str:
    """What is written above the lower chart."""
    spec = copy.deepcopy(spec)
    spec["vconcat"] = [spec["vconcat"][CURVE]]
    spec["vconcat"][0]["layer"] = [spec["vconcat"][0]["layer"][NUMBER]]
    return texts(spec, "role-mark")[0][0]


@pytest.mark.slow
@pytest.mark.parametrize("d_model", [4, 16])
def test_table_is_the_package_s(spec: Spec, d_model: int) -> None:
    drawn = computed(
        with_controls(spec, d_model=d_model), TABLE, CELLS, "pos", "dimension", "value"
    )
    table = torch.full((LENGTH, d_model), math.nan)
    for pos, dimension, value in drawn:
        table[int(pos), int(dimension)] = value
    assert len(drawn) == table.numel()
    torch.testing.assert_close(table, sinusoidal_positions(LENGTH, d_model))


@pytest.mark.slow
def test_another_base_turns_faster(spec: Spec) -> None:
    moved = with_controls(spec, d_model=8, base=100)
    drawn = computed(moved, TABLE, CELLS, "pos", "dimension", "value")
    for pos, dimension, value in drawn:
        wave = math.cos if dimension % 2 else math.sin
        angle = pos / 100 ** (dimension // 2 / 4)  # the exponents are 0, 1/4, 1/2, 3/4
        assert value == pytest.approx(wave(angle), abs=1e-12)


@pytest.mark.parametrize(("position", "d_model"), [(0, 4), (23, 16), (LAST, 64)])
def test_products_are_the_package_s(spec: Spec, position: int, d_model: int) -> None:
    moved = with_controls(spec, position=position, d_model=d_model)
    table = sinusoidal_positions(LENGTH, d_model).double()
    expected = table @ table[position]
    drawn = computed(moved, CURVE, POINTS, "pos", "product", "share")
    assert sorted(pos for pos, *_ in drawn) == list(range(LENGTH))
    for pos, product, share in drawn:
        assert product == pytest.approx(float(expected[int(pos)]), abs=1e-5 * d_model)
        assert share == pytest.approx(product / (d_model / 2), abs=1e-12)


def test_marked_product_by_hand(spec: Spec) -> None:
    """Two pairs: cos(3) of the first, cos(3/100) of the second; the position is no part of it."""
    for position in (0, 7, 41):
        moved = with_controls(spec, d_model=4, position=position, offset=3)
        number = math.cos(3) + math.cos(3 / 100)
        words = f"PE({position}) · PE({position + 3}) = {number:.2f}, of 2 at most"
        assert heading(moved) == words
        ((pos, product),) = computed(moved, CURVE, NUMBER, "pos", "product")
        assert (pos, product) == (position + 3, pytest.approx(number, abs=1e-12))


def test_both_positions_are_marked_in_both_charts(spec: Spec) -> None:
    moved = with_controls(spec, position=11, offset=13)
    for chart in (TABLE, CURVE):
        assert computed(moved, chart, 1, "pos") == [[11]]
        assert computed(moved, chart, 2, "pos") == [[24]]
    assert title(moved) == (
        "Sinusoidal positions, d_model 64: position 11 (solid), position 24 (dashed)"
    )


def test_sizes_fit_one_another() -> None:
    assert LAST + OFFSETS == LENGTH - 1  # the second position stays in the table
    assert all(HEIGHT % width == 0 == width % 2 for width in WIDTHS)


def test_reaches_what_lesson_03_looks_at(spec: Spec) -> None:
    """With two waves, position 64 is more like 20 than 20's own neighbour is."""
    far = heading(with_controls(spec, d_model=4, position=20, offset=64 - 20))
    near = heading(with_controls(spec, d_model=4, position=20, offset=1))
    assert (far.split(",")[0], near.split(",")[0]) == (
        "PE(20) · PE(64) = 1.90",
        "PE(20) · PE(21) = 1.54",
    )
    assert position_explorer(position=20, offset=44).to_dict()


def test_says_what_it_shows_and_how_it_is_moved(spec: Spec) -> None:
    assert spec["name"] == "positions"
    assert "width 64 and base 10,000" in spec["description"]
    assert "Controls change position, offset, d_model and base." in spec["description"]
    for chart in spec["vconcat"]:
        assert all(layer["mark"]["aria"] is False for layer in chart["layer"])
    controls = [param for param in spec["params"] if "bind" in param]
    assert [param["name"] for param in controls] == ["position", "offset", "d_model", "base"]
    assert all(param["bind"]["name"].strip() == param["name"] for param in controls)
    svg = vl_convert.vegalite_to_svg(spec, vl_version=PICTURE_VERSION)
    assert len(re.findall(r'class="mark-text role-axis-title"', svg)) == 4
    assert not re.search("undefined|NaN", svg)


def test_built_twice_is_the_same(spec: Spec) -> None:
    again = json.dumps(position_explorer().to_dict())
    assert again == json.dumps(spec)
    assert not re.search(r'"(view|param)_\w+"', again)  # no name that Altair made up
    assert len(again) < 10_000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"position": 51}, "position is 51: the slider goes from 0 to 50"),
        ({"offset": -1}, "offset is -1: the slider goes from 0 to 49"),
        ({"d_model": 512}, "d_model is 512: give one of"),
        ({"base": 7}, re.escape(f"base is 7: give one of {BASES}")),
    ],
)
def test_refuses_what_the_controls_do_not_reach(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        position_explorer(**wrong)
