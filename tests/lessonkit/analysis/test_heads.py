"""Heads: what is measured of them, and that removing one takes away exactly that one."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from lessonkit.analysis.heads import (
    STACKS,
    Head,
    all_heads,
    distance,
    entropy,
    head_figures,
    without_heads,
)
from transformer.config import ModelConfig
from transformer.data import corpora
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

LAYERS, HEADS = 2, 3
SRC, TGT_IN = torch.tensor([[5, 6, 7, 8, 3]]), torch.tensor([[2, 9, 10, 11]])


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    config = ModelConfig(
        d_model=12, d_ff=7, num_heads=HEADS, num_layers=LAYERS, d_k=5, d_v=7, dropout=0.0
    )
    return Transformer(config, src_vocab_size=13, tgt_vocab_size=13).eval()


@torch.no_grad()
def logits(model: Transformer) -> Tensor:
    return model(SRC, TGT_IN)


def test_every_head_is_named_once(model: Transformer) -> None:
    named = all_heads(model)
    assert len(named) == len(set(named)) == 3 * LAYERS * HEADS
    assert named[0] == Head("encoder", 1, 1)
    assert named[-1] == Head("cross", LAYERS, HEADS)
    assert str(Head("cross", 2, 3)) == "cross 2.3"


@pytest.mark.parametrize("stack", STACKS)
def test_a_head_removed_changes_the_output_and_comes_back(model: Transformer, stack: str) -> None:
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    whole = logits(model)
    seen = []
    for head in range(1, HEADS + 1):
        with without_heads(model, [Head(stack, 1, head)]):
            seen.append(logits(model))
    for without in seen:
        assert not torch.allclose(without, whole)
    assert not torch.allclose(seen[0], seen[1])
    torch.testing.assert_close(logits(model), whole, rtol=0, atol=0)
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(weight, before[name], rtol=0, atol=0)


def test_removing_is_leaving_its_output_out_of_the_sum(model: Transformer) -> None:
    """The oracle: the attention computed head by head, that of the removed one not added."""
    layer = model.encoder.layers[1]
    assert layer.self_attention is not None
    attention, hidden = layer.self_attention, torch.randn(1, 5, 12)
    d_k, d_v = 5, 7

    def by_hand(removed: int) -> Tensor:
        parts = []
        for head in range(HEADS):
            if head + 1 == removed:
                continue
            keys, values = slice(head * d_k, (head + 1) * d_k), slice(head * d_v, (head + 1) * d_v)
            query = hidden @ attention.query_projection.weight[keys].T
            key = hidden @ attention.key_projection.weight[keys].T
            value = hidden @ attention.value_projection.weight[values].T
            weights = (query @ key.mT / math.sqrt(d_k)).softmax(-1)
            parts.append(weights @ value @ attention.output_projection.weight[:, values].T)
        return torch.stack(parts).sum(0)

    with torch.no_grad(), without_heads(model, [Head("encoder", 2, 2)]):
        torch.testing.assert_close(attention(hidden)[0], by_hand(removed=2))
    with torch.no_grad():
        torch.testing.assert_close(attention(hidden)[0], by_hand(removed=0))


def test_without_any_cross_attention_the_source_does_not_matter(model: Transformer) -> None:
    cross = [head for head in all_heads(model) if head.stack == "cross"]
    other = torch.tensor([[12, 4, 4, 9, 3]])
    with torch.no_grad(), without_heads(model, cross):
        torch.testing.assert_close(model(SRC, TGT_IN), model(other, TGT_IN))
    with torch.no_grad():
        assert not torch.allclose(model(SRC, TGT_IN), model(other, TGT_IN))


def test_the_heads_come_back_after_an_error(model: Transformer) -> None:
    whole = logits(model)
    with pytest.raises(KeyError), without_heads(model, [Head("cross", 1, 1)] * 2):
        raise KeyError
    torch.testing.assert_close(logits(model), whole, rtol=0, atol=0)


@pytest.mark.parametrize(
    "head", [Head("cross", 3, 1), Head("cross", 1, 4), Head("cross", 0, 1), Head("middle", 1, 1)]
)
def test_a_head_that_is_not_there_is_refused(model: Transformer, head: Head) -> None:
    whole = logits(model)
    with (
        pytest.raises(UserError, match="2 layers and 3 heads"),
        without_heads(model, [Head("encoder", 1, 1), head]),
    ):
        pass
    torch.testing.assert_close(logits(model), whole, rtol=0, atol=0)


def test_entropy_by_hand() -> None:
    weights = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.25] * 4, [0.5, 0.5, 0.0, 0.0]])
    expected = torch.tensor([0.0, math.log(4), math.log(2)])
    torch.testing.assert_close(entropy(weights), expected)


def test_entropy_is_that_of_a_distribution() -> None:
    weights = torch.randn(2, 3, 5, 7, generator=torch.Generator().manual_seed(1)).softmax(-1)
    oracle = torch.distributions.Categorical(probs=weights).entropy()
    torch.testing.assert_close(entropy(weights), oracle)


def test_distance_by_hand() -> None:
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    # Query 2 is 2, 1 and 0 away from the keys; query 3 is one away from the last.
    torch.testing.assert_close(distance(weights), torch.tensor([0.0, 1.0, 1.25, 1.0]))


def test_the_figures_are_means_over_tokens(tiny_folder: Path) -> None:
    translator = Translator.load(tiny_folder)
    sentences = list(corpora.load("embedded", "test", "en", "fr").src[:3])
    figures = head_figures(translator, sentences)
    assert set(figures) == set(STACKS)
    maps = [translator.attention(sentence, beam_size=1).maps for sentence in sentences]
    config = translator.recipe.model
    for stack in STACKS:
        rows = [getattr(each, stack)[:, 0] for each in maps]
        for head in range(config.num_heads):
            tokens = torch.cat([entropy(each[0, head]) for each in rows])
            torch.testing.assert_close(figures[stack].entropy[0, head], tokens.mean())
            tokens = torch.cat([distance(each[0, head]) for each in rows])
            torch.testing.assert_close(figures[stack].distance[0, head], tokens.mean())
        assert figures[stack].entropy.shape == (config.num_layers, config.num_heads)


def test_figures_need_sentences(tiny_folder: Path) -> None:
    translator = Translator.load(tiny_folder)
    with pytest.raises(UserError, match="give at least one"):
        head_figures(translator, [])
    with pytest.raises(UserError, match="give some words"):
        head_figures(translator, ["The cat sleeps.", " "])
