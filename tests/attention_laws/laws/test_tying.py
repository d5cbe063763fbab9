from typing import Any

import pytest
from torch import nn

from attention_laws import Adapter, Verdict
from tests.attention_laws.trying import small, tried
from transformer.model import Transformer


def model_of(adapter: Adapter) -> Transformer:
    assert isinstance(adapter.module, Transformer)
    return adapter.module


@pytest.mark.parametrize("name", ["tied_as_declared", "own_projections"])
@pytest.mark.parametrize("sides", [False, True])
def test_kept_by_a_sound_model(name: str, sides: bool) -> None:
    adapter = small(tie_source_target=sides, src_vocab_size=29)
    assert tried(adapter, name).verdict == Verdict.KEPT
    line = tried(adapter.replace(module=None), name)
    assert (line.verdict, line.seen) == (Verdict.NOT_TRIED, "the adapter has no module")


def test_a_copy_is_not_tied() -> None:
    adapter = small(tie_softmax=True)
    model = model_of(adapter)
    model.output.weight = nn.Parameter(model.output.weight.detach().clone())
    line = tried(adapter, "tied_as_declared")
    assert line.verdict == Verdict.BROKEN
    assert "a copy, equal only now" in line.seen
    nn.init.normal_(model.output.weight)
    assert "another matrix" in tried(adapter, "tied_as_declared").seen


def test_what_is_tied_and_not_declared_is_told() -> None:
    line = tried(small(tie_softmax=True).replace(declared_tied=()), "tied_as_declared")
    assert line.verdict == Verdict.NOT_TRIED
    assert "tgt_embedding.token.weight=output.weight" in line.seen


def test_one_projection_for_all_is_warned_of() -> None:
    adapter = small()
    attention: Any = model_of(adapter).encoder.layers[0].self_attention
    attention.key_projection = attention.query_projection
    line = tried(adapter, "own_projections")
    assert line.verdict == Verdict.WARNED
    assert "encoder.layers.0.self_attention.query_projection.weight" in line.seen
    assert "key_projection" in line.seen


def test_a_layer_used_again_shares_no_projection() -> None:
    adapter = small(num_layers=2)
    layers = model_of(adapter).encoder.layers
    layers[1] = layers[0]
    assert tried(adapter, "own_projections").verdict == Verdict.KEPT
