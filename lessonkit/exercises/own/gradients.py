"""Whether a class can learn: its gradients beside the reference's (not in the paper)."""

import copy
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lessonkit.exercises.outcome import describe_difference_safely
from lessonkit.exercises.rules import BrokenRuleError

# Relative to the largest number: float32 sums in another order stay below.
MAX_RELATIVE_GRADIENT_ERROR = 1e-3
MIN_COMPARED_GRADIENT = 1e-5  # smaller ones are not compared


class ValueAndGradients(NamedTuple):
    """What a module computed in training mode, and the gradients of all that it used."""

    value: Tensor
    gradients: dict[str, Tensor | None]  # by name: "mine.token.weight", "memory"


def evaluate_case_code(code: str, mine: nn.Module, inputs: dict[str, Any]) -> Any:
    """Return the value of a case's code, in which the module is called `mine`."""
    return eval(code, {"torch": torch, "mine": mine, **inputs})


def raise_unless_gradients_match(
    code: str, mine: nn.Module, right: ValueAndGradients, inputs: dict[str, Any]
) -> None:
    """Refuse a class that computes the right tensor and cannot learn from it.

    Args:
        code: A case's.
        mine: The class to judge, in training mode.
        right: What the reference computes.
        inputs: What the code names.

    Raises:
        BrokenRuleError: a gradient is missing or wrong, or the value is another in training mode.
    """
    yours = compute_value_and_gradients(code, mine, inputs)
    if yours is None:
        return
    if describe_difference_safely(yours.value, right.value):
        raise BrokenRuleError("it gives something else in training mode")
    for name, gradient in right.gradients.items():
        if gradient is None or float(gradient.abs().max()) < MIN_COMPARED_GRADIENT:
            continue
        your_gradient = yours.gradients[name]
        if your_gradient is None:
            raise BrokenRuleError(
                f"its value is right, but it cannot learn: no gradient {name}.grad"
            )
        error = float((your_gradient - gradient).abs().max())
        if error > MAX_RELATIVE_GRADIENT_ERROR * float(gradient.abs().max()):
            raise BrokenRuleError(f"its value is right, but not the gradient {name}.grad")


def compute_value_and_gradients(
    code: str, module: nn.Module, inputs: dict[str, Any]
) -> ValueAndGradients | None:
    """Run a module backwards; None if its value is no tensor."""
    for part in module.modules():
        if isinstance(part, nn.Dropout):  # no part of the lesson, and no mistake
            part.p = 0.0
    leaves = {
        name: value.clone().requires_grad_() if _is_float_tensor(value) else copy.deepcopy(value)
        for name, value in inputs.items()
    }
    value = evaluate_case_code(code, module, leaves)
    if not isinstance(value, Tensor):
        return None
    if value.requires_grad:
        value.square().sum().backward()
    gradients = {
        f"mine.{name}": weight.grad
        for name, weight in module.named_parameters(remove_duplicate=False)
    }
    gradients |= {name: leaf.grad for name, leaf in leaves.items() if _is_float_tensor(leaf)}
    return ValueAndGradients(value, gradients)


def _is_float_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()
