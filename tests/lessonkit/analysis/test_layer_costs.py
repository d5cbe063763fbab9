"""Table 1 as the paper has it: paths through layers, and what each layer computes."""

import math
from functools import reduce

import pytest
import torch

from lessonkit.analysis import layer_costs
from transformer.support.errors import UserError

MADE = ("self-attention", "recurrent", "convolution")


def test_ways_through_layers_and_stacks() -> None:
    attention, recurrent, convolution = (layer_costs.make_layer(name, 5) for name in MADE)
    for n in (2, 7, 31):
        assert layer_costs.path_lengths(attention, n, 5) == layer_costs.PathLengths(
            shortest=1, longest=2
        )
        assert layer_costs.path_lengths(recurrent, n, 5) == layer_costs.PathLengths(
            shortest=n, longest=n
        )

    def stacked(*layers: layer_costs.LayerFunction) -> layer_costs.LayerFunction:
        return lambda vectors: reduce(lambda given, layer: layer(given), layers, vectors)

    assert layer_costs.path_lengths(stacked(*[attention] * 3), 7, 5) == layer_costs.PathLengths(
        shortest=3, longest=6
    )
    assert layer_costs.path_lengths(stacked(attention, recurrent), 7, 5) == layer_costs.PathLengths(
        shortest=2, longest=9
    )
    assert layer_costs.path_lengths(stacked(*[convolution] * 6), 7, 5) == layer_costs.PathLengths(
        shortest=6, longest=6
    )


def test_convolutions_needed() -> None:
    for kernel, n in ((3, 2), (3, 9), (3, 10), (5, 14), (4, 17)):
        assert layer_costs.count_convolutions_needed(n, 3, kernel) == math.ceil(
            (n - 1) / (kernel - 1)
        )
        dilated = layer_costs.count_convolutions_needed(n, 3, kernel, dilated=True)
        assert kernel ** (dilated - 1) < n <= kernel**dilated


def test_the_layers_are_what_they_say() -> None:
    vectors = [torch.randn(5) for _ in range(7)]
    rows = torch.stack(vectors)
    attended = torch.nn.functional.scaled_dot_product_attention(rows, rows, rows)
    torch.testing.assert_close(
        torch.stack(layer_costs.make_layer("self-attention", 5)(vectors)), attended
    )
    changed = [*vectors[:3], torch.zeros(5), *vectors[4:]]
    seen = {
        name: [bool((a != b).any()) for a, b in zip(layer(vectors), layer(changed), strict=True)]
        for name, layer in ((name, layer_costs.make_layer(name, 5)) for name in MADE)
    }
    assert seen["convolution"] == [False, False, False, True, True, True, False]
    assert seen["recurrent"] == [False] * 3 + [True] * 4
    assert all(seen["self-attention"])


def test_what_cannot_be() -> None:
    with pytest.raises(UserError, match="no layer 'restricted' to measure"):
        layer_costs.make_layer("restricted", 5)
    with pytest.raises(UserError, match="does not depend on the first input"):
        layer_costs.path_lengths(layer_costs.make_layer("convolution", 5), 7, 5)
