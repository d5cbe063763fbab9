"""OpenNMT-py, eole's forerunner, as a contender of a recipe's shape.

Not in the paper. It is no dependency of the course: it is measured where it is installed (see
docs/benchmarks.md). Network, loss and the statistics that it collects at each step are its own. It
gets the recipe's sizes, tying, biases, dropout in the same places, and our fused Adam. Its norms
always come before each sub-layer, with one after the last, and its positions are sinusoids.
"""

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from experiments.bench.peer_inputs import real_lengths, whole_targets
from transformer.config import PAD_ID, ModelConfig
from transformer.data.batches import Batch


class OpenNMTTransformer(nn.Module):
    """OpenNMT-py's encoder and decoder with its loss."""

    def __init__(
        self, config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int, label_smoothing: float
    ) -> None:
        super().__init__()
        # It warns of old names of PyTorch's.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from onmt.model_builder import build_base_model
            from onmt.utils.loss import LossCompute

            options = _opennmt_options(config, label_smoothing)
            vocabularies = {
                "src": _opennmt_vocabulary(src_vocab_size),
                "tgt": _opennmt_vocabulary(tgt_vocab_size),
            }
            self.network = build_base_model(options, vocabularies)
            self.loss = LossCompute.from_opts(options, self.network, vocabularies["tgt"])
        _initialise(self.network)
        for module in self.network.modules():
            if hasattr(module, "dropout_1"):  # of the inner activations
                module.dropout_1.p = config.feed_forward_dropout
        if not config.output_bias:
            self.network.generator.register_parameter("bias", None)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Score every next token, (batch, tgt_len, tgt_vocab_size)."""
        # It leaves out the last token of what it is given.
        tgt = torch.cat([tgt_in, tgt_in[:, :1]], dim=1)
        hidden, _ = self.network(src.unsqueeze(2), tgt.unsqueeze(2), real_lengths(src))
        logits: Tensor = self.network.generator(hidden)
        return logits

    def mean_loss(self, batch: Batch) -> Tensor:
        """Return the loss per token, as its trainer computes it."""
        tgt, lengths = whole_targets(batch).unsqueeze(2), real_lengths(batch.src)
        hidden, attention = self.network(batch.src.unsqueeze(2), tgt, lengths)
        given = {"tgt": tgt, "srclen": lengths}
        mean: Tensor = self.loss(given, hidden, attention)[0] / batch.num_tgt_tokens
        return mean


def _opennmt_options(config: ModelConfig, label_smoothing: float) -> Any:
    """Return a shape in OpenNMT-py's words, among the defaults of its trainer."""
    from onmt.opts import train_opts
    from onmt.utils.parse import ArgumentParser

    parser = ArgumentParser()
    train_opts(parser)
    values = {
        "data": "{}",
        "src_vocab": "none",
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "word_vec_size": config.d_model,
        "hidden_size": config.d_model,
        "layers": config.num_layers,
        "heads": config.num_heads,
        "transformer_ff": config.d_ff,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "label_smoothing": label_smoothing,
        "self_attn_type": "scaled-dot",  # the other is CUDA's
    }
    switches = {
        "position_encoding": True,
        "add_qkvbias": config.attention_bias,
        "add_ffnbias": True,
        "share_embeddings": config.tie_source_target,
        "share_decoder_embeddings": config.tie_softmax,
    }
    arguments = [word for name, value in values.items() for word in (f"--{name}", str(value))]
    arguments += [f"--{name}" for name, is_on in switches.items() if is_on]
    options = parser.parse_args(arguments)
    ArgumentParser.update_model_opts(options)
    return options


def _opennmt_vocabulary(size: int) -> dict[str, int]:
    """Return a vocabulary of any words, with padding where ours is."""
    from onmt.constants import DefaultTokens

    names = {PAD_ID: DefaultTokens.PAD, size - 1: DefaultTokens.UNK}
    return {names.get(number, f"type {number}"): number for number in range(size)}


def _initialise(network: nn.Module) -> None:
    """Draw the weights, which OpenNMT-py leaves as memory was."""
    for name, parameter in network.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        elif not name.endswith("norm.weight"):
            nn.init.zeros_(parameter)
