"""The output layer and the loss in one, part by part: the plain loss, in less time and memory.

Not in the paper. The logits of a batch are by far its largest tensor. Here they are computed some
hundred rows at a time, for real tokens alone, and become their gradient at once, while they are in
the processor's cache (docs/decisions/loss-gradient.md).
"""

import math
from inspect import signature
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.parallel import DistributedDataParallel

from transformer.support.checks import check_hidden_states
from transformer.training.fast_loss import row_slices
from transformer.training.loss import LossSums, check_loss_inputs, check_targets

MAX_ROWS_PER_PART = 512  # of logits, each as long as the vocabulary
# A product over so few rows, in float32, took 0.9 of the time of one over 512 (an Intel Xeon).
MAX_ROWS_PER_WEIGHT_PRODUCT = 128
# With fewer logits, 32 MB in float32, there is little to gain.
MIN_LOGITS_FOR_PARTS = 2**23


def output_layer_for_parts(network: Any, targets: Tensor) -> nn.Linear | None:
    """Return the output layer whose loss is to be computed in parts; None: compute all logits.

    A model offers its hidden states if its own class has a `forward(src, tgt_in, return_hidden)`
    that returns them when asked, (batch, tgt_len, width), and its `output`, an `nn.Linear`, makes
    its logits of them. A subclass does not inherit the offer, for it may change the logits; nor
    does a model with a hook that sees them, or with a `forward` or `decode` of its own.

    `network` is the model, or what DistributedDataParallel made of it. All logits are computed at
    once if they are few, on a GPU, and in fp16, whose gradients must be scaled before they are
    rounded.
    """
    model = network.module if isinstance(network, DistributedDataParallel) else network
    forward, output = vars(type(model)).get("forward"), getattr(model, "output", None)
    if forward is None or "return_hidden" not in signature(forward).parameters:
        return None
    if type(output) is not nn.Linear or output._forward_pre_hooks:
        return None
    is_altered = any(
        part._forward_hooks
        or part._backward_hooks
        or part._backward_pre_hooks
        or {"forward", "decode"} & vars(part).keys()
        for part in (network, model, output)
    )
    if is_altered:
        return None
    is_large = targets.numel() * output.out_features >= MIN_LOGITS_FOR_PARTS
    is_quick = targets.is_cpu and _product_dtype(output.weight) != torch.float16
    return output if is_large and is_quick else None


def linear_label_smoothing_loss(
    hidden: Tensor, output: nn.Linear, targets: Tensor, *, smoothing: float, pad_id: int
) -> LossSums:
    """Return what `label_smoothing_loss` returns for the logits `output(hidden)` (§5.4).

    Products are in autocast's type, as in any `nn.Linear`; the loss is in float32 at least.

    Args:
        hidden: (batch, tgt_len, width)
        output: The layer that makes logits of them.
        targets, smoothing, pad_id: As of `label_smoothing_loss`.
    """
    check_loss_inputs(hidden, targets, smoothing, pad_id)
    check_hidden_states("hidden", hidden, output.in_features, output.weight)
    check_targets(targets, output.out_features)
    rows = (targets.flatten() != pad_id).nonzero().squeeze(1)  # (tokens,): those of real targets
    loss, nll = _LinearLoss.apply(
        hidden.flatten(0, 1),
        output.weight,
        output.bias,
        rows,
        targets.flatten()[rows],
        smoothing,
        torch.is_grad_enabled(),
    )
    return LossSums(loss, nll, targets.new_tensor(len(rows)))


class _LinearLoss(torch.autograd.Function):
    """The summed loss. Its gradients are computed with it, and kept in place of the logits."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        rows: Tensor,
        targets: Tensor,
        smoothing: float,
        with_gradients: bool,
    ) -> tuple[Tensor, Tensor]:
        """Return the sum, and that of the negative log probabilities of the targets.

        `rows` says which of the hidden states, (all tokens, width), are those of `targets`.
        """
        dtype = _product_dtype(weight)
        narrow_bias = None if bias is None else bias.to(dtype)
        inputs = hidden[rows].to(dtype)  # (tokens, width)
        with torch.autocast(hidden.device.type, enabled=False):
            sums = _loss_in_parts(
                inputs, weight.to(dtype), narrow_bias, targets, smoothing, with_gradients
            )
        ctx.mark_non_differentiable(sums.nll)
        if with_gradients:
            hidden_gradient = torch.zeros_like(hidden)
            hidden_gradient[rows] = sums.hidden_gradient.to(hidden.dtype)
            kept = (hidden_gradient, sums.weight_gradient, sums.bias_gradient)
            ctx.save_for_backward(*kept[: 2 if bias is None else 3])
        return sums.loss, sums.nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients at the hidden states, the weight and the bias."""
        gradients = [gradient * upstream[0] for gradient in ctx.saved_tensors]
        return (*gradients, *[None] * (7 - len(gradients)))


class _LossAndGradients(NamedTuple):
    """Sums over tokens, and the gradients of the first; in float32 at least."""

    loss: Tensor
    nll: Tensor
    hidden_gradient: Tensor  # (tokens, width)
    weight_gradient: Tensor  # (vocab_size, width)
    bias_gradient: Tensor  # (vocab_size,)


def _loss_in_parts(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    smoothing: float,
    with_gradients: bool,
) -> _LossAndGradients:
    """Compute logits, loss and, if asked for, gradients of (tokens, width), part by part.

    At each token the gradient is the probabilities minus the target, which is `share` at every
    type, and more at the true one. What `share` adds is the same at every token: it is computed
    once, at the end, from the sums of the hidden states and of the weights.
    """
    wide = torch.promote_types(weight.dtype, torch.float32)
    share = smoothing / len(weight)
    surplus = hidden.new_full((), 1 - smoothing, dtype=wide)  # of the true type over `share`
    nll, log_totals = hidden.new_zeros(2, dtype=wide).unbind()
    hidden_gradient, weight_gradient = (torch.zeros_like(t, dtype=wide) for t in (hidden, weight))
    bias_gradient = weight.new_zeros(len(weight), dtype=wide)
    num_parts = max(1, math.ceil(len(hidden) / MAX_ROWS_PER_PART))
    tensors = (hidden, targets.unsqueeze(1), hidden_gradient)
    for inputs, true, gradient in zip(*(t.chunk(num_parts) for t in tensors), strict=True):
        logits = F.linear(inputs, weight, bias).to(wide)  # (tokens of the part, vocab_size)
        true_logits, true_log_probs = logits.gather(1, true), _softmax_in_place(logits, true)
        nll -= true_log_probs.sum()
        log_totals += (true_logits - true_log_probs).sum()
        if with_gradients:
            logits_gradient = logits.scatter_add_(1, true, -surplus.expand_as(true))
            if bias is not None:
                bias_gradient += logits_gradient.sum(0)
            logits_gradient = logits_gradient.to(weight.dtype)
            gradient.copy_(logits_gradient @ weight)
            _add_weight_gradient(weight_gradient, logits_gradient, inputs)

    loss = surplus * nll + share * (len(weight) * log_totals - _sum_of_logits(hidden, weight, bias))
    hidden_gradient -= share * weight.sum(0, dtype=wide)
    weight_gradient -= share * hidden.sum(0, dtype=wide)
    bias_gradient -= share * len(hidden)
    return _LossAndGradients(loss, nll, hidden_gradient, weight_gradient, bias_gradient)


def _softmax_in_place(logits: Tensor, true: Tensor) -> Tensor:
    """Overwrite logits by their probabilities, some rows at a time, which a CPU's cache holds.

    Returns the log probabilities of the true types, (tokens, 1).
    """
    true_log_probs = torch.empty_like(true, dtype=logits.dtype)
    for rows in row_slices(logits):
        log_probs = torch.log_softmax(logits[rows], 1, out=logits[rows])
        torch.gather(log_probs, 1, true[rows], out=true_log_probs[rows])
        log_probs.exp_()
    return true_log_probs


def _add_weight_gradient(total: Tensor, logits_gradient: Tensor, hidden: Tensor) -> None:
    """Add to the weight's gradient, (vocab_size, width), what some tokens contribute to it."""
    if total.dtype != hidden.dtype:
        total += logits_gradient.T @ hidden
        return
    parts = (t.split(MAX_ROWS_PER_WEIGHT_PRODUCT) for t in (logits_gradient, hidden))
    for gradient, inputs in zip(*parts, strict=True):
        total.addmm_(gradient.T, inputs)


def _sum_of_logits(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Sum all logits without computing them, from the sums of their factors."""
    wide = torch.promote_types(weight.dtype, torch.float32)
    total = hidden.sum(0, dtype=wide) @ weight.sum(0, dtype=wide)
    return total if bias is None else total + len(hidden) * bias.sum(dtype=wide)


def _product_dtype(weight: Tensor) -> torch.dtype:
    """Return the type in which an `nn.Linear` computes with a weight here: autocast's, if any."""
    device = weight.device.type
    if torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return weight.dtype
