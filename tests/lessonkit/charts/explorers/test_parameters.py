"""The parameter explorer: what the browser adds up is what a real module has."""

import copy
from typing import Any

import pytest
import torch
from lessonkit.charts.explorers.parameters import PARTS, TIED, UNTIED, parameters_explorer

from tests.helpers.vega import texts, title, with_controls
from transformer.config import ModelConfig
from transformer.model import Transformer, expected_parameters
from transformer.support.errors import UserError

SIZES = (
    {"d_model": 512, "d_ff": 2048, "num_layers": 6, "vocab_size": 37_000},
    {"d_model": 64, "d_ff": 768, "num_layers": 5, "vocab_size": 11_000},
    {"d_model": 320, "d_ff": 256, "num_layers": 1, "vocab_size": 3_000},
)


def drawn(spec: dict[str, Any]) -> dict[str, float]:
    """The parameters of each part as the browser computes them."""
    spec = copy.deepcopy(spec)
    layer = spec["layer"][1]
    layer["transform"].append({"calculate": "datum.part + '|' + datum.millions", "as": "label"})
    layer["encoding"]["text"] = {"field": "label", "type": "nominal"}
    pairs = [text.split("|") for text, *_ in texts(spec, "role-mark") if text]
    return {part: 1e6 * float(millions) for part, millions in pairs}


def counted(model: Transformer) -> dict[str, float]:
    """The same, counted in a module by the names of its parameters."""
    found = dict.fromkeys(PARTS, 0)
    for name, parameter in model.named_parameters():
        if "norm" in name:
            part = "layer norms"
        elif "embedding" in name or name.startswith("output"):
            part = "embeddings and softmax"
        elif "cross_attention" in name:
            part = "cross-attention"
        elif "self_attention" in name:
            part = "self-attention"
        else:
            part = "feed-forward"
        found[part] += parameter.numel()
    return {part: float(number) for part, number in found.items()}


@pytest.mark.parametrize("choice", [TIED, UNTIED])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_browser_adds_up_what_a_module_has(sizes: dict[str, int], choice: str) -> None:
    spec = with_controls(parameters_explorer().to_dict(), embeddings=choice, **sizes)
    types, tied = sizes["vocab_size"], choice == TIED
    shape = {key: value for key, value in sizes.items() if key != "vocab_size"}
    config = ModelConfig(**shape, tie_source_target=tied, tie_softmax=tied)
    with torch.device("meta"):
        model = Transformer(config, src_vocab_size=types, tgt_vocab_size=types)
    assert drawn(spec) == pytest.approx(counted(model), abs=0.5)
    total = expected_parameters(config, types, types)
    assert title(spec) == f"Parameters: {total / 1e6:.1f} million"


def test_a_start_outside_its_slider_is_refused() -> None:
    with pytest.raises(UserError, match="num_layers is 13: the slider goes from 1 to 12"):
        parameters_explorer(num_layers=13)
