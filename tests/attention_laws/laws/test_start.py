import copy

import pytest
import torch
from torch import nn

from attention_laws import Verdict
from attention_laws.laws import start
from tests.attention_laws.trying import small, tried
from transformer.model import Transformer

NAMES = [law.name for law in start.LAWS]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pre_norm", [False, True])
def test_kept_by_a_sound_model(name: str, pre_norm: bool) -> None:
    assert tried(small(num_layers=2, pre_norm=pre_norm), name).verdict == Verdict.KEPT


@pytest.mark.parametrize("name", NAMES)
def test_not_tried_on_a_model_that_is_said_to_be_trained(name: str) -> None:
    line = tried(small().replace(fresh=False), name)
    assert (line.verdict, line.seen) == (Verdict.NOT_TRIED, "the adapter says that it is trained")


def test_that_a_model_is_trained_is_seen_by_its_norms() -> None:
    adapter = small().replace(fresh=None)
    assert tried(adapter, "starts_unsure").verdict == Verdict.KEPT
    assert adapter.train_step is not None
    assert adapter.make_batch is not None
    adapter.train_step(*adapter.make_batch([[5, 6]], [[7, 8]]))
    line = tried(adapter, "starts_unsure")
    assert line.verdict == Verdict.NOT_TRIED
    assert "norms have learned" in line.seen


def test_nothing_is_said_of_a_model_whose_norms_have_no_scale() -> None:
    adapter = small().replace(fresh=None)
    assert adapter.module is not None
    for part in adapter.module.modules():
        if isinstance(part, nn.LayerNorm):
            part.elementwise_affine = False
            part.weight = part.bias = None
    line = tried(adapter, "starts_unsure")
    assert line.verdict == Verdict.NOT_TRIED
    assert "say fresh=True" in line.seen


@pytest.mark.parametrize("name", ["starts_unsure", "scores_near_one", "words_and_positions"])
def test_embeddings_of_standard_deviation_one_are_warned_of(name: str) -> None:
    adapter = small(d_model=64)
    assert isinstance(adapter.module, Transformer)
    for table in (adapter.module.src_embedding, adapter.module.tgt_embedding):
        nn.init.normal_(table.token.weight)
    assert tried(adapter, name).verdict == Verdict.WARNED


def test_embeddings_that_are_not_scaled_are_warned_of() -> None:
    adapter = small(d_model=32)
    assert isinstance(adapter.module, Transformer)
    adapter.module.src_embedding.scale = 1.0
    assert tried(adapter, "words_and_positions").verdict == Verdict.WARNED


def test_scores_that_are_not_divided_are_warned_of() -> None:
    adapter = small(d_model=64, num_heads=4)
    assert isinstance(adapter.module, Transformer)
    attention = adapter.module.encoder.layers[0].self_attention
    with torch.no_grad():
        attention.query_projection.weight.mul_(16**0.5)
    line = tried(adapter, "scores_near_one")
    assert line.verdict == Verdict.WARNED
    assert line.seen.startswith("encoder 0: ")


def test_scores_are_not_tried_without_attention_weights() -> None:
    assert tried(small().replace(attention=None), "scores_near_one").verdict == Verdict.NOT_TRIED


def test_a_model_without_added_positions_is_not_compared_with_them() -> None:
    adapter = small()
    assert isinstance(adapter.module, Transformer)
    adapter.module.src_embedding.sinusoids.zero_()
    line = tried(adapter, "words_and_positions")
    assert line.verdict == Verdict.NOT_TRIED
    assert "no positions are added" in line.seen


def test_a_layer_that_is_a_copy_is_found() -> None:
    adapter = small(num_layers=3)
    assert isinstance(adapter.module, Transformer)
    layers = adapter.module.decoder.layers
    layers[2] = copy.deepcopy(layers[1])
    line = tried(adapter, "layers_start_apart")
    assert line.verdict == Verdict.BROKEN
    assert "decoder.layers" in line.seen
    assert "layers 1 and 2" in line.seen


def test_a_layer_that_is_used_twice_is_no_copy() -> None:
    adapter = small(num_layers=2)
    assert isinstance(adapter.module, Transformer)
    layers = adapter.module.encoder.layers
    layers[1] = layers[0]
    assert tried(adapter, "layers_start_apart").verdict == Verdict.KEPT


def test_one_layer_is_compared_with_none() -> None:
    assert tried(small(), "layers_start_apart").verdict == Verdict.NOT_TRIED


def test_torchs_own_layers_start_apart() -> None:
    """Its biases are copies of each other; its matrices are drawn again."""
    from attention_laws.adapter import Adapter

    torch.manual_seed(0)
    stacks = nn.Transformer(16, 2, 2, 2, 32, batch_first=True)
    table = nn.Embedding(11, 16)
    adapter = Adapter(
        forward=lambda src, tgt_in: stacks(table(src), table(tgt_in)) @ table.weight.T,
        src_vocab_size=11,
        tgt_vocab_size=11,
        module=stacks,
        fresh=True,
    )
    assert tried(adapter, "layers_start_apart").verdict == Verdict.KEPT
