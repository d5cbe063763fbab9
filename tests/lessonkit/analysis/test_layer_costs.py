"""Table 1: as the paper has it, and as the layers themselves tell."""

import math
import time

import pytest
import torch

from lessonkit.analysis.layer_costs import (
    Cost,
    Ways,
    convolutions_needed,
    count_operations,
    make_layer,
    measure_seconds,
    stacked,
    table_1,
    ways,
)
from transformer.support.errors import UserError

MADE = ("self-attention", "recurrent", "convolution")
PRODUCTS = {"self-attention": 2, "recurrent": 2, "convolution": 1}  # that the O(...) leaves out


def test_the_table_by_hand() -> None:
    table = table_1(9, 5, kernel=3, neighbours=2)
    assert table["self-attention"] == Cost(405, 1, 1)
    assert table["recurrent"] == Cost(225, 9, 9)
    assert table["convolution"] == Cost(675, 1, pytest.approx(2))
    assert table["restricted self-attention"] == Cost(90, 1, 4.5)


def test_a_short_sentence_has_no_more_neighbours_than_words() -> None:
    table = table_1(3, 5, neighbours=16)
    assert table["restricted self-attention"] == table["self-attention"]


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(("n", "d"), [(7, 5), (11, 5), (7, 13)])
def test_counted_operations_are_the_table_s(name: str, n: int, d: int) -> None:
    counted = count_operations(make_layer(name, d), n, d)
    assert counted == PRODUCTS[name] * table_1(n, d)[name].operations


@pytest.mark.parametrize("n", [2, 7, 31])
def test_ways(n: int) -> None:
    assert ways(make_layer("self-attention", 5), n, 5) == Ways(shortest=1, longest=2)
    assert ways(make_layer("recurrent", 5), n, 5) == Ways(shortest=n, longest=n)


def test_ways_of_stacked_layers_add_up() -> None:
    attention, recurrent = make_layer("self-attention", 5), make_layer("recurrent", 5)
    assert ways(stacked([attention] * 3), 7, 5) == Ways(shortest=3, longest=6)
    assert ways(stacked([attention, recurrent]), 7, 5) == Ways(shortest=2, longest=9)
    reaching = stacked([make_layer("convolution", 5)] * 6)
    assert ways(reaching, 7, 5) == Ways(shortest=6, longest=6)


@pytest.mark.parametrize(("kernel", "n"), [(3, 2), (3, 9), (3, 10), (5, 14), (4, 17)])
def test_convolutions_needed(kernel: int, n: int) -> None:
    assert convolutions_needed(n, 3, kernel) == math.ceil((n - 1) / (kernel - 1))
    dilated = convolutions_needed(n, 3, kernel, dilated=True)
    assert kernel ** (dilated - 1) < n <= kernel**dilated


def test_the_layers_are_what_they_say() -> None:
    vectors = [torch.randn(5) for _ in range(7)]
    rows = torch.stack(vectors)
    attended = torch.nn.functional.scaled_dot_product_attention(rows, rows, rows)
    torch.testing.assert_close(torch.stack(make_layer("self-attention", 5)(vectors)), attended)
    changed = [*vectors[:3], torch.zeros(5), *vectors[4:]]
    seen = {
        name: [bool((a != b).any()) for a, b in zip(layer(vectors), layer(changed), strict=True)]
        for name, layer in ((name, make_layer(name, 5)) for name in MADE)
    }
    assert seen["convolution"] == [False, False, False, True, True, True, False]
    assert seen["recurrent"] == [False] * 3 + [True] * 4
    assert all(seen["self-attention"])


def test_what_cannot_be() -> None:
    with pytest.raises(UserError, match="no layer 'restricted' to measure"):
        make_layer("restricted", 5)
    with pytest.raises(UserError, match="kernel is 1: give 2 or more"):
        table_1(5, 5, kernel=1)
    with pytest.raises(UserError, match="does not depend on the first input"):
        ways(make_layer("convolution", 5), 7, 5)


def test_seconds_are_those_that_the_processor_works_for_one_call() -> None:
    calls = []

    def layer(vectors: list[torch.Tensor]) -> list[torch.Tensor]:
        calls.append(vectors)
        time.sleep(0.01)
        done = time.process_time() + 0.002
        while time.process_time() < done:
            pass
        return vectors

    seconds = measure_seconds(layer, n=7, d=3)
    assert 0.002 <= seconds < 0.01
    assert {len(vectors) for vectors in calls} == {7}
    assert calls[0][0].shape == (3,)
