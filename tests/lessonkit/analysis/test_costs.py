"""Table 1 and Table 3 as the paper has them; a step as its shape and PyTorch tell."""

import math
from collections import Counter
from functools import reduce

import pytest
import torch

from lessonkit.analysis import costs
from lessonkit.analysis.table_3 import SHARED_TYPES, TABLE_3, expected_parameters
from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Batch
from transformer.model import Transformer, count_parameters
from transformer.support.errors import UserError
from transformer.training.loss import batch_loss

MADE = ("self-attention", "recurrent", "convolution")


def test_ways_through_layers_and_stacks() -> None:
    attention, recurrent, convolution = (costs.make_layer(name, 5) for name in MADE)
    for n in (2, 7, 31):
        assert costs.ways(attention, n, 5) == costs.Ways(shortest=1, longest=2)
        assert costs.ways(recurrent, n, 5) == costs.Ways(shortest=n, longest=n)

    def stacked(*layers: costs.Layer) -> costs.Layer:
        return lambda vectors: reduce(lambda given, layer: layer(given), layers, vectors)

    assert costs.ways(stacked(*[attention] * 3), 7, 5) == costs.Ways(shortest=3, longest=6)
    assert costs.ways(stacked(attention, recurrent), 7, 5) == costs.Ways(shortest=2, longest=9)
    assert costs.ways(stacked(*[convolution] * 6), 7, 5) == costs.Ways(shortest=6, longest=6)


def test_convolutions_needed() -> None:
    for kernel, n in ((3, 2), (3, 9), (3, 10), (5, 14), (4, 17)):
        assert costs.convolutions_needed(n, 3, kernel) == math.ceil((n - 1) / (kernel - 1))
        dilated = costs.convolutions_needed(n, 3, kernel, dilated=True)
        assert kernel ** (dilated - 1) < n <= kernel**dilated


def test_the_layers_are_what_they_say() -> None:
    vectors = [torch.randn(5) for _ in range(7)]
    rows = torch.stack(vectors)
    attended = torch.nn.functional.scaled_dot_product_attention(rows, rows, rows)
    torch.testing.assert_close(
        torch.stack(costs.make_layer("self-attention", 5)(vectors)), attended
    )
    changed = [*vectors[:3], torch.zeros(5), *vectors[4:]]
    seen = {
        name: [bool((a != b).any()) for a, b in zip(layer(vectors), layer(changed), strict=True)]
        for name, layer in ((name, costs.make_layer(name, 5)) for name in MADE)
    }
    assert seen["convolution"] == [False, False, False, True, True, True, False]
    assert seen["recurrent"] == [False] * 3 + [True] * 4
    assert all(seen["self-attention"])


def test_what_cannot_be() -> None:
    with pytest.raises(UserError, match="no layer 'restricted' to measure"):
        costs.make_layer("restricted", 5)
    with pytest.raises(UserError, match="does not depend on the first input"):
        costs.ways(costs.make_layer("convolution", 5), 7, 5)


# --- what a step costs ---

SHAPES = [
    ModelConfig(d_model=12, d_ff=17, num_heads=3, num_layers=2),
    ModelConfig(d_model=10, d_ff=7, num_heads=3, d_k=5, d_v=2, num_layers=1, pre_norm=True),
]
CONFIG = TrainingConfig()
SIZES = {"sentences": 5, "src_len": 11, "tgt_len": 13}


def test_a_step_takes_what_pytorch_counts() -> None:
    for shape in SHAPES:
        model = Transformer(shape, src_vocab_size=23, tgt_vocab_size=23)
        src, tgt = torch.randint(4, 23, (5, 11)), torch.randint(4, 23, (5, 13))
        batch = Batch(src, tgt, tgt)
        forward, sums = costs.counted(
            lambda model=model, batch=batch: batch_loss(model, batch, CONFIG)
        )
        backward, _ = costs.counted(sums.loss.backward)
        assert forward == sum(costs.forward_flops(shape, 23, **SIZES))
        assert forward + backward == costs.step_flops(shape, 23, **SIZES)


def test_every_row_is_there_once_and_near_the_papers_count() -> None:
    names = [row.name for row in TABLE_3]
    assert len(set(names)) == len(names) == 20
    groups = Counter(name.partition(":")[0] for name in names)
    assert groups == {"base": 1, "A": 4, "B": 2, "C": 7, "D": 4, "E": 1, "big": 1}
    for row in TABLE_3:
        millions = expected_parameters(row.config(), SHARED_TYPES, SHARED_TYPES) / 1e6
        assert millions == pytest.approx(row.millions or 65, rel=0.07), row.name


def test_parameters_by_formula_and_by_counting() -> None:
    for changes in (
        {},
        {"pre_norm": True, "attention_bias": True, "output_bias": True},
        {"tie_source_target": False, "positions": "learned"},
        {"tie_source_target": False, "tie_softmax": False, "d_k": 3, "d_v": 5},
        {"positions": "concatenated", "position_dim": 7, "tie_softmax": False},
    ):
        src_vocab = 41 if "tie_source_target" in changes else 37
        sizes = {"d_model": 26, "num_heads": 13, "d_ff": 41, "num_layers": 3, "max_len": 43}
        config = ModelConfig(**sizes | changes)
        model = Transformer(config, src_vocab_size=src_vocab, tgt_vocab_size=37)
        assert count_parameters(model) == expected_parameters(config, src_vocab, 37)
