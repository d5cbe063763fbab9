"""Faults in what stands around attention: norms, residual sums, dropout, the stack (§3.1, §3.3).

Each class stands in place of the sound one that it inherits from: read it beside
`transformer.layers` and `transformer.model`.
"""

import copy
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from lessonkit.museum.specimen import Specimen, turn, turned
from transformer.dropout import Dropout
from transformer.layers import FeedForward, Residual
from transformer.model import Transformer


class NormOverTime(nn.LayerNorm):
    """Normalises each feature over the sentence."""

    def forward(self, input: Tensor) -> Tensor:
        """Take mean and variance over axis 1 of (batch, length, d_model)."""
        variance, mean = input.var(dim=1, keepdim=True, correction=0), input.mean(1, keepdim=True)
        return (input - mean) / (variance + self.eps).sqrt() * self.weight + self.bias


class NormOverBatch(nn.LayerNorm):
    """Normalises each feature over the batch and the sentence, as for images."""

    def forward(self, input: Tensor) -> Tensor:
        """Take mean and variance over axes 0 and 1 of (batch, length, d_model)."""
        variance = input.var(dim=(0, 1), correction=0)
        return (input - input.mean(dim=(0, 1))) / (variance + self.eps).sqrt() * self.weight


class NoResidual(Residual):
    """Goes on with the sub-layer's output alone."""

    def after(self, hidden: Tensor, output: Tensor) -> Tensor:
        """Forget what went in."""
        return self.norm(self.dropout(output))


class ResidualOfTheNorm(Residual):
    """Adds the sub-layer's output to its normalised input: nothing passes unchanged."""

    def after(self, hidden: Tensor, output: Tensor) -> Tensor:
        """Add to the norm of `hidden`, not to `hidden`."""
        return self.norm(hidden) + self.dropout(output)


class Linear(FeedForward):
    """Has no ReLU: two linear maps that are one."""

    def forward(self, hidden: Tensor) -> Tensor:
        """Map twice."""
        return self.outer(self.dropout(self.inner(hidden)))


class ReluAtTheEnd(FeedForward):
    """Has its ReLU after the second map, so that it can only add."""

    def forward(self, hidden: Tensor) -> Tensor:
        """Map twice, then cut off."""
        return self.outer(self.dropout(self.inner(hidden))).relu()


class AlwaysDropped(Residual):
    """Drops in evaluation too."""

    def after(self, hidden: Tensor, output: Tensor) -> Tensor:
        """Call F.dropout, which takes training=True for granted."""
        hidden = hidden + F.dropout(output, self.dropout.p)
        return hidden if self.pre_norm else self.norm(hidden)


class NeverDropped(Dropout):
    """Is made, and gives back what it is given."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop nothing."""
        return input


class Plain(nn.Module):
    """Runs layers that it keeps where PyTorch does not look."""

    def __init__(self, layers: nn.ModuleList) -> None:
        super().__init__()
        self.kept = list(layers)

    def __iter__(self) -> Any:
        return iter(self.kept)


def leave_out_final_norm(model: Transformer) -> None:
    """Give both pre-norm stacks' sums as they are."""
    model.encoder.norm, model.decoder.norm = nn.Identity(), nn.Identity()


def copy_the_first_layer(model: Transformer) -> None:
    """Make every layer of a stack a copy of the first, weights included."""
    for stack in (model.encoder, model.decoder):
        first = stack.layers[0]
        stack.layers = nn.ModuleList(copy.deepcopy(first) for _ in stack.layers)


def repeat_the_first_layer(model: Transformer) -> None:
    """Put one and the same layer N times into each stack."""
    for stack in (model.encoder, model.decoder):
        stack.layers = nn.ModuleList([stack.layers[0]] * len(stack.layers))


def hide_layers(model: Transformer) -> None:
    """Keep the layers in a plain list, which neither eval() nor the optimizer finds."""
    for stack in (model.encoder, model.decoder):
        stack.layers = Plain(stack.layers)  # type: ignore[assignment]


def forget_embedding_dropout(model: Transformer) -> None:
    """Never apply the dropout that the embeddings have."""
    turn(model.src_embedding, Dropout, NeverDropped)
    turn(model.tgt_embedding, Dropout, NeverDropped)


def _specimen(name: str, about: str, **rest: Any) -> Specimen:
    return Specimen(name=name, about=about, group="layers", **rest)


PRE_NORM = {"pre_norm": True}
SPECIMENS = (
    _specimen(
        "norm_over_time",
        "layer norms take their mean over the sentence, not over the width",
        alter=turned(nn.LayerNorm, NormOverTime),
    ),
    _specimen(
        "norm_over_the_batch",
        "layer norms take their mean over batch and sentence, as batch norm does",
        alter=turned(nn.LayerNorm, NormOverBatch),
    ),
    _specimen(
        "final_norm_missing",
        "a pre-norm stack has no norm at its end",
        alter=leave_out_final_norm,
        config=PRE_NORM,
        trains=True,
    ),
    _specimen(
        "residual_missing",
        "what went into a sub-layer is not added to what comes out",
        alter=turned(Residual, NoResidual),
    ),
    _specimen(
        "residual_of_the_norm",
        "a pre-norm sub-layer's output is added to its normalised input",
        alter=turned(Residual, ResidualOfTheNorm),
        config=PRE_NORM,
    ),
    _specimen(
        "relu_missing",
        "the feed-forward layer is two linear maps without a ReLU between",
        alter=turned(FeedForward, Linear),
        trains=True,
    ),
    _specimen(
        "relu_at_the_end",
        "the ReLU stands after the second map",
        alter=turned(FeedForward, ReluAtTheEnd),
    ),
    _specimen(
        "dropout_always_on",
        "sub-layers' outputs are dropped by a bare F.dropout, in evaluation too",
        alter=turned(Residual, AlwaysDropped),
    ),
    _specimen(
        "dropout_never_called",
        "no dropout layer is called",
        alter=turned(Dropout, NeverDropped),
    ),
    _specimen(
        "embedding_dropout_never_called",
        "the embeddings' dropout alone is made and not called",
        alter=forget_embedding_dropout,
        source="tatoeba",
    ),
    _specimen(
        "clones_alike",
        "the layers of a stack begin as copies of the first",
        alter=copy_the_first_layer,
        trains=True,
    ),
    _specimen(
        "one_layer_repeated",
        "the stack is one layer, run N times",
        alter=repeat_the_first_layer,
    ),
    _specimen(
        "layers_in_a_list",
        "the layers are kept in a plain list: no optimizer has them, and no eval() reaches them",
        alter=hide_layers,
        trains=True,
    ),
)
