"""The loss has a gradient at every parameter, and the right one (§5.3)."""

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_laws.law import law
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 110
MAX_PARAMETERS_NAMED = 4  # parameters that a finding names
# Pairs of steps along a line, in typical weights: the longer ones are for models that compute some
# parts in float32 whatever their type is, as Llama's norms.
STEP_LENGTHS = ((1e-6, 3e-7), (1e-3, 3e-4))
NUM_LINES = 3  # a fault shows along each of them


@law("module", compares=False)
def gradients_reach_all_parameters(subject: Subject) -> Finding:
    """The loss has a gradient at every parameter.

    Means: a layer is never used, or cut off by detach, no_grad, argmax or a new tensor
    Look: in forward, at the layer that is named
    How: Some right models begin with matrices of zeros, which let no gradient through: noise is
    added to all weights before one is called cut off.
    """
    parameters = subject.trainable_parameters()
    if not parameters:
        return not_tried_finding("no parameter requires a gradient")
    loss = _random_batch_loss(subject)
    if not loss.requires_grad:
        return broken_finding(
            "logits have no gradient at all: forward runs under no_grad, or detaches"
        )
    grads = gradients_by_parameter_name(loss, parameters)
    not_finite = [n for n, g in grads.items() if g is not None and not g.isfinite().all()]
    if not_finite:
        return broken_finding(
            f"the gradient of the loss is not finite at {format_first_parameter_names(not_finite)}"
        )
    without_gradient = _names_without_gradient(subject, grads)
    if without_gradient:
        _add_noise_to_parameters(subject, parameters)
        candidates = {name: parameters[name] for name in without_gradient}
        grads = gradients_by_parameter_name(_random_batch_loss(subject), candidates)
        without_gradient = _names_without_gradient(subject, grads)
    if without_gradient:
        return broken_finding(
            f"no gradient of the loss reaches {format_first_parameter_names(without_gradient)}"
        )
    return kept_finding(
        f"the loss of a batch has a gradient at each of {len(parameters)} parameters"
    )


@torch.no_grad()
def _add_noise_to_parameters(subject: Subject, parameters: dict[str, Tensor]) -> None:
    """Add to each weight a fifth of the typical weight of its tensor."""
    for weight in parameters.values():
        size = float(weight.abs().mean()) or 0.01
        noise = torch.randn(weight.shape, generator=subject.generator)
        weight.add_(noise.to(weight) * size / 5)


def format_first_parameter_names(names: list[str]) -> str:
    """Return the first few names of parameters, and the number of the others."""
    shown = ", ".join(names[:MAX_PARAMETERS_NAMED])
    return (
        shown
        if len(names) <= MAX_PARAMETERS_NAMED
        else f"{shown} and {len(names) - MAX_PARAMETERS_NAMED} more"
    )


def gradients_by_parameter_name(
    loss: Tensor, parameters: dict[str, Tensor]
) -> dict[str, Tensor | None]:
    """Return the gradient of the loss at each parameter, None if it has none."""
    grads = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    return dict(zip(parameters, grads, strict=True))


def _names_without_gradient(subject: Subject, grads: dict[str, Tensor | None]) -> list[str]:
    """Return the names of parameters that have no gradient, or none in a part.

    The parts are a half or a third of several maps in one matrix. A vector of zeros may be right:
    the gradient at the bias of keys is one.
    """
    modules = subject.module.named_modules()
    linear_weights = {f"{name}.weight" for name, part in modules if isinstance(part, nn.Linear)}
    names = []
    for name, grad in grads.items():
        if grad is None:
            names.append(name)
        elif grad.dim() > 1:
            ratio = len(grad) / grad.shape[1] if name in linear_weights else 1
            parts = grad.chunk(int(ratio) if ratio in (2, 3) else 1)
            if not all(bool(part.any()) for part in parts):
                names.append(name)
    return names


def _random_batch_loss(subject: Subject) -> Tensor:
    """Return the loss of a batch of random sentences, the adapter's own if it has one."""
    adapter = subject.adapter
    src, tgt_in, tgt_out = subject.draw_batch()
    if adapter.loss is not None:
        return adapter.loss(adapter.forward(src, tgt_in), tgt_out)
    return _cross_entropy_of_model(subject, src, tgt_in, tgt_out)


def _cross_entropy_of_model(
    subject: Subject, src: Tensor, tgt_in: Tensor, tgt_out: Tensor
) -> Tensor:
    logits = subject.adapter.forward(src, tgt_in).flatten(end_dim=1)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(logits, tgt_out.flatten())


@law("module")
def autograd_matches_finite_differences(subject: Subject) -> Finding:
    """The gradient is the loss's slope: a step along a line changes the loss by as much.

    Means: one of several paths to a parameter is cut off, by detach, .data, no_grad or item, so
    that it is trained by a part of its effect
    Look: in forward, at each detach() and no_grad()
    """
    batch = subject.draw_batch()
    with subject.computing_in_float64():
        if subject.logits(*batch[:2]).dtype != torch.float64:
            return not_tried_finding("it does not compute in float64")
        gaps = []
        for measured in _measure_slope_gaps(subject, batch):
            for gap, uncertainty in measured:
                if gap <= 1e-4 + 10 * uncertainty < 1e-2:
                    return kept_finding(
                        f"slope and gradient along a line differ by {gap:.1g} of their size"
                    )
            gaps += [gap for gap, uncertainty in measured if uncertainty < 1e-3][:1]
    if len(gaps) < NUM_LINES:
        return not_tried_finding(
            "slopes are no sharper by a shorter step: something rounds to float32"
        )
    return broken_finding(
        f"along {len(gaps)} lines the loss's slope is {gaps[0]:.2%} off its gradient"
    )


def _measure_slope_gaps(
    subject: Subject, batch: tuple[Tensor, Tensor, Tensor]
) -> Iterator[list[tuple[float, float]]]:
    """Yield, for each of some lines, a gap and its uncertainty for each pair of steps."""
    parameters = subject.trainable_parameters()
    values = {name: weight.detach().clone() for name, weight in parameters.items()}

    @torch.no_grad()
    def loss_at(step: float, direction: dict[str, Tensor]) -> float:
        for name, weight in parameters.items():
            weight.copy_(values[name] + step * direction[name])
        return float(_cross_entropy_of_model(subject, *batch))

    for _ in range(NUM_LINES):
        direction = _draw_parameter_direction(subject, parameters, values)
        loss_at(0, direction)
        loss = _cross_entropy_of_model(subject, *batch)
        grads = gradients_by_parameter_name(loss, parameters)
        yield [_slope_gap_and_uncertainty(grads, direction, loss_at, x) for x in STEP_LENGTHS]


def _draw_parameter_direction(
    subject: Subject, parameters: dict[str, Tensor], values: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Draw a direction to move parameters in, 0 at the embeddings of padding.

    Torch gives those no gradient on purpose.
    """
    direction = {n: torch.randn_like(w) * w.abs().mean() for n, w in values.items()}
    for part in subject.module.modules():
        if isinstance(part, nn.Embedding) and part.padding_idx is not None:
            for name, weight in parameters.items():
                if weight is part.weight:
                    direction[name][part.padding_idx] = 0
    return direction


def _slope_gap_and_uncertainty(
    grads: dict[str, Tensor | None],
    direction: dict[str, Tensor],
    loss_at: Callable[[float, dict[str, Tensor]], float],
    steps: tuple[float, float],
) -> tuple[float, float]:
    """Return the gap between slope and gradient, and the slope's uncertainty, by their size.

    The uncertainty is large if something rounds to float32.
    """
    parts = [float((grad * direction[n]).sum()) for n, grad in grads.items() if grad is not None]
    slopes = [(loss_at(step, direction) - loss_at(-step, direction)) / (2 * step) for step in steps]
    size = max(sum(part**2 for part in parts) ** 0.5, 1e-12)
    return abs(slopes[1] - sum(parts)) / size, abs(slopes[0] - slopes[1]) / size
