"""Weights in safetensors files: saved, loaded into a model, averaged (§6.1)."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from transformer.support.errors import UserError, require
from transformer.support.files import write_atomically
from transformer.support.formats import FORMAT_KEY
from transformer.support.signatures import check_argument_types

# A file's metadata have one entry alone, so that equal runs leave equal bytes.
METADATA_KEY = "about"
CHECK_SUM_KEY = "sha256"  # in what METADATA_KEY holds; files without a format version may lack it
CPU_RNG_STATE_NAME = "random/cpu"  # the name of a tensor that a run's state has and weights lack


def save_tensors(path: Path, tensors: Mapping[str, Tensor], **about: Any) -> None:
    """Write tensors by name, what is to be known about them, and a check sum of both, atomically.

    No two tensors may share memory (see `model_weights`); `about` is anything that JSON can hold.
    """
    on_cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    about_and_sum = about | {CHECK_SUM_KEY: _tensors_sha256(on_cpu, about)}
    metadata = {METADATA_KEY: json.dumps(about_and_sum, allow_nan=False)}
    write_atomically(path, to_bytes(on_cpu, metadata))


def _tensors_sha256(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> str:
    """Return the check sum of tensors on the CPU, their names, shapes and types, and `about`."""
    digest = hashlib.sha256(json.dumps(about, allow_nan=False).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


@check_argument_types
def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote, on the CPU.

    A UserError where it is missing, not whole, or not what was written.
    """
    require(path.is_file(), f"no file {path}: is this the folder of a trained model?")
    tensors = {}
    try:
        with safe_open(path, framework="pt") as file:
            about = dict(json.loads((file.metadata() or {}).get(METADATA_KEY, "{}")))
            for name in file.keys():  # noqa: SIM118
                # A clone, because the original is the file's own memory.
                tensors[name] = file.get_tensor(name).clone()
        check_sum = about.pop(CHECK_SUM_KEY, None)
        lacks_sum = check_sum is None and FORMAT_KEY not in about
        is_as_written = lacks_sum or check_sum == _tensors_sha256(tensors, about)
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        raise UserError(
            f"{path} is cut short or not a safetensors file ({error}): "
            "copy it again, or use another checkpoint"
        ) from error
    require(
        is_as_written,
        f"{path} is damaged: it was changed after it was written, by its check sum; copy it "
        "again, or use another checkpoint",
    )
    return tensors, about


def model_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's weights and buffers by the names they are saved under, tied ones once."""
    state = model.state_dict()
    return {name: state[name] for name in _saved_name_by_state_name(model).values()}


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Put saved weights (see `model_weights`) into a model, tied ones everywhere.

    The model is as it was after a UserError, which `check_weights` raises.
    """
    check_weights(model, tensors, source)
    model.load_state_dict(
        {name: tensors[saved] for name, saved in _saved_name_by_state_name(model).items()}
    )


def check_weights(model: nn.Module, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Raise a UserError unless tensors are weights of this model; `source` is their file.

    None may be missing, unknown, of another shape or kind, or hold nan or an infinity; one type of
    float may stand for another. A run's whole state is refused too.
    """
    message = f"{source} holds a run's state: give best.safetensors or a step_*.safetensors"
    require(CPU_RNG_STATE_NAME not in tensors, message)
    weights = model_weights(model)
    for name in sorted(weights.keys() | tensors.keys()):
        here, there = weights.get(name), tensors.get(name)
        if there is None:
            problem = "is missing"
        elif here is None:
            problem = "is unknown here"
        elif here.shape != there.shape:
            problem = f"has shape {tuple(there.shape)} there and {tuple(here.shape)} here"
        elif not _have_compatible_dtypes(here, there):
            problem = f"is {there.dtype} there and {here.dtype} here"
        else:
            continue
        raise UserError(
            f"{source} does not fit this model: {name} {problem}; "
            "build the model with the recipe and tokenizers saved beside it"
        )
    for name, tensor in tensors.items():
        problem = non_finite_problem(tensor)
        # A buffer may have infinite numbers by design, as a mask that is added to scores.
        if problem and not non_finite_problem(weights[name]):
            raise UserError(
                f"{source} cannot be used: {name} {problem}; "
                "copy the file again, use another checkpoint, or train anew"
            )


def _have_compatible_dtypes(one: Tensor, other: Tensor) -> bool:
    both_floats = one.is_floating_point() and other.is_floating_point()
    return both_floats or one.dtype == other.dtype


def non_finite_problem(tensor: Tensor) -> str:
    """Return "holds nan" or "holds an infinite number" of a tensor, "" if all are finite.

    It takes a tenth of the time of `isfinite().all()`.
    """
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return ""
    least, greatest = (number.item() for number in torch.aminmax(tensor))
    if math.isnan(least):
        return "holds nan"
    return "holds an infinite number" if math.isinf(least) or math.isinf(greatest) else ""


def average_weights(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Average the weights of a run's checkpoints, tensor by tensor, in float64 (§6.1)."""
    checkpoints = [load_tensors(path)[0] for path in paths]
    means = {}
    for name, first in checkpoints[0].items():
        stacked = torch.stack([weights[name].double() for weights in checkpoints])
        means[name] = (stacked.sum(dim=0) / len(paths)).to(first.dtype)
    return means


def _saved_name_by_state_name(model: nn.Module) -> dict[str, str]:
    """Return for each name in a model's state the one that its tensor is saved under.

    Tied tensors share their place in memory, and are saved under the first of their names.
    """
    name_at: dict[tuple[int, ...], str] = {}
    saved_names = {}
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), *tensor.shape)
        saved_names[name] = name_at.setdefault(place, name)
    return saved_names
