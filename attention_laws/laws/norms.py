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
from attention_laws.torch_calls import MULTI_HEAD_ATTENTION_CALL_NAME, PRODUCT_CALL_NAMES

LAW_MODULE_SORT_KEY = 75
# Sizes at which a norm is tried; an epsilon below a thousandth is not felt at the smallest.
SIZES = (0.3, 1.0, 10.0)
MAX_RELATIVE_CHANGE = 0.03  # of a norm's output from one size to another
# Of the output's root mean square from 1, beside that of a variance over one fewer components.
MAX_SIZE_ERROR = 0.03
SRC_LEN, TGT_LEN = 7, 5
ENLARGEMENT = 10.0  # of the words
# Bounds of how much larger maps then read; positions that are added keep it below ten times.
MIN_SIZE_RATIO, MAX_FIRST_SIZE_RATIO = 0.3, 12.0


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
    inputs = _record_norm_inputs(subject)
    if not inputs:
        return not_tried_finding("no module that is called a norm reads one tensor")
    raising: list[str] = []
    for name, (x, of_heads) in inputs.items():
        norm = subject.module.get_submodule(name)
        unit = x / x.square().mean(dim=-1, keepdim=True).sqrt().clamp(min=1e-12)
        try:
            outputs = [_norm_output(norm, size * unit) for size in SIZES]
        except MODEL_ERROR_TYPES as error:
            raising.append(f"{name} raises by itself: {str(error)[:100]}")
            continue
        expected = outputs[SIZES.index(1.0)]
        for size, output in zip(SIZES, outputs, strict=True):
            change = float((output - expected).norm() / expected.norm().clamp(min=1e-12))
            if not change <= MAX_RELATIVE_CHANGE:
                seen = f"{describe_module(subject.module, name)}: an input {size:g} times as large"
                return broken_finding(f"{seen} changes its output by {change:.0%}")
        rms = float(expected.square().mean().sqrt())
        if not of_heads and _is_neutral(norm) and rms and not _is_unit_size(rms, x.shape[-1]):
            seen = f"{describe_module(subject.module, name)}: its output has a root mean square"
            return broken_finding(f"{seen} of {rms:.3g}, and no weight makes it other than 1")
    if len(raising) == len(inputs):
        return not_tried_finding(raising[0])
    seen = f"{len(inputs) - len(raising)} norms give inputs of any scale the same size"
    return kept_finding("; ".join([seen, *raising]))


@law()
def scale_of_words_is_not_amplified(subject: Subject) -> Finding:
    """Words ten times as large are read ten times as large, or as large as before.

    Means: a norm multiplies where it should divide, or divides by a square: what layers read then
    shrinks or explodes with the words, and no norm levels it
    Look: at what each norm divides by, also where it is a function and no module
    How: The first map of a side reads words as they are, or behind a norm; a later one may read
    products, but nothing that shrinks.
    """
    src, tgt_in = subject.draw_src(1, SRC_LEN), subject.draw_tgt_in(1, TGT_LEN)
    plain = _sizes_read_by_maps(subject, src, tgt_in, 1.0)
    enlarged = _sizes_read_by_maps(subject, src, tgt_in, ENLARGEMENT)
    if not plain or [length for length, _ in plain] != [length for length, _ in enlarged]:
        return not_tried_finding("no map was seen that reads what embeddings give")
    first_of_side = {length: number for number, (length, _) in reversed([*enumerate(plain)])}
    ratios = [large / size for (_, size), (_, large) in zip(plain, enlarged, strict=True) if size]
    if all(abs(ratio - 1) < 1e-6 for ratio in ratios):
        return not_tried_finding("no torch embedding is called")
    for number, ratio in enumerate(ratios):
        is_first = number in first_of_side.values()
        seen = f"with words {ENLARGEMENT:g} times as large map {number + 1} reads {ratio:.3g} times"
        if ratio < MIN_SIZE_RATIO or (is_first and ratio > MAX_FIRST_SIZE_RATIO):
            return broken_finding(f"{seen} as much")
    sizes = f"{min(ratios):.2g} to {max(ratios):.2g} times"
    return kept_finding(f"words {ENLARGEMENT:g} times as large are read {sizes} as large")


class _EmbeddingEnlarger(TorchFunctionMode):
    """Multiply what embeddings return in a block."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        return output * self.factor if getattr(func, "__name__", "") == "embedding" else output


def _sizes_read_by_maps(
    subject: Subject, src: Tensor, tgt_in: Tensor, factor: float
) -> list[tuple[int, float]]:
    """Return length and size of what each map of a pass reads that is as wide as the words."""
    with _EmbeddingEnlarger(factor):
        calls = subject.torch_calls_of_forward(src, tgt_in)
    hidden = [
        arg
        for call in calls
        if call.name in ("linear", MULTI_HEAD_ATTENTION_CALL_NAME, *PRODUCT_CALL_NAMES)
        for arg in call.args
        if isinstance(arg, Tensor) and not isinstance(arg, nn.Parameter) and arg.dim() == 3
    ]
    lengths = {SRC_LEN, TGT_LEN}
    read = [x for x in hidden if x.is_floating_point() and len(lengths & {*x.shape[:2]}) == 1]
    width = read[0].shape[-1] if read else 0
    return [
        (min(lengths & {*x.shape[:2]}), float(x.square().mean().sqrt()))
        for x in read
        if x.shape[-1] == width
    ]


def _record_norm_inputs(subject: Subject) -> dict[str, _NormInput]:
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
def _norm_output(norm: nn.Module, x: Tensor) -> Tensor:
    """Return a norm's output for rows as they are in the model, (1, positions, width)."""
    with contextlib.suppress(*MODEL_ERROR_TYPES):
        in_a_batch: Tensor = norm(x[None])[0]
        return in_a_batch
    alone: Tensor = norm(x)
    return alone


def _is_neutral(norm: nn.Module) -> bool:
    """Return whether a norm's scale is one, or 1 + 0, and its shift zero, as at the start."""
    weights = [weight for weight in norm.parameters() if weight.dim() == 1 and len(weight) > 1]
    is_constant = all(bool((w == 1).all()) or bool((w == 0).all()) for w in weights)
    return bool(weights) and is_constant


def _is_unit_size(rms: float, width: int) -> bool:
    """Return whether a root mean square is 1, or what a variance over width - 1 makes of it."""
    least = ((width - 1) / width) ** 0.5
    return least - MAX_SIZE_ERROR <= rms <= 1 + MAX_SIZE_ERROR
