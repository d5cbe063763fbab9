"""Which weights a model begins with (not in the paper)."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from attention_laws.law import assert_not_none, law
from attention_laws.laws.initialization import only_if_untrained
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 81
# Standard deviation of normal draws of which none is further out than two deviations.
CUT_DRAWS_STD = 0.8796


@law("module", "initial_std", compares=False)
@only_if_untrained
def initial_std_is_as_told(subject: Subject) -> Finding:
    """Each matrix of an untrained model is drawn with the standard deviation that was told.

    Means: what initializes the weights never runs, leaves a kind of module out, or draws otherwise
    Look: at what initializes the whole model, and at which modules it knows
    How: Draws may be cut at two deviations, and those of fewer than half of the matrices divided by
    the root of how many residual branches there are, as GPT-2's.
    """
    told = float(assert_not_none(subject.adapter.initial_std))
    drawn = _drawn_matrices(subject)
    if not drawn:
        return not_tried_finding("it has no matrix that is drawn")
    others = {
        name: rows for name, rows in drawn.items() if not _has_std(rows, told, (1.0, CUT_DRAWS_STD))
    }
    lengths = {len(m) for m in subject.module.modules() if isinstance(m, nn.ModuleList)} - {0}
    branches = [(in_layer * length) ** -0.5 for length in lengths for in_layer in (1, 2, 3)]
    few = 2 * len(others) < len(drawn)
    for name, rows in others.items():
        if not (few and _has_std(rows, told, branches)):
            seen = f"{name} has a standard deviation of {float(rows.double().std()):.3g}"
            return broken_finding(f"{seen}, and {told:.3g} is told")
    return kept_finding(f"{len(drawn)} matrices are drawn with a standard deviation of {told:.3g}")


def _drawn_matrices(subject: Subject) -> dict[str, Tensor]:
    """Return the trainable matrices that are not one number throughout, without rows of zeros."""
    drawn = {}
    for name, weight in subject.trainable_parameters().items():
        if weight.dim() > 1:
            # The embedding of padding is zero.
            rows = weight.detach()[weight.flatten(start_dim=1).any(dim=1)]
            if rows.numel() > 1 and not _is_one_number(rows):
                drawn[name] = rows
    return drawn


def _is_one_number(weight: Tensor) -> bool:
    return bool((weight == weight.flatten()[0]).all())


def _has_std(rows: Tensor, told: float, factors: Iterable[float]) -> bool:
    """Return whether the standard deviation is `told` times one of the factors, as far as seen."""
    # Five standard errors of a deviation.
    allowed = 0.02 + 5 / math.sqrt(2 * rows.numel())
    ratio = float(rows.double().std()) / told
    return any(abs(ratio / factor - 1) <= allowed for factor in factors)


@law("module", compares=False)
@only_if_untrained
def layers_are_initialized_independently(subject: Subject) -> Finding:
    """Layers of one kind begin with weights of their own.

    Means: a layer was copied after its weights were initialized, and they were not drawn again
    Look: at copy.deepcopy, and at what initializes the whole model
    """
    stacks = 0
    for prefix, stack in subject.module.named_modules():
        if not isinstance(stack, nn.ModuleList | nn.Sequential):
            continue
        comparable = _matrices_by_name_and_layer(stack)
        if any(len(by_layer) > 1 for by_layer in comparable.values()):
            stacks += 1
        for (name, _), by_layer in comparable.items():
            for (one, first), (other, second) in itertools.combinations(by_layer.items(), 2):
                if first is not second and torch.equal(first, second):
                    layers = f"layers {one} and {other}"
                    return broken_finding(
                        f"{prefix}: {name} is number for number the same in {layers}"
                    )
    if not stacks:
        return not_tried_finding(
            "no nn.ModuleList or nn.Sequential holds two layers with equal shapes"
        )
    return kept_finding(f"in {stacks} stacks no two layers begin with the same matrix")


def _matrices_by_name_and_layer(
    stack: nn.Module,
) -> dict[tuple[str, torch.Size], dict[str, Tensor]]:
    """Return the matrices of a stack by name and shape, then by layer; constant ones left out."""
    comparable: dict[tuple[str, torch.Size], dict[str, Tensor]] = defaultdict(dict)
    for index, layer in stack.named_children():
        for name, weight in layer.named_parameters():
            if weight.dim() > 1 and not _is_one_number(weight):
                comparable[name, weight.shape][index] = weight
    return comparable
