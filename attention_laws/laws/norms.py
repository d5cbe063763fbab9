"""Norms give what they read a size of one, whatever size it had (§3.1)."""

import contextlib
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attention_laws.law import law
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.module_at_fault import describe_module
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import MODEL_ERROR_TYPES, Subject

LAW_MODULE_SORT_KEY = 75
# Sizes at which a norm is tried; an epsilon below a thousandth is not felt at the smallest.
SIZES = (0.3, 1.0, 10.0)
MAX_RELATIVE_CHANGE = 0.03  # of a norm's output from one size to another
# Of the output's root mean square from 1, beside that of a variance over one fewer components.
MAX_SIZE_ERROR = 0.03
DIVISION_CALL_NAMES = {"div", "truediv", "divide", "true_divide"}


class _NormInput(NamedTuple):
    """What a norm reads."""

    rows: Tensor  # (positions, width)
    of_heads: bool  # whether it reads queries or keys, which may be sound of length one as well


@law("module", compares=False)
def norms_ignore_the_scale(subject: Subject) -> Finding:
    """A norm's output has unit size, and the same one whatever the scale of its input.

    Means: the root is missing, a sum stands for the mean, or the epsilon is too large: the scale
    of the words and of each layer then goes through
    Look: at what the norm that is named divides by
    """
    inputs = record_norm_inputs(subject)
    if not inputs:
        return not_tried_finding("no module that is called a norm reads one tensor")
    not_judged: list[str] = []
    for name, (x, of_heads) in inputs.items():
        norm = subject.module.get_submodule(name)
        unit = x / x.square().mean(dim=-1, keepdim=True).sqrt().clamp(min=1e-12)
        try:
            outputs = [norm_output(norm, size * unit) for size in SIZES]
        except MODEL_ERROR_TYPES as error:
            not_judged.append(f"{name} raises by itself: {str(error)[:100]}")
            continue
        if _squashes_components(norm, unit):
            not_judged.append(f"{name} bounds each component by itself")
            continue
        expected = outputs[SIZES.index(1.0)]
        for size, output in zip(SIZES, outputs, strict=True):
            change = float((output - expected).norm() / expected.norm().clamp(min=1e-12))
            if not change <= MAX_RELATIVE_CHANGE:
                seen = f"{describe_module(subject.module, name)}: an input {size:g} times as large"
                return broken_finding(f"{seen} changes its output by {change:.0%}")
        rms = float(expected.square().mean().sqrt())
        has_size_of_one = _is_unit_size(rms, x.shape[-1]) or _has_unit_size_part(expected)
        if not of_heads and _is_neutral(norm) and rms and not has_size_of_one:
            seen = f"{describe_module(subject.module, name)}: its output has a root mean square"
            return broken_finding(f"{seen} of {rms:.3g}, and no weight makes it other than 1")
    if len(not_judged) == len(inputs):
        return not_tried_finding(not_judged[0])
    seen = f"{len(inputs) - len(not_judged)} norms give inputs of any scale the same size"
    return kept_finding("; ".join([seen, *not_judged]))


@law("module", compares=False)
def norm_scales_multiply(subject: Subject) -> Finding:
    """What a norm has brought to unit size is multiplied by its scale.

    Means: it is divided by it: what lets the scale shrink, such as weight decay, lets the output
    explode
    Look: at the line of the norm that has its weight
    """
    owned = {id(weight) for weight in subject.module.parameters()}
    with _DivisionByScaleRecorder(owned) as recorder:
        subject.logits(subject.draw_src(2, 5), subject.draw_tgt_in(2, 4))
    for scale in recorder.scales:
        names = [name for name, weight in subject.module.named_parameters() if weight is scale]
        return broken_finding(f"what has unit size is divided by {names[0]}")
    return kept_finding("nothing of unit size is divided by a vector of weights")


class _DivisionByScaleRecorder(TorchFunctionMode):
    """Record the vectors of weights that something of unit size is divided by in a block."""

    def __init__(self, owned_ids: set[int]) -> None:
        super().__init__()
        self.owned_ids = owned_ids
        self.scales: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "").strip("_") in DIVISION_CALL_NAMES and len(args) > 1:
            x, scale = args[:2]
            is_scale = id(scale) in self.owned_ids and scale.dim() == 1 and len(scale) > 1
            if is_scale and isinstance(x, Tensor) and _has_unit_size_rows(x):
                self.scales.append(scale)
        return func(*args, **(kwargs or {}))


def _has_unit_size_rows(x: Tensor) -> bool:
    """Return whether x holds real numbers and each row has a root mean square of 1."""
    if not x.is_floating_point():
        return False
    return bool(((x.square().mean(dim=-1).sqrt() - 1).abs() <= MAX_SIZE_ERROR).all())


def record_norm_inputs(subject: Subject) -> dict[str, _NormInput]:
    """Return what each norm reads in a pass, by the norm's name."""
    inputs: dict[str, _NormInput] = {}
    names = {part: name for name, part in subject.module.named_modules() if _is_norm(part)}

    def record(part: nn.Module, args: tuple[object, ...], output: object) -> None:
        x = args[0] if len(args) == 1 else None
        if isinstance(x, Tensor) and isinstance(output, Tensor) and x.shape == output.shape:
            rows = x.detach().flatten(end_dim=-2)
            # What is all zero, such as the embedding of padding, has no size.
            rows = rows[rows.any(dim=-1)]
            if len(rows):
                inputs.setdefault(names[part], _NormInput(rows, of_heads=x.dim() > 3))

    with (
        hooks_removed_afterwards(part.register_forward_hook(record) for part in names),
        torch.enable_grad(),
    ):
        # With gradients, since without them torch's own layers run without calling their parts.
        subject.adapter.forward(subject.draw_src(2, 5), subject.draw_tgt_in(2, 4))
    return inputs


def _is_norm(part: nn.Module) -> bool:
    """Return whether a module's class is called a norm, and it has nothing but vectors.

    One with statistics of earlier batches is left out: it divides by these.
    """
    weights = list(part.parameters())
    has_vectors = bool(weights) and all(weight.dim() <= 1 for weight in weights)
    has_statistics = any(buffer.is_floating_point() for buffer in part.buffers())
    return has_vectors and not has_statistics and "norm" in type(part).__name__.lower()


@torch.no_grad()
def norm_output(norm: nn.Module, x: Tensor) -> Tensor:
    """Return a norm's output for rows as they are in the model, (1, positions, width)."""
    with contextlib.suppress(*MODEL_ERROR_TYPES):
        in_a_batch: Tensor = norm(x[None])[0]
        return in_a_batch
    alone: Tensor = norm(x)
    return alone


def _squashes_components(norm: nn.Module, x: Tensor) -> bool:
    """Return whether a module bounds each component by itself, and so stands in for a norm.

    So does a tanh, as in "Transformers without Normalization" (Zhu et al., 2025).
    """
    if x.shape[-1] < 2:
        return False
    changed = x.clone()
    changed[:, 0] += 1.0
    with contextlib.suppress(*MODEL_ERROR_TYPES):
        is_componentwise = torch.equal(
            norm_output(norm, changed)[:, 1:], norm_output(norm, x)[:, 1:]
        )
        large, larger = (norm_output(norm, size * x).norm() for size in (1e3, 1e5))
        return is_componentwise and bool(larger < 1.1 * large)
    return False


def _is_neutral(norm: nn.Module) -> bool:
    """Return whether a norm's scale is one, or 1 + 0, and its shift zero, as at the start."""
    weights = [weight for weight in norm.parameters() if weight.dim() == 1 and len(weight) > 1]
    is_constant = all(bool((w == 1).all()) or bool((w == 0).all()) for w in weights)
    return bool(weights) and is_constant


def _has_unit_size_part(rows: Tensor) -> bool:
    """Return whether some number of first components has unit size in each row.

    A partial norm (pRMSNorm, Zhang and Sennrich 2019) measures the size of a part alone.
    """
    counts = torch.arange(1, rows.shape[-1] + 1)
    sizes = (rows.square().cumsum(dim=-1) / counts).sqrt()
    is_one = (sizes - 1).abs() <= MAX_SIZE_ERROR
    return len(rows) > 1 and bool(is_one.all(dim=0).any())


def _is_unit_size(rms: float, width: int) -> bool:
    """Return whether a root mean square is 1, or what a variance over width - 1 makes of it."""
    least = ((width - 1) / width) ** 0.5
    return least - MAX_SIZE_ERROR <= rms <= 1 + MAX_SIZE_ERROR
