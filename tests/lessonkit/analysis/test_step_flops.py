"""Operations counted from the shape are those that PyTorch counts."""

import pytest
import torch

from lessonkit.analysis.step_flops import Flops, counted, forward_flops, step_flops
from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Batch
from transformer.model import Transformer
from transformer.support.errors import UserError
from transformer.training.loss import batch_loss

SHAPES = [
    ModelConfig(d_model=12, d_ff=17, num_heads=3, num_layers=2),
    ModelConfig(d_model=10, d_ff=7, num_heads=3, d_k=5, d_v=2, num_layers=1, pre_norm=True),
]
SIZES = {"sentences": 5, "src_len": 11, "tgt_len": 13}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_takes_what_pytorch_counts(shape: ModelConfig) -> None:
    torch.manual_seed(1)
    model = Transformer(shape, src_vocab_size=23, tgt_vocab_size=23)
    src, tgt = torch.randint(4, 23, (5, 11)), torch.randint(4, 23, (5, 13))
    batch = Batch(src, tgt, tgt)
    forward, sums = counted(lambda: batch_loss(model, batch, TrainingConfig()))
    backward, _ = counted(sums.loss.backward)
    assert forward == sum(forward_flops(shape, 23, **SIZES))
    assert forward + backward == step_flops(shape, 23, **SIZES)


def test_by_hand() -> None:
    shape = ModelConfig(d_model=2, d_ff=3, num_heads=1, num_layers=1)
    found = forward_flops(shape, 5, sentences=1, src_len=1, tgt_len=1)
    # Encoder 4 matrices, decoder 8, all 2 x 2; three scores and three sums of width 2.
    assert found == Flops(projections=2 * 12 * 4, attention=2 * 6 * 2, feed_forward=48, output=20)


def test_longer_sentences_cost_attention_more_and_the_rest_no_more() -> None:
    shape = ModelConfig()
    short = forward_flops(shape, 37_000, sentences=100, src_len=10, tgt_len=10)
    long = forward_flops(shape, 37_000, sentences=10, src_len=100, tgt_len=100)
    assert long == short._replace(attention=10 * short.attention)


@pytest.mark.parametrize("wrong", ["vocab_size", "sentences", "src_len", "tgt_len"])
def test_sizes_under_one_are_refused(wrong: str) -> None:
    sizes = {"vocab_size": 5, **SIZES} | {wrong: 0}
    with pytest.raises(UserError, match=f"{wrong} is 0: give 1 or more"):
        forward_flops(SHAPES[0], **sizes)
