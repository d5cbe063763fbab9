"""JoeyNMT, a small toolkit for learning, as a contender of a recipe's shape.

Not in the paper. It is no dependency of the course: it is measured where it is installed (see
docs/benchmarks.md). Network, loss and the count of right tokens at each step are its own. It gets
the recipe's sizes, tying, biases, dropout in the same places, and our fused Adam. Its positions are
always sinusoids.
"""

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from experiments.bench.peer_inputs import real_lengths
from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, ModelConfig
from transformer.data.batches import Batch


class JoeyTransformer(nn.Module):
    """JoeyNMT's model with its loss."""

    def __init__(
        self, config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int, label_smoothing: float
    ) -> None:
        super().__init__()
        from joeynmt.model import build_model

        vocabularies = JoeyVocabulary(src_vocab_size), JoeyVocabulary(tgt_vocab_size)
        self.network = build_model(_joey_config(config), *vocabularies)
        self.network.loss_function = "crossentropy", label_smoothing
        _set_dropouts_and_biases(self.network, config)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Score every next token, (batch, tgt_len, tgt_vocab_size)."""
        given = _inputs(src, tgt_in) | {"trg_mask": _mask(tgt_in)}
        logits: Tensor = self.network._encode_decode(**given)[0]
        return logits

    def mean_loss(self, batch: Batch) -> Tensor:
        """Return the loss per token, as its trainer computes it."""
        given = _inputs(batch.src, batch.tgt_in)
        given |= {"trg": batch.tgt_out, "trg_mask": _mask(batch.tgt_out)}
        mean: Tensor = self.network(return_type="loss", **given)[0] / batch.num_tgt_tokens
        return mean


@dataclass
class JoeyVocabulary:
    """What JoeyNMT's model reads of a vocabulary, with padding where ours is."""

    size: int
    pad_index: int = PAD_ID
    bos_index: int = BOS_ID
    eos_index: int = EOS_ID
    unk_index: int = UNK_ID
    sep_index: int | None = None
    specials: list[str] = field(default_factory=list)
    lang_tags: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return self.size


def _joey_config(config: ModelConfig) -> dict[str, Any]:
    """Return a shape in JoeyNMT's words."""
    stack = {
        "type": "transformer",
        "hidden_size": config.d_model,
        "ff_size": config.d_ff,
        "num_layers": config.num_layers,
        "num_heads": config.num_heads,
        "dropout": config.dropout,
        "layer_norm": "pre" if config.pre_norm else "post",
        "embeddings": {"embedding_dim": config.d_model, "scale": True},
    }
    return {
        "encoder": stack,
        "decoder": stack,
        "tied_embeddings": config.tie_source_target,
        "tied_softmax": config.tie_softmax,
    }


def _set_dropouts_and_biases(network: Any, config: ModelConfig) -> None:
    """Set what JoeyNMT has one dropout for, and biases that it always or never has."""
    for module in network.modules():
        if hasattr(module, "pwff_layer"):
            module.pwff_layer[2].p = config.feed_forward_dropout
        if hasattr(module, "k_layer"):
            module.dropout.p = config.attention_dropout
            if not config.attention_bias:
                for linear in (module.k_layer, module.v_layer, module.q_layer, module.output_layer):
                    linear.register_parameter("bias", None)
    output = network.decoder.output_layer
    if config.output_bias:
        output.register_parameter("bias", nn.Parameter(output.weight.new_zeros(len(output.weight))))


def _inputs(src: Tensor, tgt_in: Tensor) -> dict[str, Tensor]:
    """Return the arguments that scoring and loss have in common."""
    sources = {"src": src, "src_mask": _mask(src), "src_length": real_lengths(src)}
    return sources | {"trg_input": tgt_in}


def _mask(ids: Tensor) -> Tensor:
    """Return which tokens are no padding, (batch, 1, length)."""
    return (ids != PAD_ID).unsqueeze(1)
