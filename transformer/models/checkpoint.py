"""Weights in safetensors: saved, loaded into a model, and averaged (§6.1)."""

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

ABOUT = "about"  # one entry of the metadata, so that equal runs leave equal bytes
STATE = "random/cpu"  # a tensor that a run's whole state has, and weights alone have not


def save_tensors(path: Path, tensors: Mapping[str, Tensor], **about: Any) -> None:
    """Write tensors, and what is to be known about them, atomically into one file.

    Args:
        path: Where to.
        tensors: By name; no two may share memory (see `weights`).
        about: Values for the metadata, anything that JSON can hold.

    Raises:
        UserError: the file cannot be written; one of before is unharmed.
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, to_bytes(plain, {ABOUT: json.dumps(about, allow_nan=False)}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote: the tensors, on the CPU, and what is said about them.

    Raises:
        UserError: the file is missing, cut short, or no safetensors file.
    """
    if not path.is_file():
        raise UserError(f"no file {path}: is this the folder of a trained model?")
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get(ABOUT, "{}"))
            # clones, for the originals are the file's own memory
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(
            f"{path} is cut short or not a safetensors file ({error}): "
            "copy it again, or use another checkpoint"
        ) from error
    return tensors, about


def _saved_names(model: nn.Module) -> dict[str, str]:
    """Map each name in a model's state to the one that its tensor, if tied, is saved under."""
    first: dict[tuple[int, ...], str] = {}
    names = {}
    for name, tensor in model.state_dict().items():
        key = (tensor.data_ptr(), *tensor.shape) if tensor.numel() else (id(tensor),)
        names[name] = first.setdefault(key, name)
    return names


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Give a model's weights and buffers by the names they are saved under, tied ones once."""
    state = model.state_dict()
    return {name: state[name] for name in _saved_names(model).values()}


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Put saved weights (see `weights`) into a model, tied ones everywhere.

    Raises:
        UserError: a tensor is missing, foreign, or of another shape, or they are a run's state.
            The model is as it was.
    """
    if STATE in tensors:
        raise UserError(
            f"{source} holds a run's state: give best.safetensors or a step_*.safetensors"
        )
    names, own = _saved_names(model), weights(model)
    for name in sorted(own.keys() ^ tensors.keys()):
        found = "missing" if name in own else "unknown here"
        raise _misfit(source, f"{name} is {found}")
    for name, here in own.items():
        there = tensors[name]
        if there.shape != here.shape:
            shapes = f"{tuple(there.shape)} there and {tuple(here.shape)} here"
            raise _misfit(source, f"{name} has shape {shapes}")
    model.load_state_dict({name: tensors[saved] for name, saved in names.items()})


def _misfit(source: Path, problem: str) -> UserError:
    return UserError(
        f"{source} does not fit this model: {problem}; "
        "build the model with the recipe and tokenizers saved beside it"
    )


def average(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Average the weights of a run's checkpoints, tensor by tensor, in float64 (§6.1)."""
    found = [load_tensors(path)[0] for path in paths]
    means = {}
    for name, first in found[0].items():
        total = sum((each[name].double() for each in found), start=torch.zeros(()).double())
        means[name] = (total / len(paths)).to(first.dtype)
    return means
