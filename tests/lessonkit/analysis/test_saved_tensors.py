"""What a forward pass keeps for the backward pass, by hand."""

import pytest
import torch
from torch import nn

from lessonkit.analysis.saved_tensors import saved_megabytes


def test_what_is_kept_for_the_backward_pass_by_hand() -> None:
    model, inputs = nn.Linear(3, 5, bias=False), torch.rand(7, 3)
    # The square keeps its input, (7, 5); the product keeps (7, 3) and the weights, which are ours.
    kept = saved_megabytes(model, lambda: model(inputs).square())
    assert kept == pytest.approx(4 * (7 * 5 + 7 * 3) / 1e6)
    assert saved_megabytes(model, lambda: inputs.square()) == 0  # it asks for no gradient
