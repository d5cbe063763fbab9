"""The loss: cross-entropy with label smoothing (§5.4), over real tokens only."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.support.checks import (
    MAX_VOCAB_SIZE,
    check_float_tensor,
    check_id_tensor,
    check_number,
)
from transformer.support.errors import UserError


class LossSums(NamedTuple):
    """Sums over the real tokens of a batch; divide by `tokens` for a mean."""

    loss: Tensor  # smoothed, in nats, a scalar; carries the gradient
    nll: Tensor  # negative log likelihood, unsmoothed, in nats, a scalar without gradient
    tokens: Tensor  # how many targets are not padding, a scalar


def label_smoothing_loss(
    logits: Tensor, targets: Tensor, *, smoothing: float, pad_id: int
) -> LossSums:
    """Sum the label-smoothed cross-entropy over the real tokens (§5.4).

    A token costs the cross-entropy to a target of 1 - e on the true type plus e / V on each of the
    V types.

    Args:
        logits: (batch, tgt_len, vocab_size), of any float type; the loss is in float32 at least.
        targets: True ids, (batch, tgt_len).
        smoothing: e, from 0 up to, not including, 1.
        pad_id: The target that costs nothing.
    """
    check_loss_inputs(logits, targets, smoothing, pad_id)
    check_targets(targets, logits.shape[-1])
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    logits = logits.flatten(0, 1)  # (tokens, vocab_size)
    flat_targets = targets.flatten()  # (tokens,)
    loss = F.cross_entropy(
        logits, flat_targets, ignore_index=pad_id, reduction="sum", label_smoothing=smoothing
    )
    nll = F.cross_entropy(logits.detach(), flat_targets, ignore_index=pad_id, reduction="sum")
    return LossSums(loss, nll, (targets != pad_id).sum())


def check_loss_inputs(logits: Tensor, targets: Tensor, smoothing: float, pad_id: int) -> None:
    """Raise a UserError unless these are what a loss is computed from."""
    check_float_tensor("logits", logits, (*getattr(targets, "shape", ()), None))
    check_id_tensor("targets", targets)
    check_number("pad_id", pad_id, -MAX_VOCAB_SIZE, MAX_VOCAB_SIZE, integer=True)
    check_number("smoothing", smoothing, -1)
    if not 0 <= smoothing < 1:
        raise UserError(f"smoothing is {smoothing}: give a number from 0 up to, not including, 1")


def check_targets(targets: Tensor, vocab_size: int) -> None:
    """Raise a UserError unless all targets are ids of the vocabulary."""
    if targets.numel() == 0:
        return
    low, high = map(int, targets.aminmax())
    if low < 0 or high >= vocab_size:
        raise UserError(f"targets go from {low} to {high}: give ids from 0 to {vocab_size - 1}")
