"""What an exercise forbids is noticed while an answer runs, and only there."""

import sys

import pytest
import torch

from lessonkit.exercises.rules import BrokenRuleError, SmallTensors, without
from transformer import masks


def test_a_large_tensor_is_refused_and_a_view_weighs_nothing():
    with SmallTensors(largest=7, together=100):
        made = torch.ones(7)
        made[None].expand(50, -1)
        made.view(7, 1).T.chunk(7, dim=1)
        with pytest.raises(BrokenRuleError, match="it makes a tensor of 8 numbers at once"):
            torch.cat([made, made[:1]])
    torch.ones(99)


def test_many_small_tensors_are_refused_where_they_are_held():
    with SmallTensors(largest=5, together=30):
        for _ in range(50):
            torch.ones(5)  # given up at once
        held = [torch.ones(5) for _ in range(6)]
        with pytest.raises(BrokenRuleError, match="it holds 35 numbers in tensors at once"):
            held.append(torch.ones(5))


def test_calls_into_a_module_are_refused():
    says = r"it calls `causal_mask` of transformer\.masks"
    with pytest.raises(BrokenRuleError, match=says), without("transformer.masks"):
        masks.causal_mask(3)
    assert masks.causal_mask(3).shape == (1, 1, 3, 3)
    assert sys.getprofile() is None
