"""Train in processes that torchrun began, and compare with one process by itself.

    torchrun --nproc-per-node 2 -m tests.helpers.several_processes FOLDER [CASE ...]

The first process trains alone, then all train together, and it goes on alone. It writes what
differed to FOLDER/answer.json: the largest differences of weights and of losses, by case.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Example, TokenBudgetBatches
from transformer.model import Transformer
from transformer.models.folder import load_tensors
from transformer.support.errors import UserError
from transformer.training import processes
from transformer.training.checkpoint import read_log
from transformer.training.loop import TrainingResult, train

SHAPE = ModelConfig(d_model=12, d_ff=17, num_heads=2, num_layers=1, dropout=0.0)
CONFIG = TrainingConfig(
    steps=50,
    batch_tokens=40,
    warmup_steps=11,
    clip_norm=1.0,
    learning_rate_factor=0.1,  # at the full rate so small a model soon is chaos in its last bits
    report_every=1,
    validate_every=10,
    average_last=3,
)
# Lengths from 1 to 12, so that no two processes get equally many tokens; a batch of the longest
# has three sentences, fewer than four processes.
LENGTHS = [1 + 7 * number % 12 for number in range(60)]
SOURCES = [[4 + (5 * n + 3 * i) % 19 for i in range(length)] for n, length in enumerate(LENGTHS)]
EXAMPLES = [Example(src, src[::-1]) for src in SOURCES]
DATA = TokenBudgetBatches(EXAMPLES, CONFIG.batch_tokens, pool_batches=3)
HELD_OUT = list(TokenBudgetBatches(EXAMPLES[:17], CONFIG.batch_tokens).epoch(0))


def network(dropout: float = 0.0) -> Transformer:
    torch.manual_seed(3)
    return Transformer(replace(SHAPE, dropout=dropout), src_vocab_size=23, tgt_vocab_size=23)


def go(
    out: Path, config: TrainingConfig = CONFIG, model: nn.Module | None = None, **options: Any
) -> tuple[nn.Module, TrainingResult]:
    """Train in a folder."""
    model = model or network()
    result = train(
        model, config, DATA, HELD_OUT, out,
        d_model=SHAPE.d_model, on_report=lambda report: None, **options,
    )  # fmt: skip
    return model, result


def weights_apart(one: nn.Module, out: Path) -> float:
    """Give the largest difference of a model's weights from those that a run has left."""
    left, _ = load_tensors(out / "model.safetensors")
    return max(float((one.state_dict()[name] - left[name]).abs().max()) for name in left)


def losses_apart(one: Path, two: Path) -> float:
    """Give the largest difference of two runs' losses, of each step and each validation."""
    logs = [read_log(out / "log.jsonl") for out in (one, two)]
    assert [(a["kind"], a["step"]) for a in logs[0]] == [(b["kind"], b["step"]) for b in logs[1]]
    return max(abs(a["loss"] - b["loss"]) for a, b in zip(*logs, strict=True))


class DrawsMasks(nn.Module):
    """Says how much dropout has dropped in the first pass."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.embedding = nn.Embedding(23, 23)
        self.seen: list[float] = []

    def forward(self, src: torch.Tensor, tgt_in: torch.Tensor) -> torch.Tensor:
        mask = nn.functional.dropout(torch.ones(997), 0.5, self.training)
        self.seen.append(float((mask * torch.arange(997)).sum()))
        logits: torch.Tensor = self.embedding(tgt_in)
        return logits


def before(name: str, folder: Path) -> None:
    """What the first process does alone, before the processes join."""
    if name in ("batches cut", "micro-batches"):
        go(folder / "alone", model=network().double())
    elif name == "resumed":
        go(folder / "alone")
        go(folder / "parts", stop_after=17)
    elif name == "refused":
        go(folder, stop_after=1)


def compared(folder: Path, micro_tokens: int | None = None) -> dict[str, Any]:
    """Train in 64 bits, and say how far this ends from where one process did."""
    model, _ = go(folder / "both", model=network().double(), micro_tokens=micro_tokens)
    losses = processes.from_first(lambda: losses_apart(folder / "alone", folder / "both"))
    apart = processes.add_up([weights_apart(model, folder / "alone")])[0]
    return {"losses": losses, "weights": apart / processes.size()}


def resumed(folder: Path) -> dict[str, Any]:
    """Go on with what one process began; it will go on alone with the rest."""
    _, result = go(folder / "parts", resume=True, stop_after=33)
    assert (result.step, result.interrupted) == (33, True)
    return {}


def exactly_resumed(folder: Path) -> dict[str, Any]:
    """Train with dropout straight through, and in two parts."""
    go(folder / "straight", model=network(0.3))
    go(folder / "parts", model=network(0.3), stop_after=23)
    model, _ = go(folder / "parts", model=network(0.3), resume=True)
    losses = processes.from_first(lambda: losses_apart(folder / "straight", folder / "parts"))
    return {"losses": losses, "weights": weights_apart(model, folder / "straight")}


def masks(folder: Path) -> dict[str, Any]:
    """Say what dropout drew in the first step of each process."""
    model = DrawsMasks()
    go(folder, model=model, stop_after=1)
    own = [0.0] * processes.size()
    own[processes.rank()] = model.seen[0]
    return {"drawn": processes.add_up(own)}


def refused(folder: Path) -> dict[str, Any]:
    """Train over a run that is there: every process is to hear the same."""
    try:
        go(folder)
    except UserError as error:
        heard = float("holds a run already" in str(error))
    return {"heard": processes.add_up([heard])[0]}


CASES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "batches cut": compared,
    "micro-batches": partial(compared, micro_tokens=13),
    "resumed": resumed,
    "exactly resumed": exactly_resumed,
    "masks": masks,
    "refused": refused,
}


def main(folder: Path, names: Sequence[str]) -> None:
    first, names = os.environ["RANK"] == "0", names or list(CASES)
    for name in names if first else ():
        before(name, folder / name)
    with processes.joined():
        found = {name: CASES[name](folder / name) for name in names}
        size = processes.size()
    if first and "resumed" in names:
        alone, parts = folder / "resumed" / "alone", folder / "resumed" / "parts"
        model, _ = go(parts, resume=True)
        found["resumed"] = {
            "losses": losses_apart(alone, parts),
            "weights": weights_apart(model, alone),
        }
    if first:
        (folder / "answer.json").write_text(json.dumps(found | {"processes": size}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
