"""What a checkpoint must hold before anything of it is restored.

Not in the paper. PyTorch restores what it is given, and a fused optimizer reads and writes past the
end of a moment that is too short. So names, shapes, types and ranges are compared first with those
of the optimizer, the generators and the scaler that are to go on from them. Each function returns
what is wrong in words, "" if nothing is.
"""

import math
import typing
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim import Optimizer

from transformer.models.weights import non_finite_problem
from transformer.support.errors import describe_value, short_repr

MAX_PROGRESS_COUNT = 10**15  # more than any run counts: of steps, of tokens, of bytes of a log
OPTIMIZER_STEP_KEY = "step"  # what PyTorch's optimizers call their counter of updates
# What PyTorch's optimizers call their running means and sums of squares.
SQUARE_KEYS = frozenset(("exp_avg_sq", "max_exp_avg_sq", "square_avg", "acc_delta", "sum"))

# By the number of the parameter, and by key: tensors, or plain numbers where it keeps those.
OptimizerState = dict[int, dict[str, Tensor | float]]


# --- the optimizer ------------------------------------------------------------------------------


class ShapeAndDtype(NamedTuple):
    """The shape and type of one entry of an optimizer's state; of a plain number, () and None."""

    shape: tuple[int, ...]
    dtype: torch.dtype | None

    def __str__(self) -> str:
        kind = "a plain number" if self.dtype is None else str(self.dtype).removeprefix("torch.")
        return f"{kind} of shape {self.shape}" if self.shape else kind


def _shape_and_dtype(value: Tensor | float) -> ShapeAndDtype:
    if isinstance(value, Tensor):
        return ShapeAndDtype(tuple(value.shape), value.dtype)
    return ShapeAndDtype((), None)


@torch.no_grad()
def optimizer_state_specs(optimizer: Optimizer) -> list[dict[str, ShapeAndDtype]]:
    """Return what an optimizer keeps of each of its parameters that had a gradient.

    It makes a step, with a learning rate and gradients of zero, and takes it back.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state = dict(optimizer.state)
    optimizer.state.clear()
    weights = [parameter.detach().clone() for parameter in parameters]
    rates = [group["lr"] for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    for parameter in parameters:
        if parameter.requires_grad:
            parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    specs = [
        {key: _shape_and_dtype(value) for key, value in optimizer.state.get(parameter, {}).items()}
        for parameter in parameters
    ]
    optimizer.state.clear()
    optimizer.state.update(state)
    optimizer.zero_grad()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    for parameter, weight in zip(parameters, weights, strict=True):
        parameter.copy_(weight)
    return specs


def optimizer_state_problem(
    states: OptimizerState,
    without_state: Any,
    specs: list[dict[str, ShapeAndDtype]],
    step: int,
) -> str:
    """Compare the state of each parameter with what the optimizer keeps of it (`specs`).

    `without_state` lists the parameters that have none, because they had no gradient in any of the
    `step` updates.
    """
    if not isinstance(without_state, list) or any(
        type(index) is not int for index in without_state
    ):
        return f"without_state is {short_repr(without_state)}"
    for index in sorted({*range(len(specs)), *states, *without_state}):
        name = f"the optimizer's state of parameter {index}"
        if not 0 <= index < len(specs):
            return f"it has {name}, and there are {len(specs)} parameters"
        if index in without_state and index not in states:
            continue
        if problem := _parameter_state_problem(states.get(index, {}), specs[index], step):
            return f"{name}: {problem}"
    return ""


def _parameter_state_problem(
    state: Mapping[str, Tensor | float], specs: Mapping[str, ShapeAndDtype], step: int
) -> str:
    for key in sorted(state.keys() ^ specs.keys()):
        return f"{key} is unknown here" if key in state else f"{key} is missing"
    for key, value in state.items():
        if _shape_and_dtype(value) != specs[key]:
            return f"{key} is {describe_value(value)}, not {specs[key]}"
        tensor = torch.as_tensor(value)
        if problem := non_finite_problem(tensor):
            return f"{key} {problem}"
        if key in SQUARE_KEYS and tensor.numel() and tensor.min() < 0:
            return f"{key}, a mean of squares, holds a number below 0"
        if key == OPTIMIZER_STEP_KEY and tensor.numel() == 1 and not _is_count(tensor.item(), step):
            return f"{key} is {tensor.item()}, and the run has done {step} steps"
    return ""


def _is_count(value: float, limit: float) -> bool:
    return value == int(value) and 0 <= value <= limit


# --- random numbers and the scaler --------------------------------------------------------------


def rng_state_problem(name: str, state: Tensor | None, device: torch.device) -> str:
    """Let a new generator of the device take over a state, to see whether it can."""
    generator = torch.Generator(device)
    current = generator.get_state()
    if state is None:
        return f"{name} is missing"
    if (state.shape, state.dtype) != (current.shape, current.dtype):
        return f"{name} is {describe_value(state)}, not {describe_value(current)}"
    try:
        generator.set_state(state)
    except RuntimeError as error:
        return f"{name} is no state of a random generator ({str(error).splitlines()[0]})"
    return ""


def scaler_state_problem(saved: Any, current: Mapping[str, Any]) -> str:
    """Compare a `GradScaler`'s state with that of a new one: its scale and its count may differ."""
    if not isinstance(saved, dict) or saved.keys() != current.keys():
        return f"scaler is {short_repr(saved)}, not one as {short_repr(dict(current))}"
    for name, value in saved.items():
        if name == "scale":
            fits = type(value) is float and 0 < value < math.inf
        elif name == "_growth_tracker":
            fits = type(value) is int and 0 <= value < current["growth_interval"]
        else:
            fits = value == current[name]
        if not fits:
            return f"the scaler's {name} is {short_repr(value)}"
    return ""


# --- progress and settings ----------------------------------------------------------------------


def progress_problem(values: Any, progress_class: type) -> str:
    """Check that values are those of the fields of `Progress`, and of a run that there can be."""
    types = typing.get_type_hints(progress_class)
    if not isinstance(values, dict):
        return f"progress is {short_repr(values)}"
    for name in sorted(types.keys() ^ values.keys()):
        return f"progress has {name}, which is unknown here" if name in values else f"no {name}"
    for name, value in values.items():
        if not _has_progress_type(value, types[name]):
            return f"{name} is {short_repr(value)}"
    step, to_average, best_step = values["step"], values["to_average"], values["best_step"]
    fits_step = {
        "batch": values["epoch"] + values["batch"] <= step,  # Each step has a batch of its own.
        "best_step": best_step is None or best_step <= step,
        "best_loss": (values["best_loss"] is None) == (best_step is None),
        "overflows": values["overflows"] <= step,
        "overflows_in_a_row": values["overflows_in_a_row"] <= values["overflows"],
        "to_average": to_average == sorted({*to_average} & {*range(step + 1)}),
    }
    for name, fits in fits_step.items():
        if not fits:
            return f"{name} is {short_repr(values[name])} after {step} steps"
    return ""


def _has_progress_type(value: Any, hint: Any) -> bool:
    """Return whether a value has the type of a field, and a number is finite and not below 0."""
    if typing.get_origin(hint) is list:
        return isinstance(value, list) and all(_has_progress_type(item, int) for item in value)
    if value is None:
        return type(None) in typing.get_args(hint)
    kinds = typing.get_args(hint) or (hint,)
    if float in kinds:
        return type(value) in (int, float) and 0 <= value < math.inf
    return type(value) is int and 0 <= value <= MAX_PROGRESS_COUNT


def settings_form_problem(values: Any) -> str:
    """Check that values have the form of `settings.run_settings`, so that they can be compared."""
    if not isinstance(values, dict):
        return f"settings are {short_repr(values)}"
    for name in ("d_model", "precision"):
        if name not in values:
            return f"settings have no {name}"
    for name in ("parts", "extra_settings", "learning_rates"):
        if not isinstance(values.get(name, {}), dict):
            return f"{name} is {short_repr(values[name])}"
    groups = values.get("parameter_groups", [])
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        return f"parameter_groups is {short_repr(groups)}"
    for step, rate in values.get("learning_rates", {}).items():
        if not step.isdecimal() or type(rate) not in (int, float):
            return f"learning_rates has {short_repr(rate)} at step {short_repr(step)}"
    return ""
