"""The seconds of a step, by kind."""

import pytest
import torch

from lessonkit.analysis.step_profile import KINDS, REST, kind, shares
from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Batch
from transformer.model import Transformer
from transformer.training.loss import batch_loss


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("aten::mm", "products"),
        ("aten::addmm", "products"),
        ("aten::bmm", "products"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu_backward", "attention"),
        ("aten::_softmax_backward_data", "attention"),
        ("aten::_log_softmax", "loss"),
        ("aten::scatter_add_", "loss"),
        ("aten::native_layer_norm_backward", "norm"),
        ("aten::_fused_adamw_", "Adam"),
        ("aten::_to_copy", "casts"),
        ("aten::mul", REST),
        ("aten::add", REST),
    ],
)
def test_operations_have_their_kind(operation: str, expected: str) -> None:
    assert kind(operation) == expected


def test_shares_are_of_one_whole_and_the_step_is_made() -> None:
    torch.manual_seed(1)
    shape = ModelConfig(d_model=12, d_ff=17, num_heads=3, num_layers=1)
    model = Transformer(shape, src_vocab_size=23, tgt_vocab_size=23)
    tgt = torch.randint(4, 23, (3, 7))
    made: list[float] = []

    def step() -> None:
        sums = batch_loss(model, Batch(tgt, tgt, tgt), TrainingConfig())
        sums.loss.backward()
        made.append(float(sums.nll))

    found = shares(step, steps=2)
    assert len(made) == 3  # one before the clock runs
    assert list(found) == [*KINDS, REST]
    assert sum(found.values()) == pytest.approx(1)
    assert all(found[name] > 0 for name in ("products", "attention", "loss", "norm"))
    assert found["Adam"] == 0


def test_where_the_work_is_the_seconds_are() -> None:
    large, small = torch.randn(700, 700), torch.randn(3)
    found = shares(lambda: (large @ large, small + small), steps=2)
    assert found["products"] > 0.9
