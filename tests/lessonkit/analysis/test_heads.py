"""Heads: their names, what is measured of them, and the table that joins role and cost."""

import math

import pytest
import torch

from lessonkit.analysis.heads import (
    STACKS,
    Head,
    all_heads,
    distance,
    entropy,
    head_figures,
    head_table,
)
from transformer.data import corpora
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError


def test_every_head_is_named_once(model: Transformer) -> None:
    named = all_heads(model)
    assert len(named) == len(set(named)) == 3 * 3 * 2
    assert named[0] == Head("encoder", 1, 1)
    assert named[-1] == Head("cross", 3, 2)
    assert str(Head("cross", 2, 3)) == "cross 2.3"


def test_entropy_and_distance_by_hand_and_as_torch_has_it() -> None:
    weights = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.25] * 4, [0.5, 0.5, 0.0, 0.0]])
    torch.testing.assert_close(entropy(weights), torch.tensor([0.0, math.log(4), math.log(2)]))
    weights = torch.randn(2, 3, 5, 7, generator=torch.Generator().manual_seed(1)).softmax(-1)
    oracle = torch.distributions.Categorical(probs=weights).entropy()
    torch.testing.assert_close(entropy(weights), oracle)
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    # Query 2 is 2, 1 and 0 away from the keys; query 3 is one away from the last.
    torch.testing.assert_close(distance(weights), torch.tensor([0.0, 1.0, 1.25, 1.0]))


def test_the_figures_are_means_over_tokens(tiny: Translator) -> None:
    sentences = list(corpora.load("embedded", "test", "en", "fr").src[:3])
    figures = head_figures(tiny, sentences)
    assert set(figures) == set(STACKS)
    maps = [tiny.attention(sentence, beam_size=1).maps for sentence in sentences]
    config = tiny.recipe.model
    for stack in STACKS:
        rows = [getattr(each, stack)[0, 0, 1] for each in maps]
        for measure, found in (
            (entropy, figures[stack].entropy),
            (distance, figures[stack].distance),
        ):
            assert found.shape == (config.num_layers, config.num_heads)
            torch.testing.assert_close(found[0, 1], torch.cat([measure(r) for r in rows]).mean())
    with pytest.raises(UserError, match="give at least one"):
        head_figures(tiny, [])
    with pytest.raises(UserError, match="give some words"):
        head_figures(tiny, ["The cat sleeps.", " "])


def test_the_table_joins_roles_and_costs() -> None:
    one = {"role": "a", "score": 0.7, "even": 0.1, "cases": 90, "named": True}
    removed = {"beam": 93.0, "low": -4.0, "high": -2.5}
    removals = {
        "model": "m",
        "figures": {"whole": {"beam": 96.2}, "mean": {"heads": {"cross 1.1": removed}}},
    }
    (row,) = head_table({"model": "m", "figures": {"cross 1.1": one}}, removals)
    assert row == ("cross 1.1", "a", 0.7, 0.1, 90, True, 3.2, 2.5, 4.0)
    with pytest.raises(UserError, match="roles of other beside removals of m"):
        head_table({"model": "other", "figures": {}}, removals)
