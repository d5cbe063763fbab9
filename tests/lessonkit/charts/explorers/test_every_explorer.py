"""What every explorer keeps to: it is the same when built again, and says what it shows."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import vl_convert
from lessonkit.charts.explorers.attention import attention_explorer
from lessonkit.charts.explorers.batches import batch_explorer
from lessonkit.charts.explorers.exchange import Shared, exchange_explorer
from lessonkit.charts.explorers.masks import mask_explorer
from lessonkit.charts.explorers.roofline import roofline_explorer
from lessonkit.charts.explorers.sampling import sampling_explorer
from lessonkit.charts.explorers.schedule import schedule_explorer
from lessonkit.charts.explorers.significance import chance_explorer
from lessonkit.charts.explorers.smoothing import (
    label_smoothing_explorer,
    smoothed_targets_explorer,
)

from lessonkit.charts.renderer import PICTURE_VERSION
from tests.helpers.vega import SRC, TGT_IN, some_attention, title

CHARTS: dict[str, Callable[[], Any]] = {
    "schedule": schedule_explorer,
    "chance": chance_explorer,
    "smoothing": label_smoothing_explorer,
    "targets": lambda: smoothed_targets_explorer(["<pad>", "le", "chat"], "chat"),
    "masks": lambda: mask_explorer(SRC, TGT_IN),
    "attention": lambda: attention_explorer(some_attention()),
    "sampling": lambda: sampling_explorer([-0.5, -1.5, -1.75], ["le", "la", "un"]),
    "roofline": roofline_explorer,
    "exchange": lambda: exchange_explorer({"base": Shared(63_000_000, 9_500_000_000_000)}),
    "batches": lambda: batch_explorer({"random": [[7, 2, 5]], "sorted": [[2, 3]]}),
}


@pytest.mark.parametrize("build", CHARTS.values(), ids=CHARTS)
def test_built_twice_is_the_same(build: Callable[[], Any]) -> None:
    first = json.dumps(build().to_dict())
    schedule_explorer().to_dict()  # another chart in between moves Altair's own counters
    assert json.dumps(build().to_dict()) == first
    assert not re.search(r'"(view|param)_\w+"', first)  # no name that Altair made up


@pytest.mark.parametrize("build", CHARTS.values(), ids=CHARTS)
def test_says_what_it_shows(build: Callable[[], Any]) -> None:
    spec = build().to_dict()
    assert spec["name"]
    assert spec["description"].endswith((".", "<eos>"))
    assert "expr" in spec["title"]["text"]  # the title follows the controls
    assert title(spec)
    for layer in spec.get("layer", [spec]):
        assert layer["mark"]["aria"] is False
    controls = [param for param in spec["params"] if "bind" in param]
    assert all(param["bind"]["name"].strip() == param["name"] for param in controls)


@pytest.mark.parametrize("build", CHARTS.values(), ids=CHARTS)
def test_axes_have_titles(build: Callable[[], Any]) -> None:
    svg = vl_convert.vegalite_to_svg(build().to_dict(), vl_version=PICTURE_VERSION)
    assert len(re.findall(r'class="mark-text role-axis-title"', svg)) == 2
    assert "undefined" not in svg
    assert "NaN" not in svg
