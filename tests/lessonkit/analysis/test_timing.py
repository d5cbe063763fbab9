"""A step's kinds of operations: each has its share of the time."""

import pytest
import torch

from lessonkit.analysis.timing import (
    OPERATION_PREFIXES_BY_KIND,
    OTHER_OPERATION_KIND,
    operation_time_shares,
)
from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Batch
from transformer.model import Transformer
from transformer.training.model_loss import batch_loss


def test_shares_are_of_one_whole_and_the_step_is_made() -> None:
    shape = ModelConfig(d_model=12, d_ff=17, num_heads=3, num_layers=1)
    model = Transformer(shape, src_vocab_size=23, tgt_vocab_size=23)
    tgt = torch.randint(4, 23, (3, 7))
    made: list[float] = []

    def step() -> None:
        sums = batch_loss(model, Batch(tgt, tgt, tgt), TrainingConfig())
        sums.loss.backward()
        made.append(float(sums.nll))

    found = operation_time_shares(step, steps=2)
    assert len(made) == 3  # one before the clock runs
    assert list(found) == [*OPERATION_PREFIXES_BY_KIND, OTHER_OPERATION_KIND]
    assert sum(found.values()) == pytest.approx(1)
    assert all(
        found[name] > 0 for name in ("products", "attention", "loss", "norm", OTHER_OPERATION_KIND)
    )
    assert found["Adam"] == 0
    large, small = torch.randn(700, 700), torch.randn(3)
    assert operation_time_shares(lambda: (large @ large, small + small), steps=2)["products"] > 0.9
