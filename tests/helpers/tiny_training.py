"""A tiny model and its training, for tests: small enough to run often, and to the last bit."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batch_shapes import few_shapes
from transformer.data.batches import Batch, Example
from transformer.data.device_batches import ExampleTensors
from transformer.data.token_budget import TokenBudgetBatches
from transformer.model import Transformer
from transformer.models.weights import load_tensors
from transformer.training.loop import train
from transformer.training.report import read_log
from transformer.training.result import TrainingResult
from transformer.training.schedule import configured_learning_rate

VOCAB, D_MODEL = 23, 16
CONFIG = TrainingConfig(
    steps=12, batch_tokens=60, warmup_steps=5, report_every=2, validate_every=3, average_last=2
)
CHANCE = random.Random(7)
SOURCES = [[CHANCE.randrange(4, VOCAB) for _ in range(CHANCE.randrange(2, 9))] for _ in range(70)]
EXAMPLES = [Example(src, src[::-1]) for src in SOURCES]
DATA = TokenBudgetBatches(EXAMPLES[13:], 60, pool_batches=3)
HELD_OUT = list(TokenBudgetBatches(EXAMPLES[:13], 60).epoch(0))


class Tiny(nn.Module):
    """The next token from the last one and the mean of the source, with tied weights."""

    def __init__(self, dropout: float = 0.3, size: int = D_MODEL) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.embedding = nn.Embedding(VOCAB, size)
        self.dropout = nn.Dropout(dropout)
        self.mix = nn.Linear(2 * size, size)
        self.output = nn.Linear(size, VOCAB, bias=False)
        self.output.weight = self.embedding.weight
        self.idle = nn.Parameter(torch.ones(7))  # no loss depends on it

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        source = self.embedding(src).mean(1, keepdim=True).expand(-1, tgt_in.size(1), -1)
        both = torch.cat([self.embedding(tgt_in), source], dim=-1)
        logits: Tensor = self.output(self.dropout(self.mix(both)))
        return logits


def transformer() -> Transformer:
    torch.manual_seed(3)
    shape = ModelConfig(d_model=D_MODEL, d_ff=19, num_heads=2, num_layers=1)
    return Transformer(shape, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB)


def run_tiny(
    out: Path, model: nn.Module, config: TrainingConfig = CONFIG, **options: Any
) -> TrainingResult:
    arguments = {"batches": DATA, "validation_batches": HELD_OUT, "on_report": lambda _: None}
    return train(model, config, out=out, d_model=D_MODEL, **arguments | options)


class PaddedBatches:
    """The batches that recorded steps see, made on the CPU, for the plain loop."""

    def __init__(self, batches: TokenBudgetBatches) -> None:
        self.batches = batches
        self.shapes = few_shapes(batches)
        self.tensors = ExampleTensors(batches.examples, torch.device("cpu"))

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        for rows in self.batches.rows_by_batch(number)[start:]:
            shape = self.shapes.shape_of(rows)
            made = self.tensors.gather(self.tensors.pad_rows(rows, shape.sentences), shape)
            yield Batch(made.src, made.tgt_in, made.tgt_out)


def rounded_rate(step: int) -> float:
    """The paper's learning rate in 32 bits, as a tensor holds it."""
    return float(np.float32(configured_learning_rate(step, D_MODEL, CONFIG)))


def same_weights(one: nn.Module, two: nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), two.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def log_without_times(out: Path) -> list[dict[str, Any]]:
    """Return the lines of a log without its times."""
    timing = ("seconds", "tokens_per_second")
    return [
        {key: value for key, value in line.items() if key not in timing}
        for line in read_log(out / "log.jsonl")
    ]


def assert_same_runs(one: Path, two: Path) -> None:
    """Assert that the logs, weights and states of two runs are the same, file by file."""
    assert log_without_times(one) == log_without_times(two)
    names = [sorted(p.relative_to(out) for p in out.rglob("*.safetensors")) for out in (one, two)]
    assert names[0] == names[1]
    for name in names[0]:
        (first, about), (second, about_too) = load_tensors(one / name), load_tensors(two / name)
        assert first.keys() == second.keys(), name
        assert all(torch.equal(first[key], second[key]) for key in first), name
        assert about.get("loss") == about_too.get("loss"), name


def file_contents(out: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in out.rglob("*.*")}


def assert_close_weights(one: nn.Module, two: nn.Module) -> None:
    for name, tensor in two.state_dict().items():
        torch.testing.assert_close(one.state_dict()[name], tensor, msg=name)


def with_bad_steps(model: nn.Module, steps: range, where: str = "gradient") -> nn.Module:
    """Return the model, changed so that some steps have a loss or gradients not finite."""
    passes = 0

    def spoil(module: nn.Module, arguments: Any, logits: Tensor) -> Tensor:
        nonlocal passes
        passes += module.training
        if not module.training or passes not in steps:
            return logits
        if where == "loss":
            return logits * float("nan")
        logits.register_hook(lambda grad: grad * float("inf"))
        return logits

    model.register_forward_hook(spoil)
    return model
