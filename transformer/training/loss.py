"""The loss: label smoothing (§5.4), over real tokens only."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from transformer.config import PAD_ID, TrainingConfig
from transformer.data.batches import Batch, micro_batches
from transformer.support.checks import (
    MAX_VOCAB_SIZE,
    check_float_tensor,
    check_id_tensor,
    check_number,
)
from transformer.support.errors import UserError
from transformer.support.modes import evaluating
from transformer.training import processes
from transformer.training.devices import Precision

CACHE = 2**19  # numbers of a part of the logits: 2 MB in float32


class LossSums(NamedTuple):
    """Sums over the real tokens of a batch; divide by `tokens` for a mean."""

    loss: Tensor  # smoothed, in nats, a scalar; carries the gradient
    nll: Tensor  # negative log likelihood, unsmoothed, in nats, a scalar without gradient
    tokens: Tensor  # how many targets are not padding, a scalar


def label_smoothing_loss(
    logits: Tensor, targets: Tensor, *, smoothing: float, pad_id: int
) -> LossSums:
    """Sum the label-smoothed loss over the real tokens (§5.4).

    A token costs the cross-entropy to a target of 1 - e on the true type plus e / V on each of the
    V types, as with `torch.nn.CrossEntropyLoss(label_smoothing=e)`.

    Logits are `(batch, tgt_len, vocab_size)` of any float type, computed in float32 at least;
    targets are true ids `(batch, tgt_len)`; e is `smoothing`, from 0 up to, not including, 1. The
    gradient can be asked for once: the backward pass overwrites what it was made from.
    """
    check_float_tensor("logits", logits, (*getattr(targets, "shape", ()), None))
    check_id_tensor("targets", targets)
    check_number("pad_id", pad_id, -MAX_VOCAB_SIZE, MAX_VOCAB_SIZE, integer=True)
    check_number("smoothing", smoothing, -1)
    if not 0 <= smoothing < 1:
        raise UserError(f"smoothing is {smoothing}: give a number from 0 up to, not including, 1")
    real = targets != pad_id
    try:
        flat = (each.flatten(0, 1) for each in (logits, targets, real))
        loss, true = _SmoothedLoss.apply(*flat, smoothing)
    except RuntimeError:  # only now, for a step waits for no number: is a target to blame?
        low, high = map(int, targets.aminmax())
        if low < 0 or high >= logits.size(-1):
            known = f"give ids from 0 to {logits.size(-1) - 1}"
            raise UserError(f"targets go from {low} to {high}: {known}") from None
        raise
    return LossSums(loss, -true.where(real.flatten(), 0).sum(), real.sum())


class _SmoothedLoss(torch.autograd.Function):
    """The summed loss; at the logits its gradient is the probabilities minus the targets.

    Left to autograd, the gradient passes through several tensors as large as the logits, and a step
    takes a fifth longer (docs/decisions/loss-gradient.md).
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, real: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """Give the sum, and the log-probability of each target (tokens,)."""
        share = smoothing / logits.size(-1)  # of each type
        true_share = 1 - smoothing + share
        log_probs = torch.empty_like(logits, dtype=torch.promote_types(logits.dtype, torch.float32))
        for part in _parts(logits):
            torch.log_softmax(logits[part], -1, log_probs.dtype, out=log_probs[part])
        true = log_probs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        per_token = -true_share * true
        if smoothing > 0:
            per_token = per_token - share * (log_probs.sum(-1) - true)
        ctx.save_for_backward(log_probs, targets, real)
        ctx.dtype, ctx.shares = logits.dtype, (share, true_share)
        ctx.mark_non_differentiable(true)
        return per_token.where(real, 0).sum(), true

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Give the gradient at the logits, (tokens, vocab_size)."""
        log_probs, targets, real = ctx.saved_tensors
        share, true_share = ctx.shares
        half = ctx.dtype != log_probs.dtype  # else the gradient takes the place of these
        gradient = torch.empty_like(log_probs, dtype=ctx.dtype) if half else log_probs
        more = log_probs.new_full((), share - true_share)  # made on the device, not copied to it
        for part in _parts(log_probs):
            probs, true = log_probs[part].exp_(), targets[part].unsqueeze(-1)
            probs.sub_(share).scatter_add_(-1, true, more.expand(true.shape))
            torch.mul(probs, (real[part] * upstream[0]).unsqueeze(-1), out=gradient[part])
        return gradient, None, None, None


def _parts(logits: Tensor) -> list[slice]:
    """Cut (tokens, vocab_size) so that a CPU has a part in its cache; a GPU takes all at once."""
    tokens, types = logits.shape
    at_once = max(1, CACHE // types) if logits.is_cpu else tokens
    return [slice(i, i + at_once) for i in range(0, tokens, at_once)]


def batch_loss(
    model: nn.Module, batch: Batch, config: TrainingConfig, precision: Precision = Precision.FLOAT32
) -> LossSums:
    """Sum the loss of a model, `(src, tgt_in) -> logits`, on a batch that is on its device.

    `precision` is that of the model's products; the loss is computed in float32.
    """
    with precision.autocast(batch.src.device):
        logits = model(batch.src, batch.tgt_in)  # (batch, tgt_len, vocab_size)
    return label_smoothing_loss(
        logits, batch.tgt_out, smoothing=config.label_smoothing, pad_id=PAD_ID
    )


def validation_loss(
    model: nn.Module,
    batches: Iterable[Batch],
    *,
    device: torch.device | str = "cpu",
    precision: Precision = Precision.FLOAT32,
    micro_tokens: int | None = None,
) -> float:
    """Measure the mean loss without smoothing or dropout, nats per real token.

    Several processes share the batches, and all get the mean over all of them. At most
    `micro_tokens` tokens are computed at once; None: a batch.

    Raises:
        UserError: there are no tokens.
    """
    config = TrainingConfig(label_smoothing=0.0)
    total, tokens = 0.0, 0.0
    with evaluating(model), torch.inference_mode():
        for batch in islice(batches, processes.rank(), None, processes.world_size()):
            for part in micro_batches(batch, micro_tokens):
                total += float(batch_loss(model, part.to(device), config, precision).nll)
            tokens += batch.num_tgt_tokens
    total, tokens = processes.all_reduce_sum([total, tokens])
    if tokens == 0:
        raise UserError("no validation tokens: give at least one batch with text")
    return total / tokens
