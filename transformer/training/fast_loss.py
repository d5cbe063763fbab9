"""The loss of `transformer.training.loss` with a gradient of its own: same values, less time.

Not in the paper. Left to autograd, the gradient passes through several tensors as large as the
logits, and a step takes a fifth longer (docs/decisions/loss-gradient.md).
"""

from typing import Any

import torch
from torch import Tensor

from transformer.training.loss import LossSums, check_loss_inputs, check_targets

NUM_LOGITS_PER_CPU_CHUNK = 2**19  # logits of a chunk that a CPU's cache holds: 2 MB in float32


def fast_label_smoothing_loss(
    logits: Tensor, targets: Tensor, *, smoothing: float, pad_id: int
) -> LossSums:
    """Return what `label_smoothing_loss` returns, with the same arguments and errors (§5.4).

    The gradient can be asked for once: the backward pass overwrites what it was made from.
    """
    check_loss_inputs(logits, targets, smoothing, pad_id)
    real = targets != pad_id
    try:
        loss, true_log_probs = _SmoothedLoss.apply(
            logits.flatten(0, 1), targets.flatten(0, 1), real.flatten(0, 1), smoothing
        )
    except RuntimeError:
        # The targets are looked at only now: before, a GPU would have to be waited for.
        check_targets(targets, logits.shape[-1])
        raise
    return LossSums(loss, -true_log_probs.where(real.flatten(), 0).sum(), real.sum())


class _SmoothedLoss(torch.autograd.Function):
    """The summed loss; its gradient at the logits is the probabilities minus the targets."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, real: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """Return the sum, and the log probability of each target, (tokens,)."""
        share = smoothing / logits.size(-1)  # the target probability of each false type
        true_share = 1 - smoothing + share
        log_probs = torch.empty_like(logits, dtype=torch.promote_types(logits.dtype, torch.float32))
        for chunk in row_slices(logits):
            torch.log_softmax(logits[chunk], -1, log_probs.dtype, out=log_probs[chunk])
        true = log_probs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)  # (tokens,)
        per_token = -true_share * true
        if smoothing > 0:
            per_token = per_token - share * (log_probs.sum(-1) - true)
        ctx.save_for_backward(log_probs, targets, real)
        ctx.dtype, ctx.shares = logits.dtype, (share, true_share)
        ctx.mark_non_differentiable(true)
        return per_token.where(real, 0).sum(), true

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient at the logits, (tokens, vocab_size)."""
        log_probs, targets, real = ctx.saved_tensors
        share, true_share = ctx.shares
        # The gradient takes the place of the log probabilities if their types are equal.
        gradient = log_probs
        if ctx.dtype != log_probs.dtype:
            gradient = torch.empty_like(log_probs, dtype=ctx.dtype)
        surplus = log_probs.new_full((), share - true_share)  # made on the device, not copied to it
        for chunk in row_slices(log_probs):
            probs, true = log_probs[chunk].exp_(), targets[chunk].unsqueeze(-1)
            probs.sub_(share).scatter_add_(-1, true, surplus.expand(true.shape))
            torch.mul(probs, (real[chunk] * upstream[0]).unsqueeze(-1), out=gradient[chunk])
        return gradient, None, None, None


def row_slices(logits: Tensor) -> list[slice]:
    """Split (tokens, vocab_size) into rows that a CPU's cache holds; a GPU takes all at once."""
    tokens, vocab_size = logits.shape
    rows = max(1, NUM_LOGITS_PER_CPU_CHUNK // vocab_size) if logits.is_cpu else tokens
    return [slice(first, first + rows) for first in range(0, tokens, rows)]
