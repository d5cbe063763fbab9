"""Find the module in which two inputs that must agree come apart (not in the paper)."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attention_laws.errors import innermost_user_line, is_user_file, path_from_working_folder
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.report import Finding
from attention_laws.subject import MODEL_ERROR_TYPES, Subject

# Share of a tensor's largest number that counts as a difference.
MIN_RELATIVE_DIFFERENCE = 1e-4
MAX_MASK_PLACES = 3  # places that a finding names
MAX_VISIBLE_SCORE = -1e4  # below it a number that is added to scores hides
SHAPE_CALL_NAMES = {"view", "reshape"}  # calls that read numbers in order, whatever their axes mean


class InputPair(NamedTuple):
    """Two inputs of a model that must have equal outputs at the first positions of a sentence."""

    first: tuple[Tensor, Tensor]  # src and tgt_in of one sentence, (1, length) each
    second: tuple[Tensor, Tensor]  # the same sentence in row `row`, changed where it may be
    src_len: int  # number of the source's first positions that must agree
    tgt_len: int  # the same of the target
    row: int = 0


@dataclass
class _ModuleCall:
    """One call of a module: what it read and returned."""

    name: str
    inputs: list[Tensor] = field(default_factory=list)
    output: Tensor | None = None
    mask_places: list[str] = field(default_factory=list)  # where the masks that it read were made
    # Where positions were mixed with other axes in it.
    mixing_places: list[str] = field(default_factory=list)


class _PlaceRecorder(TorchFunctionMode):
    """Record the user's lines at which masks are made and positions are mixed in a block."""

    def __init__(self, lengths: set[int]) -> None:
        super().__init__()
        self.lengths = lengths  # numbers of positions
        self.mixing_places: list[str] = []
        # The tensors are kept, so that no other gets the id of one.
        self.places: dict[int, tuple[Tensor, str]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        if isinstance(output, Tensor) and output.dim() > 1 and id(output) not in self.places:
            self.places[id(output)] = (output, innermost_user_line())
        if getattr(func, "__name__", "") in SHAPE_CALL_NAMES and isinstance(output, Tensor):
            before = args[0] if args else (kwargs or {})["input"]
            shapes = before.shape, output.shape
            if any(_mixes_positions(*shapes, length) for length in self.lengths):
                self.mixing_places.append(innermost_user_line())
        return output

    def places_of_masks(self, tensors: list[Tensor]) -> list[str]:
        """Return where those of the tensors were made that are masks, each place once."""
        places = [self.places.get(id(x), (x, ""))[1] for x in tensors if _is_mask(x)]
        return list(dict.fromkeys(filter(None, places)))


def _is_mask(tensor: Tensor) -> bool:
    """Return whether a tensor of two axes or more says which keys are hidden."""
    if tensor.dim() < 2 or tensor.requires_grad:
        return False
    if tensor.is_floating_point():
        return bool((tensor <= MAX_VISIBLE_SCORE).any())
    return tensor.dtype == torch.bool


def _mixes_positions(before: Sequence[int], after: Sequence[int], length: int) -> bool:
    """Return whether a new shape reads numbers of several positions as those of one.

    It does if behind the axis of positions, of this length, there are other numbers than before;
    False if either shape has no such axis.
    """

    def sizes_behind(shape: Sequence[int]) -> set[int]:
        return {math.prod(shape[axis + 1 :]) for axis, size in enumerate(shape) if size == length}

    sizes = sizes_behind(before), sizes_behind(after)
    return all(sizes) and not sizes[0] & sizes[1]


def describe_module_at_fault(subject: Subject, pair: InputPair) -> str:
    """Return the innermost module that reads equal numbers and returns unequal ones, in words.

    It is empty if there is none to be seen: the model is no module, calls other parts for each of
    the inputs, or computes it all in one `forward`.
    """
    if subject.adapter.module is None:
        return ""
    try:
        first = _record_module_calls(subject, *pair.first)
        second = _record_module_calls(subject, *pair.second)
    except MODEL_ERROR_TYPES:
        return ""
    if [call.name for call in first] != [call.name for call in second]:
        return ""
    for one, other in zip(first, second, strict=True):
        inputs = zip(one.inputs, other.inputs, strict=False)
        if any(_differ(pair, *both) for both in inputs):
            continue
        if one.output is None or other.output is None:
            continue
        if _differ(pair, one.output, other.output):
            # One of two lengths may be the number of heads, and tell nothing.
            mixing_places = one.mixing_places or other.mixing_places
            return describe_module(subject.module, one.name, one.mask_places, mixing_places)
    return ""


def describe_module(
    module: nn.Module,
    name: str,
    mask_places: Sequence[str] = (),
    mixing_places: Sequence[str] = (),
) -> str:
    """Return a submodule's name and class, with the file and line of the user's `forward`.

    Of a class of torch's it is the place of the nearest module of the user's above it. If positions
    were mixed in it, the line is that at which they first were. Where the masks that it read were
    made is added.
    """
    part = module.get_submodule(name)
    kind = type(part).__name__
    if mixing_places and mixing_places[0]:
        shown = f"{name or 'the module itself'} ({kind}; a new shape mixes positions)"
        return f"{shown}, {mixing_places[0]}"
    if mask_places:
        kind += f"; its mask is made at {', '.join(mask_places[:MAX_MASK_PLACES])}"
    shown = f"{name or 'the module itself'} ({kind})"
    owner = name
    while True:
        place = place_of_forward(module.get_submodule(owner))
        if place or not owner:
            return f"{shown}, {place}" if place else shown
        owner = owner.rpartition(".")[0]


def place_of_forward(model: nn.Module | Callable[..., Any]) -> str:
    """Return file and line of a module's `forward`, or of a function; "" if not the user's."""
    try:
        # Without decorators such as torch.no_grad, whose file is another.
        forward = inspect.unwrap(type(model).forward if isinstance(model, nn.Module) else model)
        file = inspect.getsourcefile(forward) or ""
        line = inspect.getsourcelines(forward)[1]
    except (OSError, TypeError):
        return ""
    if not is_user_file(file):
        return ""
    return f"{path_from_working_folder(file)}:{line}"


def _record_module_calls(subject: Subject, src: Tensor, tgt_in: Tensor) -> list[_ModuleCall]:
    """Return the calls of modules in one pass, in the order in which they ended."""
    calls: list[_ModuleCall] = []
    recorder = _PlaceRecorder({src.shape[1], tgt_in.shape[1]} - {1})
    # How often positions had been mixed where the modules that now run began.
    begun: list[int] = []

    def record_beginning(*_: Any) -> None:
        begun.append(len(recorder.mixing_places))

    def hook_of(name: str) -> Any:
        def record(_: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            inputs = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
            while isinstance(output, tuple | list) and output:
                output = output[0]
            output = output.detach().clone() if isinstance(output, Tensor) else None
            mask_places = recorder.places_of_masks(inputs)
            copies = [x.detach().clone() for x in inputs]
            mixing_places = recorder.mixing_places[begun.pop() :]
            calls.append(_ModuleCall(name, copies, output, mask_places, mixing_places))

        return record

    parts = dict(subject.module.named_modules())
    with (
        recorder,
        hooks_removed_afterwards(
            part.register_forward_pre_hook(record_beginning) for part in parts.values()
        ),
        hooks_removed_afterwards(
            part.register_forward_hook(hook_of(name), with_kwargs=True)
            for name, part in parts.items()
        ),
    ):
        subject.logits(src, tgt_in)
    return calls


def _differ(pair: InputPair, first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors differ where they must agree; False if that cannot be told."""
    if not (first.is_floating_point() and second.is_floating_point()) or first.dim() < 3:
        return False
    for axis in range(first.dim() - 1):
        sizes = first.shape[axis], second.shape[axis]
        for index, visible in ((0, pair.src_len), (1, pair.tgt_len)):
            if sizes == (pair.first[index].shape[1], pair.second[index].shape[1]):
                first, second = first.narrow(axis, 0, visible), second.narrow(axis, 0, visible)
                break
        else:
            if sizes == (1, len(pair.second[0])):
                second = second.narrow(axis, pair.row, 1)
    if first.shape != second.shape or not first.numel():
        return False
    gap = (first - second).abs().max()
    return not bool(gap <= MIN_RELATIVE_DIFFERENCE * first.abs().max().clamp(min=1e-6))


def with_module_at_fault(subject: Subject, finding: Finding, pair: InputPair) -> Finding:
    """Return a finding that names the module in which the two inputs come apart."""
    return replace(finding, where=describe_module_at_fault(subject, pair))
