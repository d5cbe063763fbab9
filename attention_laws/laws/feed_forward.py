"""A feed-forward network computes what no linear map does, and is not narrow (§3.3)."""

import torch
from torch import Tensor, nn

from attention_laws.law import law
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.module_at_fault import describe_module
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.subject import (
    MODEL_ERROR_TYPES,
    Subject,
    retry_check_with_zero_weights_drawn,
)

LAW_MODULE_SORT_KEY = 71
# Share of what a network changes by which it must miss the sum of its parts' outputs.
MIN_RELATIVE_INTERACTION = 1e-3
MAX_NARROWING = 4  # d_model over the narrowest inner width
NOT_SEEN_REASON = "no module was seen that widens each position by itself and narrows it again"


@law("module")
@retry_check_with_zero_weights_drawn
def feed_forward_is_not_additive(subject: Subject) -> Finding:
    """A feed-forward network of a sum is not the sum of its outputs.

    Means: the activation is missing, is the identity, or its result is thrown away; a gate is
    added where it should multiply
    Look: at what stands between the maps of the module that is named
    """
    networks = _feed_forward_inputs(subject)
    if not networks:
        return not_tried_finding(NOT_SEEN_REASON)
    for name, x in networks.items():
        network = subject.module.get_submodule(name)
        # Larger than what it reads, so that no activation is near its linear middle.
        first, second = (
            3 * x.std() * torch.randn(x.shape, generator=subject.generator) for _ in range(2)
        )
        with torch.no_grad():
            outputs = [network(y) for y in (first + second, torch.zeros_like(x), first, second)]
        interaction = outputs[0] + outputs[1] - outputs[2] - outputs[3]
        # A residual path may be part of the network, beside which the rest may be small.
        size = min(float(outputs[0].norm()), float((outputs[0] - first - second).norm()))
        if float(interaction.norm()) <= MIN_RELATIVE_INTERACTION * size:
            where = describe_module(subject.module, name)
            return broken_finding(f"{where}: its output for a sum is the sum of its outputs")
    return kept_finding(f"{len(networks)} networks are not additive")


@law("module")
def feed_forward_is_not_narrow(subject: Subject) -> Finding:
    """A feed-forward network is nowhere narrower than a quarter of d_model.

    Means: the inner width is that of another part, or 1 from a wrong argument: little goes through
    Look: at the sizes of the two maps of the module that is named
    """
    networks = _feed_forward_inputs(subject, widens=False)
    if not networks:
        return not_tried_finding(NOT_SEEN_REASON)
    for name, x in networks.items():
        parts = subject.module.get_submodule(name).modules()
        # What no map reads, such as the weights of experts, is no inner width.
        widths = [part.in_features for part in parts if isinstance(part, nn.Linear)]
        if min(widths) * MAX_NARROWING < x.shape[-1]:
            where = describe_module(subject.module, name)
            return warned_finding(f"{where} is {min(widths)} wide inside, d_model {x.shape[-1]}")
    return kept_finding(f"{len(networks)} networks are wide enough")


def _feed_forward_inputs(subject: Subject, widens: bool = True) -> dict[str, Tensor]:
    """Return what each feed-forward network reads, by its name; those inside another left out.

    One has two maps or more, the last of them to the width that it reads, returns that shape, and
    changes each position by itself.

    Args:
        subject: The model.
        widens: Whether only those with a map to a larger width, which no low-rank map has.
    """
    inputs: dict[str, Tensor] = {}
    names = {part: name for name, part in subject.module.named_modules() if name}

    def record(part: nn.Module, args: tuple[object, ...], output: object) -> None:
        x = args[0] if len(args) == 1 else None
        if not (isinstance(x, Tensor) and isinstance(output, Tensor)):
            return
        if x.shape == output.shape and x.dim() == 3 and x.is_floating_point():
            inputs.setdefault(names[part], x.detach())

    candidates = [part for part in names if _has_maps_back_to_width(part, widens)]
    with hooks_removed_afterwards(part.register_forward_hook(record) for part in candidates):
        subject.logits(subject.draw_src(1, 5), subject.draw_tgt_in(1, 4))
    found: dict[str, Tensor] = {}
    # In the order of registration, in which a module stands before its parts.
    for name in [name for name in names.values() if name in inputs]:
        is_inside = any(name.startswith(f"{outer}.") for outer in found)
        if not is_inside and _is_positionwise(subject.module.get_submodule(name), inputs[name]):
            found[name] = inputs[name]
    return found


def _has_maps_back_to_width(part: nn.Module, widens: bool) -> bool:
    """Return whether the parts of a module are maps from one width to others and back."""
    maps = [inner for inner in part.modules() if isinstance(inner, nn.Linear)]
    if len(maps) < 2 or maps[0].in_features != maps[-1].out_features:
        return False
    return not widens or any(inner.out_features > maps[0].in_features for inner in maps)


def _is_positionwise(network: nn.Module, x: Tensor) -> bool:
    """Return whether a module changes each position by itself, and can be called alone.

    The last position is looked at, since causal attention reads the first alone, too.
    """
    try:
        with torch.no_grad():
            together, alone = network(x), network(x[:, -1:])
    except MODEL_ERROR_TYPES:
        return False
    gap = (together[:, -1:] - alone).abs().max()
    return alone.shape == x[:, -1:].shape and bool(gap <= 1e-4 * together.abs().max())
