"""A network of odd sizes that the analyses reach into."""

import pytest
import torch

from transformer.config import ModelConfig
from transformer.model import Transformer


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    config = ModelConfig(d_model=14, d_ff=19, num_heads=2, num_layers=3, d_k=5, d_v=3)
    return Transformer(config, src_vocab_size=29, tgt_vocab_size=29).double().eval()
