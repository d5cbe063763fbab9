"""Checkpoints: a model's weights in safetensors, each file written whole or not at all.

Each file carries the SHA-256 sum of what it holds, so one flipped bit is seen when it is read.

Not in the paper, but for the averaging of the last checkpoints (§6.1).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from transformer.support.errors import UserError
from transformer.support.files import write_atomically

FORMAT = "attention-course-2"  # one entry of the metadata, so that equal runs leave equal bytes
BEFORE = "attention-course-1"  # an entry for each value, and no sum
COMPILED = "_orig_mod."  # what torch.compile puts before the names of what it wraps
FLOATS = {torch.float16, torch.bfloat16, torch.float32, torch.float64}  # one may stand for another


def save_tensors(path: Path, tensors: Mapping[str, Tensor], **about: Any) -> None:
    """Write tensors, and what is to be known about them, atomically into one file.

    Args:
        path: Where to.
        tensors: By name; no two may share memory (see `weights`).
        about: Values for the metadata, anything that JSON can hold.

    Raises:
        UserError: the file cannot be written.
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    entry = {"sha256": _sum_of(plain, about), "about": about}
    write_atomically(path, to_bytes(plain, {FORMAT: json.dumps(entry, allow_nan=False)}))


def _sum_of(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> str:
    """Give the SHA-256 sum of tensors, their names, kinds and shapes, and of what is said."""
    digest = hashlib.sha256(json.dumps(about).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(repr((name, str(tensor.dtype), tuple(tensor.shape))).encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote.

    Returns:
        The tensors, on the CPU, and the metadata.

    Raises:
        UserError: the file is missing, cut short, damaged, or not one of ours.
    """
    if not path.is_file():
        raise UserError(f"no file {path}: is this the folder of a trained model?")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            # clones, for the originals are the file's own memory
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except PermissionError as error:
        raise UserError(f"no permission to read {path}: ask its owner for it") from error
    except (SafetensorError, OSError) as error:
        raise UserError(
            f"{path} is cut short or not a safetensors file ({error}): "
            "copy it again, or use another checkpoint"
        ) from error
    return tensors, _about(path, tensors, metadata)


def _about(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> dict[str, Any]:
    """Give what a file says about its tensors, once its sum is seen to be right."""
    try:
        if metadata.pop("format", None) == BEFORE:
            return {key: json.loads(value) for key, value in metadata.items()}
        entry = json.loads(metadata.get(FORMAT, "null"))
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{path} says about itself what is not JSON: copy it again, or use another checkpoint"
        ) from error
    if not isinstance(entry, dict) or not isinstance(entry.get("about"), dict):
        raise UserError(
            f"{path} was not written by this version of the course: "
            "use a checkpoint that it trained"
        )
    about: dict[str, Any] = entry["about"]
    if entry.get("sha256") != _sum_of(tensors, about):
        raise UserError(
            f"{path} is damaged: its sum is not the one it was written with; "
            "copy it again, or use another checkpoint"
        )
    return about


def _saved_names(model: nn.Module) -> dict[str, str]:
    """Map each name in a model's state to the one that its tensor is saved under.

    Weights that are tied, so one memory, share the first name. A model, or a part of one, that
    went through `torch.compile` has its plain names.
    """
    first: dict[tuple[int, ...], str] = {}
    names = {}
    for name, tensor in model.state_dict().items():
        key = (tensor.data_ptr(), *tensor.shape) if tensor.numel() else (id(tensor),)
        names[name] = first.setdefault(key, name.replace(COMPILED, ""))
    return names


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Give a model's weights and buffers by the names they are saved under, tied ones once."""
    found: dict[str, Tensor] = {}
    state = model.state_dict()
    for name, saved in _saved_names(model).items():
        found.setdefault(saved, state[name])
    return found


def holds_state(tensors: Mapping[str, Tensor]) -> bool:
    """Tell whether a file's tensors are a run's whole state (see `state`), not weights alone."""
    return "random/cpu" in tensors


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Put saved weights into a model, tied ones everywhere.

    Args:
        model: Built with the same configuration and vocabularies.
        tensors: As `weights` gave them.
        source: The file that they are from, for the message.

    Raises:
        UserError: a tensor is missing, foreign, of another shape or kind, or not finite; or
            they are a run's state. The model is as it was.
    """
    if holds_state(tensors):
        raise UserError(
            f"{source} holds a run's state: give best.safetensors or a step_*.safetensors"
        )
    names, state = _saved_names(model), weights(model)
    if problem := misfit(tensors, state):
        raise UserError(
            f"{source} does not fit this model: {problem}; "
            "build the model with the recipe and tokenizers saved beside it"
        )
    require_finite(tensors, source)
    model.load_state_dict({name: tensors[saved] for name, saved in names.items()})


def misfit(
    has: Mapping[str, Tensor], wants: Mapping[str, Tensor], *, same_kind: bool = False
) -> str:
    """Say what first keeps tensors from taking the place of others; "" where nothing does.

    Args:
        has: The tensors, by name.
        wants: Those whose place they are to take.
        same_kind: Refuse half precision in the place of full precision, too.
    """
    if missing := sorted(wants.keys() - has.keys()):
        return f"{missing[0]} is missing"
    if foreign := sorted(has.keys() - wants.keys()):
        return f"{foreign[0]} is unknown here"
    for name in sorted(wants):
        there, here = has[name], wants[name]
        if there.shape != here.shape:
            return f"{name} has shape {tuple(there.shape)} there and {tuple(here.shape)} here"
        if there.dtype != here.dtype and (same_kind or not {there.dtype, here.dtype} <= FLOATS):
            return f"{name} is {there.dtype} there and {here.dtype} here"
    return ""


def require_finite(tensors: Mapping[str, Tensor], source: Path) -> None:
    """Refuse tensors that no sound training left.

    Raises:
        UserError: one holds a value that is not a finite number.
    """
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise UserError(
                f"{source} is damaged: {name} holds a value that is not a finite number; "
                "copy it again, or use another checkpoint"
            )


def average(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Average the weights of several checkpoints, tensor by tensor (§6.1).

    The sum is held in float64; the mean has the type of the files.

    Raises:
        UserError: no path is given, a file is damaged, or two are of different models.
    """
    if not paths:
        raise UserError("no checkpoints to average: train past the first validation")
    totals: dict[str, Tensor] = {}
    for path in paths:
        tensors, _ = load_tensors(path)
        if totals and {n: t.shape for n, t in tensors.items()} != {
            n: t.shape for n, t in totals.items()
        }:
            raise UserError(
                f"{path} and {paths[0]} are of different models: average checkpoints of one run"
            )
        for name, tensor in tensors.items():
            totals[name] = totals.get(name, 0) + tensor.double()
    kinds = {name: tensor.dtype for name, tensor in tensors.items()}
    return {name: (total / len(paths)).to(kinds[name]) for name, total in totals.items()}


def require_same(saved: Mapping[str, Any], given: Mapping[str, Any], *, free: str = "") -> None:
    """Refuse to go on with another configuration than the one begun with.

    Args:
        saved: The values begun with; may hold mappings.
        given: The values now.
        free: The one key that may change.

    Raises:
        UserError: a key differs; both values are named.
    """
    for key in [*saved, *(key for key in given if key not in saved)]:
        before, now = saved.get(key), given.get(key)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            require_same(before, now, free=free)
        elif before != now and key != free:
            raise UserError(
                f"the run was begun with {key}={before} and cannot go on with {key}={now}: "
                f"give {key}={before}, or begin in another folder"
            )
