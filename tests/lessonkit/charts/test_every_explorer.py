"""The door, and what every explorer keeps to: the same when built again, and said in words."""

import json
import re
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import pytest
import torch
import vl_convert
from matplotlib.figure import Figure

from lessonkit import charts
from lessonkit.analysis.beam_tree import grow_beam_tree
from lessonkit.analysis.heads import Head
from lessonkit.analysis.tracing import trace_translation
from lessonkit.charts.renderer import (
    PICTURE_VEGALITE_VERSION,
    VEGALITE_MIME_TYPE,
    to_mime_bundle,
)
from tests.helpers.scripted import Scripted
from tests.helpers.vega import some_attention
from transformer.models.translator import Translator
from transformer.support.errors import UserError

WOMAN = "The saleswoman is reading."
READINGS = {
    "beam": {"base": [10.0, 11.0], "a": [20.0, 21.0]},
    "greedy": {"base": [10.0, 11.0], "a": [1.0, 2.0]},
}
EXPLORERS = [name for name in charts.__all__ if name.endswith("_explorer")]
# The arguments of those that need some. An explorer that is not here is tried without any.
ARGUMENTS: dict[str, Callable[[Translator], tuple[Any, ...]]] = {
    "attention_explorer": lambda _: (some_attention(),),
    "heads_explorer": lambda _: (some_attention(), 1, {}),
    "sampling_explorer": lambda _: ([-0.5, -1.5, -1.75], ["le", "la", "un"]),
    "all_reduce_explorer": lambda _: ({"base": charts.TrainingStepCost(63 * 10**6, 10**13)},),
    "batch_explorer": lambda _: ({"random": [[7, 2, 5]], "sorted": [[2, 3]]},),
    "differences_explorer": lambda _: (READINGS, 1, (-10, 10)),
    "beam_explorer": lambda _: (
        grow_beam_tree(Scripted(), torch.tensor([[4, 3]]), beam_size=2, alpha=0.0),
        str,
    ),
    "trace_explorer": lambda shipped: (trace_translation(shipped),),
    "ablation_explorer": lambda shipped: (shipped, WOMAN),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "ablation_explorer": {
        "means": {Head("cross", 1, 1): torch.ones(32)},
        "other": "A dog.",
        "edges": False,
    },
}
UNTITLED = {"trace_explorer"}  # its rows bear their names, and need no title
MADE_UP = re.compile(r'"(view|param)_\w+"')  # names by Altair, in Altair 5.5 another each time
MAX_CHART_BYTES = 150_000  # of a stored chart


def explored(name: str, shipped: Translator) -> dict[str, Any]:
    """The specification of an explorer's chart, with the arguments that it needs."""
    explorer = getattr(charts, name)
    if name not in ARGUMENTS and requires_arguments(explorer):
        pytest.skip(f"{name} needs arguments: its own test gives them")
    arguments = ARGUMENTS[name](shipped) if name in ARGUMENTS else ()
    spec: dict[str, Any] = explorer(*arguments, **OPTIONS.get(name, {})).to_dict()
    return spec


def requires_arguments(function: Callable[..., Any]) -> bool:
    return any(each.default is each.empty for each in signature(function).parameters.values())


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


def parts(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A chart and all charts inside it."""
    yield spec
    for key in ("layer", "hconcat", "vconcat"):
        for part in spec.get(key, []):
            yield from parts(part)


@pytest.mark.parametrize("name", EXPLORERS)
def test_it_is_the_same_twice_and_says_what_it_shows(name: str, shipped: Translator) -> None:
    spec = explored(name, shipped)
    written = json.dumps(spec)
    charts.schedule_explorer().to_dict()  # another chart in between moves Altair's own counters
    assert json.dumps(explored(name, shipped)) == written
    assert not MADE_UP.search(written)
    assert len(written.encode()) < MAX_CHART_BYTES
    assert re.search(r"(\.|<eos>)$", spec["description"])
    titles = [part["title"] for part in parts(spec) if "title" in part]
    assert titles
    for title in titles:
        assert title["anchor"] == "start"
        assert "expr" in title["text"]  # the title follows the controls
    marks = [part["mark"] for part in parts(spec) if "mark" in part]
    assert all(mark.get("aria") is False for mark in marks if mark["type"] != "rule")
    for param in spec["params"]:
        if "input" in param.get("bind", {}):
            assert param["bind"]["name"].strip()
    svg = vl_convert.vegalite_to_svg(spec, vl_version=PICTURE_VEGALITE_VERSION)
    axes, axis_titles = (svg.count(f'role-axis-{kind}"') for kind in ("label", "title"))
    assert axis_titles == (0 if name in UNTITLED else axes)
    assert not re.search("undefined|NaN", svg)


def values_of(key: str, node: Any) -> Iterator[Any]:
    """Every value of a key, anywhere in a specification but in its data."""
    if isinstance(node, list):
        for each in node:
            yield from values_of(key, each)
    elif isinstance(node, dict):
        for name, each in node.items():
            if name == key:
                yield each
            if name not in ("values", "datasets"):
                yield from values_of(key, each)


@pytest.mark.parametrize("name", EXPLORERS)
def test_fields_have_no_dots_and_no_font_is_named(name: str, shipped: Translator) -> None:
    """A dot in a column's name draws an empty chart, and a missing font no text at all."""
    spec = explored(name, shipped)
    fields = [each for each in values_of("field", spec) if isinstance(each, str)]
    assert fields
    assert not [each for each in fields if "." in each or "[" in each]
    assert not list(values_of("font", to_mime_bundle(spec)[0][VEGALITE_MIME_TYPE]))


def test_values_that_no_control_holds_and_charts_too_large() -> None:
    for build, message in REFUSED.values():
        with pytest.raises(UserError, match=message):
            build()
