"""How a training step grows with length, batch, vocabulary and depth, beside what theory says.

Not in the paper. Ours, in float32 on one thread, on random sentences without padding.
"""

import dataclasses
import statistics
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from lessonkit.analysis.costs import step_flops
from lessonkit.analysis.machines import seconds_of
from transformer.config import FIRST_ID, ModelConfig, TrainingConfig
from transformer.data.batches import Batch
from transformer.model import Transformer
from transformer.training.loop import new_state, update
from transformer.training.loss import batch_loss

ROUNDS = 3
MIDDLE = {"length": 32, "batch": 16, "vocabulary": 4000, "depth": 2}
AXES = {
    "length": (16, 32, 64, 128, 256, 512),
    "batch": (2, 4, 8, 16, 32, 64),
    "vocabulary": (1000, 2000, 4000, 8000, 16_000, 32_000),
    "depth": (1, 2, 4, 8),
}
NETWORK = ModelConfig(d_model=128, d_ff=256, num_heads=4, max_len=1024, pre_norm=True)
TRAINING = TrainingConfig(learning_rate=1e-3)


def measure(advance: Callable[[str], object]) -> dict[str, Any]:
    """Measure along every axis, the other sizes in the middle; say what was just done."""
    rows = {
        axis: along([(value, MIDDLE | {axis: value}) for value in values], advance, axis)
        for axis, values in AXES.items()
    }
    network = {"d_model": NETWORK.d_model, "d_ff": NETWORK.d_ff, "heads": NETWORK.num_heads}
    return {"rounds": ROUNDS, "middle": MIDDLE | network, "axes": rows}


def along(
    points: list[tuple[int, dict[str, int]]], advance: Callable[[str], object], axis: str
) -> list[dict[str, Any]]:
    """Measure points of an axis by turns: a value and all four sizes each, from the smallest.

    Returns:
        For each point the value; seconds (the median), times those of the first, and what the
        multiplications are times those of the first; bytes that the forward pass keeps for the
        backward pass, and what a straight line through the first two points gives.
    """
    subjects = [_Subject(sizes) for _, sizes in points]
    kept = [subject.kept_bytes() for subject in subjects]
    values = [value for value, _ in points]
    seconds: list[list[float]] = [[] for _ in points]
    for number in range(ROUNDS):
        for value, subject, took in zip(values, subjects, seconds, strict=True):
            took.append(seconds_of(subject.step))
            advance(f"{axis} {value}, round {number + 1}")
    first, slope = subjects[0].multiplications, (kept[1] - kept[0]) / (values[1] - values[0])
    return [
        {
            "value": value,
            "seconds": round(statistics.median(took), 4),
            "lowest_and_highest": [round(min(took), 4), round(max(took), 4)],
            "times_the_first": round(statistics.median(took) / statistics.median(seconds[0]), 2),
            "multiplications_times_the_first": round(subject.multiplications / first, 2),
            "kept_bytes": size,
            "straight_line_bytes": round(kept[0] + slope * (value - values[0])),
        }
        for value, took, subject, size in zip(values, seconds, subjects, kept, strict=True)
    ]


class _Subject:
    """A model of some sizes with a batch to learn from."""

    def __init__(self, sizes: dict[str, int]) -> None:
        config = dataclasses.replace(NETWORK, num_layers=sizes["depth"])
        types = sizes["vocabulary"]
        torch.manual_seed(1)
        self.model = Transformer(config, src_vocab_size=types, tgt_vocab_size=types).train()
        sentences, length = shape = sizes["batch"], sizes["length"]
        self.batch = Batch(*(torch.randint(FIRST_ID, types, shape) for _ in range(3)))
        self.state = new_state(self.model, TRAINING)
        lengths = {"src_len": length, "tgt_len": length}
        self.multiplications = step_flops(config, types, sentences=sentences, **lengths) // 2

    def step(self) -> None:
        update(self.model, self.state, self.batch, TRAINING, rate=1e-4)

    def kept_bytes(self) -> int:
        return bytes_kept(self.model, lambda: batch_loss(self.model, self.batch, TRAINING))


def bytes_kept(model: nn.Module, forward: Callable[[], object]) -> int:
    """Count the bytes that autograd keeps in a forward pass, each storage once, weights never."""
    own = {tensor.untyped_storage().data_ptr() for tensor in model.state_dict().values()}
    seen: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        kept = forward()  # and with it the tensors, so that no place is used twice
    del kept
    return sum(size for place, size in seen.items() if place not in own)
