"""The smoothed loss with its gradient written out: the form that training uses (§5.4).

The numbers and gradients of `loss.label_smoothing_loss`, without its large tensors. Why:
docs/decisions/loss-gradient.md.
"""

import math
from typing import Any

import torch
from torch import Tensor


def fused_smoothing_loss(
    logits: Tensor, targets: Tensor, *, smoothing: float, pad_id: int, over_all: bool = True
) -> tuple[Tensor, Tensor]:
    """Sum the label-smoothed loss over the real tokens (§5.4).

    Its gradient can be asked for once: the backward pass overwrites what it was made from.

    Args:
        logits: Scores before the softmax `(batch, tgt_len, vocab_size)`, any float type;
            computed in float32 at least.
        targets: True ids `(batch, tgt_len)`.
        smoothing: Probability moved away from the true type, from 0 up to, not including, 1.
        pad_id: Targets with this id count nothing.
        over_all: Which of the two forms, see `loss.label_smoothing_loss`.

    Returns:
        The loss in nats, a scalar that carries the gradient, and the unsmoothed negative log
        likelihood in nats, a scalar without.
    """
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    real = targets != pad_id
    loss, true = _SmoothedLoss.apply(logits, targets, real, smoothing, pad_id, over_all)
    return loss, -true.where(real, 0).sum()


class _SmoothedLoss(torch.autograd.Function):
    """The summed loss; at the logits its gradient is the probabilities minus the targets.

    Left to autograd, the gradient passes through several tensors as large as the logits,
    a quarter of a small model's step on a CPU. Here the log-probabilities become it in place.
    """

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        targets: Tensor,
        real: Tensor,
        smoothing: float,
        pad_id: int,
        over_all: bool,
    ) -> tuple[Tensor, Tensor]:
        """Give the sum, and the log-probability of each target (batch, tgt_len)."""
        log_probs = logits.log_softmax(-1)
        true = log_probs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        if smoothing == 0:
            per_token = -true
        elif over_all:
            per_token = -(1 - smoothing) * true - smoothing * log_probs.mean(-1)
        else:
            share = smoothing / (logits.size(-1) - 2)
            before_pad, after_pad = log_probs[..., :pad_id], log_probs[..., pad_id + 1 :]
            others = before_pad.sum(-1) + after_pad.sum(-1) - true
            minus_entropy = (1 - smoothing) * math.log(1 - smoothing) + smoothing * math.log(share)
            per_token = minus_entropy - (1 - smoothing) * true - share * others
        ctx.save_for_backward(log_probs, targets, real)
        ctx.smoothing, ctx.pad_id, ctx.over_all = smoothing, pad_id, over_all
        ctx.mark_non_differentiable(true)
        return per_token.where(real, 0).sum(), true

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Give the gradient at the logits, (batch, tgt_len, vocab_size)."""
        log_probs, targets, real = ctx.saved_tensors
        share = ctx.smoothing / (log_probs.size(-1) - (0 if ctx.over_all else 2))
        true_share = 1 - ctx.smoothing + (share if ctx.over_all else 0)
        gradient = log_probs.exp_()
        gradient -= share
        if not ctx.over_all:
            gradient[..., ctx.pad_id] += share
        more = gradient.new_full((), share - true_share)  # made on the device, not copied to it
        gradient.scatter_add_(-1, targets.unsqueeze(-1), more.expand(*targets.shape, 1))
        gradient *= (real * upstream[0]).unsqueeze(-1)
        return gradient, None, None, None, None, None
