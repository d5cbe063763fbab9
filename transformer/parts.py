"""The parts that a Transformer is built of; the paper's by default.

Another part is passed in, and no file of the network changes:

    parts = Parts(norm=lambda config: nn.RMSNorm(config.d_model))
    model = Transformer(config, src_vocab_size=..., tgt_vocab_size=..., parts=parts)

To train with it, and to load what was trained:

    build = partial(Description.build, parts=parts)
    train_recipe(recipe, folder, build=build)
    Translator.load(folder, build=build)
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from torch import nn

from transformer.attention import make_attention
from transformer.config import ModelConfig
from transformer.feed_forward import make_feed_forward
from transformer.positions import make_positions

MakePart = Callable[[ModelConfig], Any]  # returns an nn.Module


def make_norm(config: ModelConfig) -> nn.LayerNorm:
    """Make a layer normalization of the configuration's width (§3.1)."""
    return nn.LayerNorm(config.d_model)


@dataclass(frozen=True)
class Parts:
    """What makes each part of a network from its configuration.

    A part is a module called as the paper's is.
    """

    self_attention: MakePart = make_attention  # called as `MultiHeadAttention` is
    cross_attention: MakePart = make_attention  # the same
    feed_forward: MakePart = make_feed_forward  # called as `FeedForward` is
    norm: MakePart = make_norm  # (batch, length, d_model) to the same shape
    positions: MakePart = make_positions  # words and the first one's position to hidden states


PAPER = Parts()


def other_parts(model: nn.Module) -> list[str]:
    """Return the names of a model's parts that are not the paper's: ["norm"]."""
    parts = getattr(model, "parts", PAPER)
    names = [field.name for field in fields(Parts)]
    return [name for name in names if getattr(parts, name) != getattr(PAPER, name)]
