"""An explorer drawn by Vega as the browser draws it: controls moved, numbers and texts read.

A mark is described by its numbers, or exchanged for them as text, the controls are set, the chart
is drawn, and the numbers are read out of the drawing. Descriptions, which screen readers say, are
drawn much sooner than text; text has a place too.
"""

import copy
import re
from typing import Any
from xml.etree import ElementTree

import torch
import vl_convert
from torch import Tensor

from lessonkit.charts.renderer import PICTURE_VEGALITE_VERSION
from transformer.model import AttentionMaps
from transformer.models.translator import TranslationWithAttention

SRC = ["▁the", "▁cat", "▁the", "<eos>", "<pad>"]
SAID = ["▁le", "▁chat", "<eos>"]
NUM_LAYERS, NUM_HEADS = 2, 3
KINDS = ("layer", "vconcat", "hconcat")  # of charts that hold others
Spec = dict[str, Any]


def softmaxed(*shape: int, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    return (3 * torch.randn(*shape)).softmax(-1)


def some_attention() -> TranslationWithAttention:
    src_len, tgt_len = len(SRC) - 1, len(SAID)
    maps = AttentionMaps(
        encoder=softmaxed(NUM_LAYERS, 1, NUM_HEADS, src_len, src_len, seed=1),
        decoder=softmaxed(NUM_LAYERS, 1, NUM_HEADS, tgt_len, tgt_len, seed=2),
        cross=softmaxed(NUM_LAYERS, 1, NUM_HEADS, tgt_len, src_len, seed=3),
    )
    return TranslationWithAttention("le chat", SRC[:-1], SAID, maps)


def with_controls(spec: Spec, **values: object) -> Spec:
    """Move controls, as a reader would."""
    spec = copy.deepcopy(spec)
    params = {param["name"]: param for param in spec["params"]}
    for name, value in values.items():
        if "expr" in params[name]:  # a value of a point selection, which has its control
            (chosen,) = (param for param in spec["params"] if name in param.get("bind", {}))
            chosen["value"][0][name] = value
            continue
        assert "bind" in params[name]
        params[name]["value"] = value
    return spec


def part(spec: Spec, *path: int) -> Spec:
    """One picture of a chart, or one layer of it, as a chart of its own."""
    made, inner = dict(spec), spec
    for index in path:
        inner = next(inner[kind] for kind in KINDS if kind in inner)[index]
        made |= inner
    for kind in KINDS:
        if kind not in inner:
            made.pop(kind, None)
    made.pop("resolve", None)
    made = copy.deepcopy(made)
    for chosen in [param for param in made["params"] if "select" in param]:
        made["params"].remove(chosen)  # a click and its values: they become plain ones
        for param in made["params"]:
            if param["name"] in chosen["value"][0]:
                del param["expr"]
                param["value"] = chosen["value"][0][param["name"]]
    return made


def values(spec: Spec, path: tuple[int, ...], *fields: str) -> list[list[str]]:
    """What the browser computes for one layer: expressions over the data of each of its marks."""
    layer = part(spec, *path)
    for channel in ("x2", "y2"):
        layer["encoding"].pop(channel, None)
    as_text(layer, " + '|' + ".join(f"({field})" for field in fields))
    return [text.split("|") for text, *_ in texts(layer, "role-mark") if text]


def as_text(layer: Spec, label: str) -> None:
    """Exchange a layer's mark for the text of a Vega expression over its data."""
    layer["mark"] = {"type": "text"}
    layer.setdefault("transform", []).append({"calculate": label, "as": "label"})
    layer["encoding"]["text"] = {"field": "label", "type": "nominal"}
    layer["encoding"].pop("color", None)
    layer["encoding"].pop("tooltip", None)


def descriptions(layer: Spec, label: str) -> list[str]:
    """The text of a Vega expression over its data for each mark of a layer, as its description."""
    layer["mark"]["aria"] = True
    layer["transform"].append({"calculate": label, "as": "label"})
    layer["encoding"]["description"] = {"field": "label", "type": "nominal"}
    marks = drawing(layer).iter("{http://www.w3.org/2000/svg}path")
    return [mark.attrib["aria-label"] for mark in marks if "aria-label" in mark.attrib]


def drawing(spec: Spec) -> ElementTree.Element:
    """The chart as SVG."""
    return ElementTree.fromstring(
        vl_convert.vegalite_to_svg(spec, vl_version=PICTURE_VEGALITE_VERSION)
    )


def texts(spec: Spec, role: str) -> list[tuple[str, float, float]]:
    """Every text of a role in the drawing, with its place (x, y)."""
    found = []
    for group in drawing(spec).iter("{http://www.w3.org/2000/svg}g"):
        if role in group.get("class", "").split():
            for text in group.iter("{http://www.w3.org/2000/svg}text"):
                place = re.match(r"translate\(([-\d.e]+),([-\d.e]+)\)", text.get("transform", ""))
                assert place
                found.append((text.text or "", float(place[1]), float(place[2])))
    return found


def title(spec: Spec) -> str:
    return texts(spec, "role-title-text")[0][0]


def numbers(spec: Spec, path: tuple[int, ...], *fields: str) -> list[tuple[float, ...]]:
    """The same, of fields that are numbers."""
    found = values(spec, path, *(f"datum.{field}" for field in fields))
    return [tuple(map(float, row)) for row in found]


def points(spec: Spec, layer: int, x: str, y: str) -> list[tuple[float, ...]]:
    """What the browser computes for one layer of a chart of curves."""
    return numbers(spec, (layer,), x, y)
