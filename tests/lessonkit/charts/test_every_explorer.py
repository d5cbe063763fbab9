"""The door, and what every explorer keeps to: the same when built again, and said in words."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import vl_convert
from matplotlib.figure import Figure

from lessonkit import charts
from lessonkit.analysis.beam_tree import grow_beam_tree
from lessonkit.analysis.heads import Head
from lessonkit.analysis.tracing import trace
from lessonkit.charts.renderer import PICTURE_VERSION
from tests.helpers.scripted import Scripted
from tests.helpers.vega import some_attention
from transformer.models.translator import Translator
from transformer.support.errors import UserError

WOMAN = "The saleswoman is reading."
READINGS = {
    "beam": {"base": [10.0, 11.0], "a": [20.0, 21.0]},
    "greedy": {"base": [10.0, 11.0], "a": [1.0, 2.0]},
}
CHARTS: dict[str, Callable[[Translator], Any]] = {
    "schedule": lambda _: charts.schedule_explorer(),
    "chance": lambda _: charts.power_explorer(),
    "smoothing": lambda _: charts.label_smoothing_explorer(),
    "attention": lambda _: charts.attention_explorer(some_attention()),
    "heads": lambda _: charts.heads_explorer(some_attention(), 1, {}),
    "sampling": lambda _: charts.sampling_explorer([-0.5, -1.5, -1.75], ["le", "la", "un"]),
    "roofline": lambda _: charts.roofline_explorer(),
    "exchange": lambda _: charts.all_reduce_explorer({"base": charts.StepCost(63 * 10**6, 10**13)}),
    "batches": lambda _: charts.batch_explorer({"random": [[7, 2, 5]], "sorted": [[2, 3]]}),
    "costs": lambda _: charts.layer_costs_explorer(),
    "positions": lambda _: charts.position_explorer(),
    "readings": lambda _: charts.differences_explorer(READINGS, worth=1, domain=(-10, 10)),
    "beam": lambda _: charts.beam_explorer(
        grow_beam_tree(Scripted(), torch.tensor([[4, 3]]), beam_size=2, alpha=0.0), str
    ),
    "trace": lambda shipped: charts.trace_explorer(trace(shipped)),
    "ablation": lambda shipped: charts.ablation_explorer(
        shipped, WOMAN, means={Head("cross", 1, 1): torch.ones(32)}, other="A dog.", edges=False
    ),
}
MADE_UP = re.compile(r'"(view|param)_\w+"')  # names by Altair, in Altair 5.5 another each time
MAX_CHART_BYTES = {"trace": 150_000, "ablation": 30_000}  # bytes of a stored chart; else 20,000
REFUSED = {
    "size": (lambda: charts.label_smoothing_explorer(11), "unknown vocab_size '11'.*10, 100"),
    "width": (lambda: charts.layer_costs_explorer(d=100), "unknown d '100'.*32, 512, 64"),
    "runs": (lambda: charts.power_explorer(runs=0), "runs is 0: the slider goes from 1 to 20"),
    "tokens": (lambda: charts.roofline_explorer(log2_tokens=16), "the slider goes from 0 to 15"),
    "batches": (lambda: charts.batch_explorer({"a": [[2] * 5001]}), "5,001 sentences"),
    "texts": (lambda: charts.sampling_explorer([-1.0, -2.0], ["le"]), "1 texts for 2 bars: give 2"),
    "no path": (
        lambda: charts.draw_attention_paths(["alone"], Figure().add_subplot()),
        "1 words have no path",
    ),
    "variants": (
        lambda: charts.differences_explorer(READINGS | {"c": {"base": [1.0]}}, 5, (-1, 1)),
        "'c' has other variants",
    ),
    "one run": (
        lambda: charts.differences_explorer({"beam": {"base": [1.0, 2.0], "a": [1.0]}}, 5, (-1, 1)),
        "give 2 or more",
    ),
}


def marks(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    parts = [part for key in ("layer", "hconcat", "vconcat") for part in spec.get(key, [])]
    for part in parts:
        yield from marks(part)
    if "mark" in spec:
        yield spec["mark"]


@pytest.mark.parametrize("kind", CHARTS)
def test_it_is_the_same_twice_and_says_what_it_shows(kind: str, shipped: Translator) -> None:
    spec = CHARTS[kind](shipped).to_dict()
    written = json.dumps(spec)
    charts.schedule_explorer().to_dict()  # another chart in between moves Altair's own counters
    assert json.dumps(CHARTS[kind](shipped).to_dict()) == written
    assert not MADE_UP.search(written)
    assert len(written.encode()) < MAX_CHART_BYTES.get(kind, 20_000)
    assert re.search(r"(\.|<eos>)$", spec["description"])
    for part in [spec] if "title" in spec else spec["vconcat"][1:]:
        assert part["title"]["anchor"] == "start"
        assert "expr" in part["title"]["text"]  # the title follows the controls
    assert kind == "heads" or spec["name"]
    assert all(mark.get("aria") is False for mark in marks(spec) if mark["type"] != "rule")
    for param in spec["params"] if kind != "ablation" else []:
        if "input" in param.get("bind", {}):
            assert param["bind"]["name"].strip() == param["name"]
    svg = vl_convert.vegalite_to_svg(spec, vl_version=PICTURE_VERSION)
    titles = len(re.findall(r'class="mark-text role-axis-title"', svg))
    assert titles == {"positions": 4, "heads": 4, "ablation": 1, "trace": 0}.get(kind, 2)
    assert not re.search("undefined|NaN", svg)


def test_values_that_no_control_holds_and_charts_too_large() -> None:
    for build, message in REFUSED.values():
        with pytest.raises(UserError, match=message):
            build()
