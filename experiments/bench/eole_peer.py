"""eole, the toolkit that OpenNMT-py became, as a contender of a recipe's shape.

Not in the paper. It is no dependency of the course: it is measured where it is installed (see
docs/benchmarks.md). Network, loss and the statistics that it collects at each step are its own. It
gets the recipe's sizes, tying, biases, dropout in the same places, and our fused Adam. Its norms
always come before each sub-layer, with one after the last.
"""

import warnings
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from experiments.bench.peer_inputs import real_lengths, whole_targets
from transformer.config import PAD_ID, ModelConfig, PositionKind
from transformer.data.batches import Batch

EOLE_POSITIONS = {
    PositionKind.SINUSOIDAL: "SinusoidalInterleaved",
    PositionKind.LEARNED: "Learned",
}


class EoleTransformer(nn.Module):
    """eole's encoder and decoder with its loss."""

    def __init__(
        self, config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int, label_smoothing: float
    ) -> None:
        super().__init__()
        sizes = src_vocab_size, tgt_vocab_size
        # It warns of CUDA kernels that are missing, and of its own way with pydantic.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.network, self.loss = _make_eole_network_and_loss(config, *sizes, label_smoothing)
        for module in self.network.modules():
            if hasattr(module, "dropout_1"):  # of the inner activations
                p = config.feed_forward_dropout
                module.dropout_1 = nn.Dropout(p) if p else nn.Identity()

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Score every next token, (batch, tgt_len, tgt_vocab_size)."""
        # It leaves out the last token of what it is given.
        tgt = torch.cat([tgt_in, tgt_in[:, :1]], dim=1)
        logits: Tensor = self.network.generator(self._run(src, tgt).dec_out)
        return logits

    def mean_loss(self, batch: Batch) -> Tensor:
        """Return the loss per token, as its trainer computes it."""
        tgt = whole_targets(batch)
        output = self._run(batch.src, tgt)
        given = {
            "tgt": tgt,
            "srclen": real_lengths(batch.src),
            "cid": ["captions"] * len(tgt),
            "cid_line_number": range(len(tgt)),
        }
        mean: Tensor = self.loss(given, output.dec_out, output.attns)[0] / batch.num_tgt_tokens
        return mean

    def _run(self, src: Tensor, tgt: Tensor) -> Any:
        """Encode and decode."""
        return self.network(src, tgt, real_lengths(src))


def _make_eole_network_and_loss(
    config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int, label_smoothing: float
) -> tuple[Any, Any]:
    """Make eole's network and the loss of its trainer."""
    from eole.config.training import TrainingConfig as EoleTrainingConfig
    from eole.models.model import EncoderDecoderModel
    from eole.utils.loss import LossCompute

    training = EoleTrainingConfig(
        dropout=[config.dropout],
        attention_dropout=[config.attention_dropout],
        label_smoothing=label_smoothing,
    )
    vocabularies = {
        "src": _eole_vocabulary(src_vocab_size),
        "tgt": _eole_vocabulary(tgt_vocab_size),
        "specials": {},
    }
    settings = SimpleNamespace(model=_eole_model_config(config), training=training)
    network = EncoderDecoderModel.for_training(settings.model, vocabularies, training)
    return network, LossCompute.from_config(settings, network, vocabularies)


def _eole_model_config(config: ModelConfig) -> Any:
    """Return a shape in eole's words."""
    from eole.config.models import TransformerModelConfig

    learned = config.positions == PositionKind.LEARNED
    return TransformerModelConfig(
        architecture="transformer",
        hidden_size=config.d_model,
        layers=config.num_layers,
        heads=config.num_heads,
        transformer_ff=config.d_ff,
        embeddings={
            "word_vec_size": config.d_model,
            "position_encoding_type": EOLE_POSITIONS[config.positions],
            "n_positions": config.max_len if learned else None,
        },
        add_qkvbias=config.attention_bias,
        add_final_linear_bias=config.attention_bias,
        add_ffnbias=True,
        generator_bias=config.output_bias,
        share_embeddings=config.tie_source_target,
        share_decoder_embeddings=config.tie_softmax,
    )


def _eole_vocabulary(size: int) -> dict[str, int]:
    """Return a vocabulary of any words, with padding where ours is."""
    from eole.constants import DefaultTokens

    names = [DefaultTokens.PAD if number == PAD_ID else f"type {number}" for number in range(size)]
    return {name: number for number, name in enumerate(names)}
