"""The parts that a Transformer is built of; the paper's by default.

Some have names, which a recipe may give: `parts = "rotary"` (see `transformer.modern`). Others are
passed in, and no file of the network changes:

    parts = Parts(norm=lambda config: nn.RMSNorm(config.d_model))
    model = Transformer(config, src_vocab_size=..., tgt_vocab_size=..., parts=parts)

To train with it, and to load what was trained:

    build = partial(ModelDescription.build, parts=parts)
    train_recipe(recipe, folder, build=build)
    Translator.load(folder, build=build)

An attention with other queries and keys, such as RoPE's, overrides `MultiHeadAttention.project`;
one with other scores, such as ALiBi's, overrides `attend`. With either, `positions` becomes a part
that returns the words as they are, or sinusoids are still added. transformer/modern.py has the
first, tests/test_parts.py the second.

A folder remembers which parts its model has: resuming and loading need the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import nn

from transformer.attention import make_attention
from transformer.config import ModelConfig
from transformer.feed_forward import make_feed_forward
from transformer.positions import make_positions
from transformer.support.checks import check_fields
from transformer.support.errors import require
from transformer.support.signatures import check_argument_types

MakePart = Callable[[ModelConfig], Any]  # returns an nn.Module


@check_argument_types
def make_norm(config: ModelConfig) -> nn.LayerNorm:
    """Make a layer normalization of the configuration's width (§3.1)."""
    return nn.LayerNorm(config.d_model)


@dataclass(frozen=True)
class Parts:
    """What makes each part of a network from its configuration.

    A part is a module, called with the arguments of the paper's own. The network draws the weights
    of each `nn.Linear` and `nn.Embedding` in it, as it does those of the paper's parts.
    """

    # Called as `MultiHeadAttention`: self-attention has no memory, and adds its keys and values to
    # the cache if there is one.
    self_attention: MakePart = make_attention
    cross_attention: MakePart = make_attention
    feed_forward: MakePart = make_feed_forward  # called as `FeedForward`
    norm: MakePart = make_norm  # called with (batch, length, d_model); returns the same shape
    # Called with the scaled words, (batch, length, word_dim), and the position of the first one;
    # returns (batch, length, d_model).
    positions: MakePart = make_positions

    def __post_init__(self) -> None:
        check_fields(self)


PAPER_PARTS = Parts()


def non_paper_part_class_names(model: nn.Module) -> dict[str, str]:
    """Return the class of each part of a model that is not the paper's: {"norm": "RMSNorm"}."""
    parts = getattr(model, "parts", PAPER_PARTS)
    classes = {}
    for field in fields(Parts):
        make_part = getattr(parts, field.name)
        if make_part != getattr(PAPER_PARTS, field.name):
            with torch.device("meta"):
                classes[field.name] = type(make_part(model.config)).__qualname__
    return classes


def require_same_parts(trained: str, saved: Mapping[str, str], built: Mapping[str, str]) -> None:
    """Raise a UserError unless a network has the parts that something was trained with.

    Args:
        trained: What was trained: a file of weights, or a run.
        saved, built: Its parts, and the network's, as of `non_paper_part_class_names`.
    """
    require(
        saved == built,
        f"{trained} was trained with {parts_in_words(saved)}, and the network has "
        f"{parts_in_words(built)}: a command knows those that have a name alone; in Python pass "
        "the `build` that it was trained with (transformer/parts.py shows how)",
    )


def parts_in_words(class_names: Mapping[str, str]) -> str:
    """Return "norm=RMSNorm" for what `non_paper_part_class_names` returns, for a message."""
    named = [f"{part}={class_name}" for part, class_name in class_names.items()]
    return ", ".join(named) or "the paper's parts"
