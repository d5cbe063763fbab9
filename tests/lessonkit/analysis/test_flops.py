"""A step's operations: as the model's shape and as PyTorch tell."""

import torch

from lessonkit.analysis.flops import count_flops_of_call, forward_flops, training_step_flops
from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Batch
from transformer.model import Transformer
from transformer.training.model_loss import batch_loss

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
        forward, sums = count_flops_of_call(
            lambda model=model, batch=batch: batch_loss(model, batch, CONFIG)
        )
        backward, _ = count_flops_of_call(sums.loss.backward)
        assert forward == sum(forward_flops(shape, 23, **SIZES))
        assert forward + backward == training_step_flops(shape, 23, **SIZES)
