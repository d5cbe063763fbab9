"""Weights in safetensors files: saved, loaded into a model, averaged (§6.1)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from transformer.support.errors import UserError, require
from transformer.support.files import write_atomically

# A file's metadata have one entry alone, so that equal runs leave equal bytes.
METADATA_KEY = "about"
CPU_RNG_STATE_NAME = "random/cpu"  # the name of a tensor that a run's state has and weights lack


def save_tensors(path: Path, tensors: Mapping[str, Tensor], **about: Any) -> None:
    """Write tensors by name, and what is to be known about them, into one file, atomically.

    No two tensors may share memory (see `model_weights`); `about` is anything that JSON can hold.
    """
    on_cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {METADATA_KEY: json.dumps(about, allow_nan=False)}
    write_atomically(path, to_bytes(on_cpu, metadata))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote, on the CPU; a UserError where it is missing or not whole."""
    require(path.is_file(), f"no file {path}: is this the folder of a trained model?")
    tensors = {}
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get(METADATA_KEY, "{}"))
            for name in file.keys():  # noqa: SIM118
                # A clone, because the original is the file's own memory.
                tensors[name] = file.get_tensor(name).clone()
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(
            f"{path} is cut short or not a safetensors file ({error}): "
            "copy it again, or use another checkpoint"
        ) from error
    return tensors, about


def model_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's weights and buffers by the names they are saved under, tied ones once."""
    state = model.state_dict()
    return {name: state[name] for name in _saved_name_by_state_name(model).values()}


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Put saved weights (see `model_weights`) into a model, tied ones everywhere.

    A UserError where a tensor is missing, unknown, or of another shape, or they are a run's whole
    state; the model is then as it was. `source` is the file to name in it.
    """
    message = f"{source} holds a run's state: give best.safetensors or a step_*.safetensors"
    require(CPU_RNG_STATE_NAME not in tensors, message)
    shapes_here = {name: tuple(tensor.shape) for name, tensor in model_weights(model).items()}
    shapes_there = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(shapes_here.keys() | shapes_there.keys()):
        here, there = shapes_here.get(name), shapes_there.get(name)
        if here == there:
            continue
        if there is None:
            problem = "is missing"
        elif here is None:
            problem = "is unknown here"
        else:
            problem = f"has shape {there} there and {here} here"
        raise UserError(
            f"{source} does not fit this model: {name} {problem}; "
            "build the model with the recipe and tokenizers saved beside it"
        )
    model.load_state_dict(
        {name: tensors[saved] for name, saved in _saved_name_by_state_name(model).items()}
    )


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
