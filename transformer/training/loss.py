"""The loss: label smoothing in its two usual forms (§5.4), over real tokens only."""

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from transformer.config import PAD_ID, TrainingConfig
from transformer.data.batches import Batch
from transformer.dropout import evaluating
from transformer.support.errors import MOST_TYPES, UserError, check_floats, check_ids, check_number
from transformer.training import processes
from transformer.training.devices import Precision


class LossSums(NamedTuple):
    """Sums over the real tokens of a batch; divide by `tokens` for a mean."""

    loss: Tensor  # smoothed, in nats, a scalar; carries the gradient
    nll: Tensor  # negative log likelihood, unsmoothed, in nats, a scalar without gradient
    tokens: Tensor  # how many targets are not padding, a scalar


def smoothed_targets(
    targets: Tensor,
    vocab_size: int,
    *,
    smoothing: float,
    pad_id: int,
    over_all: bool = True,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Spell out the distribution that label smoothing trains towards (§5.4).

    Args:
        targets: True ids `(batch, tgt_len)`.
        vocab_size: Types of the vocabulary.
        smoothing: Probability moved away from the true type.
        pad_id: Id of padding.
        over_all: Spread that mass over every type, the true one and padding included,
            as `torch.nn.CrossEntropyLoss` does; else over all but these two.
        dtype: Of the probabilities.

    Returns:
        Probabilities `(batch, tgt_len, vocab_size)`; all zero where the target is padding.

    Raises:
        UserError: smoothing is below 0, or 1 or more, or no type is left to take the mass.
    """
    share, true_share = _shares(smoothing, vocab_size, over_all)
    _check_targets(targets, vocab_size, pad_id)
    size = (*targets.shape, vocab_size)
    wanted = torch.full(size, share, dtype=dtype, device=targets.device)
    if not over_all:
        wanted[..., pad_id] = 0
    wanted.scatter_(-1, targets.unsqueeze(-1), true_share)
    return wanted * (targets != pad_id).unsqueeze(-1)


def _shares(smoothing: float, vocab_size: int, over_all: bool) -> tuple[float, float]:
    """Give the probability that each type has which takes some, and that the true one has."""
    check_number("smoothing", smoothing, -1)
    check_number("vocab_size", vocab_size, 1, MOST_TYPES, whole=True)
    if not 0 <= smoothing < 1:
        raise UserError(f"smoothing is {smoothing}: give a number from 0 up to, not including, 1")
    if not over_all and vocab_size < 3:
        raise UserError(
            f"a vocabulary of {vocab_size} has no type beside the true one and padding: "
            "give 3 or more, or smooth over all"
        )
    share = smoothing / (vocab_size if over_all else vocab_size - 2)
    return share, 1 - smoothing + (share if over_all else 0)


def _check_targets(targets: Tensor, vocab_size: int, pad_id: int) -> None:
    """Refuse ids that the logits do not score; on a GPU, which would wait, torch sees to that."""
    check_number("pad_id", pad_id, -MOST_TYPES, MOST_TYPES, whole=True)
    check_ids("targets", targets)
    if targets.device.type == "cpu" and targets.numel():
        low, high = map(int, targets.aminmax())
        if low < 0 or high >= vocab_size:
            raise UserError(f"targets go from {low} to {high}: give ids from 0 to {vocab_size - 1}")


def label_smoothing_loss(
    logits: Tensor, targets: Tensor, *, smoothing: float, pad_id: int, over_all: bool = True
) -> LossSums:
    """Sum the label-smoothed loss over the real tokens (§5.4).

    With p the model's probabilities, V types and smoothing e, a token costs

    - over all: the cross-entropy to a target of 1 - e on the true type plus e / V on
      every type; the same number as `torch.nn.CrossEntropyLoss(label_smoothing=e)`;
    - else: the Kullback-Leibler divergence from p to a target of 1 - e on the true type
      and e / (V - 2) on every other but padding: 0 when p is exactly that target.

    Training uses `fused_smoothing_loss`, the same numbers in less memory.

    Args:
        logits: Scores before the softmax `(batch, tgt_len, vocab_size)`, any float type;
            computed in float32 at least.
        targets, smoothing, pad_id, over_all: As of `smoothed_targets`, and its errors.
    """
    check_floats("logits", logits, (*getattr(targets, "shape", ()), None))
    dtype = torch.promote_types(logits.dtype, torch.float32)
    log_probs = logits.log_softmax(-1, dtype=dtype)  # (batch, tgt_len, vocab_size)
    wanted = smoothed_targets(
        targets, logits.size(-1), smoothing=smoothing, pad_id=pad_id, over_all=over_all, dtype=dtype
    )  # (batch, tgt_len, vocab_size)
    terms = torch.where(wanted > 0, wanted * log_probs, 0)  # what is not asked for costs nothing
    loss = -terms.sum(-1)  # (batch, tgt_len): the cross-entropy of each token
    if not over_all:
        loss = loss + wanted.xlogy(wanted).sum(-1)  # less its target's entropy: the divergence
    real = targets != pad_id
    true = log_probs.detach().gather(-1, targets.unsqueeze(-1)).squeeze(-1)  # (batch, tgt_len)
    return LossSums(loss.sum(), -true.where(real, 0).sum(), real.sum())


def fused_smoothing_loss(
    logits: Tensor, targets: Tensor, *, smoothing: float, pad_id: int, over_all: bool = True
) -> LossSums:
    """Do what `label_smoothing_loss` does with the gradient written out: what training uses.

    Why is in docs/decisions/loss-gradient.md. The gradient can be asked for once: the backward pass
    overwrites what it was made from.
    """
    check_floats("logits", logits, (*getattr(targets, "shape", ()), None))
    check_ids("targets", targets)
    check_number("pad_id", pad_id, -MOST_TYPES, MOST_TYPES, whole=True)
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    real = targets != pad_id
    try:
        loss, true = _SmoothedLoss.apply(logits, targets, real, smoothing, pad_id, over_all)
    except RuntimeError:  # only now, for a step waits for no number: is a target to blame?
        _check_targets(targets, logits.size(-1), pad_id)
        raise
    return LossSums(loss, -true.where(real, 0).sum(), real.sum())


class _SmoothedLoss(torch.autograd.Function):
    """The summed loss; at the logits its gradient is the probabilities minus the targets.

    Left to autograd, the gradient passes through several tensors as large as the logits.
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
        share, true_share = _shares(smoothing, logits.size(-1), over_all)
        log_probs = logits.log_softmax(-1)
        true = log_probs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        per_token = -true_share * true
        if smoothing > 0:
            others = log_probs.sum(-1) - true
            if not over_all:
                others = others - log_probs[..., pad_id]
                per_token = per_token + true_share * math.log(true_share)
                per_token = per_token + smoothing * math.log(share)
            per_token = per_token - share * others
        ctx.save_for_backward(log_probs, targets, real)
        ctx.shares, ctx.pad_id, ctx.over_all = (share, true_share), pad_id, over_all
        ctx.mark_non_differentiable(true)
        return per_token.where(real, 0).sum(), true

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Give the gradient at the logits, (batch, tgt_len, vocab_size)."""
        log_probs, targets, real = ctx.saved_tensors
        share, true_share = ctx.shares
        gradient = log_probs.exp_()
        gradient -= share
        if not ctx.over_all:
            gradient[..., ctx.pad_id] += share
        more = gradient.new_full((), share - true_share)  # made on the device, not copied to it
        gradient.scatter_add_(-1, targets.unsqueeze(-1), more.expand(*targets.shape, 1))
        gradient *= (real * upstream[0]).unsqueeze(-1)
        return gradient, None, None, None, None, None


def batch_loss(
    model: nn.Module, batch: Batch, config: TrainingConfig, precision: Precision = Precision.FLOAT32
) -> LossSums:
    """Run a model on a batch and sum the loss that the configuration asks for, in float32.

    Args:
        model: Gives logits `(batch, tgt_len, vocab_size)` from src `(batch, src_len)` and
            tgt_in `(batch, tgt_len)`.
        batch: On the model's device.
        config: Which loss.
        precision: Of the model's products.
    """
    with precision.products(batch.src.device):
        logits = model(batch.src, batch.tgt_in)  # (batch, tgt_len, vocab_size)
    return fused_smoothing_loss(
        logits,
        batch.tgt_out,
        smoothing=config.label_smoothing,
        pad_id=PAD_ID,
        over_all=config.smooth_over_all,
    )


def validation_loss(
    model: nn.Module,
    batches: Iterable[Batch],
    *,
    device: torch.device | str = "cpu",
    precision: Precision = Precision.FLOAT32,
) -> float:
    """Measure the mean loss without smoothing or dropout, nats per real token.

    Several processes share the batches, and all get the mean over all of them.

    Raises:
        UserError: there are no tokens.
    """
    config = TrainingConfig(label_smoothing=0.0)
    total, tokens = 0.0, 0.0
    with evaluating(model), torch.inference_mode():
        for batch in islice(batches, processes.rank(), None, processes.size()):
            total += float(batch_loss(model, batch.to(device), config, precision).nll)
            tokens += batch.num_tgt_tokens
    total, tokens = processes.add_up([total, tokens])
    if tokens == 0:
        raise UserError("no validation tokens: give at least one batch with text")
    return total / tokens
