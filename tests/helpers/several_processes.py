"""Train in processes that torchrun began, and compare with one process by itself.

    torchrun --nproc-per-node 2 -m tests.helpers.several_processes FOLDER [CASE ...]

The first process trains each case alone, then both train it together. It writes what differed to
FOLDER/answer.json: the largest differences of weights and of losses, by case.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from experiments.muon import MuonAndAdam
from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Example, TokenBudgetBatches
from transformer.model import Transformer
from transformer.models.log import read_log
from transformer.support.errors import UserError
from transformer.training.loop import train
from transformer.training.processes import ALONE, Processes, join_processes
from transformer.training.run import TrainingResult

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


def exact() -> Transformer:
    """The network in 64 bits, where rounding cannot be taken for anything else."""
    return network().double()


def go(
    out: Path,
    processes: Processes,
    config: TrainingConfig = CONFIG,
    model: nn.Module | None = None,
    **options: Any,
) -> tuple[nn.Module, TrainingResult]:
    """Train in a folder, alone or together."""
    model = model or network()
    result = train(
        model, config, DATA, HELD_OUT, out,
        d_model=SHAPE.d_model, on_report=lambda report: None, processes=processes, **options,
    )  # fmt: skip
    return model, result


def weights_apart(one: nn.Module, two: nn.Module) -> float:
    """Give the largest difference of two models' weights."""
    pairs = zip(one.parameters(), two.parameters(), strict=True)
    return max(float((a - b).detach().abs().max()) for a, b in pairs)


def losses_apart(one: Path, two: Path) -> float:
    """Give the largest difference of two runs' losses, of each step and each validation."""
    logs = [read_log(out / "log.jsonl") for out in (one, two)]
    assert [(a["kind"], a["step"]) for a in logs[0]] == [(b["kind"], b["step"]) for b in logs[1]]
    return max(abs(a["loss"] - b["loss"]) for a, b in zip(*logs, strict=True))


def compare(
    folder: Path,
    processes: Processes,
    accumulate: int = 1,
    make: Callable[[], nn.Module] = network,
    muon: bool = False,
) -> dict[str, Any]:
    """Train alone, then together, and say how far apart they end."""
    config = replace(CONFIG, accumulate=accumulate)
    name = f"{make.__name__}-{accumulate}-{muon}"
    alone, both = folder / f"{name}-alone", folder / f"{name}-together"

    def options(those: Processes) -> dict[str, Any]:
        parts = {"config": config, "processes": those}
        return {"optimizer": partial(MuonAndAdam, **parts)} if muon else {}

    single = processes.from_first(lambda: go(alone, ALONE, config, make(), **options(ALONE))[0])
    model, _ = go(both, processes, config, make(), **options(processes))
    losses = processes.from_first(lambda: losses_apart(alone, both))
    others = processes.sum([weights_apart(single, model)])[0]
    return {"losses": losses, "weights": others / processes.size}


def resumed(folder: Path, processes: Processes) -> dict[str, Any]:
    """Train 17 steps alone, then up to 33 together, then the rest alone."""
    alone, parts = folder / "resumed-alone", folder / "resumed-parts"
    single = processes.from_first(lambda: go(alone, ALONE)[0])
    processes.from_first(lambda: go(parts, ALONE, stop_after=17))
    _, result = go(parts, processes, resume=True, stop_after=33)
    assert (result.step, result.interrupted) == (33, True)
    model = processes.from_first(lambda: go(parts, ALONE, resume=True)[0])
    losses = processes.from_first(lambda: losses_apart(alone, parts))
    return {"losses": losses, "weights": weights_apart(single, model)}


def exactly_resumed(folder: Path, processes: Processes) -> dict[str, Any]:
    """Train with dropout straight through, and in two parts, both together."""
    straight, parts = folder / "straight", folder / "two-parts"
    whole, _ = go(straight, processes, model=network(0.3))
    go(parts, processes, model=network(0.3), stop_after=23)
    model, _ = go(parts, processes, model=network(0.3), resume=True)
    losses = processes.from_first(lambda: losses_apart(straight, parts))
    return {"losses": losses, "weights": weights_apart(whole, model)}


class Masks(nn.Module):
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


def masks(folder: Path, processes: Processes) -> dict[str, Any]:
    """Say what dropout drew in the first step of each process."""
    model = Masks()
    go(folder / "masks", processes, model=model, stop_after=1)
    own = [0.0] * processes.size
    own[processes.rank] = model.seen[0]
    return {"drawn": list(processes.sum(own))}


def refused(folder: Path, processes: Processes) -> dict[str, Any]:
    """Train over a run that is there: every process is to hear the same."""
    try:
        go(folder / "straight", processes)
    except UserError as error:
        heard = float("holds a run already" in str(error))
    return {"heard": processes.sum([heard])[0]}


Case = Callable[[Path, Processes], dict[str, Any]]
CASES: dict[str, Case] = {
    "batches cut": compare,
    "batches cut, 64 bits": partial(compare, make=exact),
    "two whole batches each": partial(compare, accumulate=4),
    "two whole batches each, 64 bits": partial(compare, accumulate=4, make=exact),
    "parts of more batches": partial(compare, accumulate=3),
    "parts of more batches, 64 bits": partial(compare, accumulate=3, make=exact),
    "Muon": partial(compare, muon=True),
    "Muon, 64 bits": partial(compare, make=exact, muon=True),
    "resumed": resumed,
    "exactly resumed": exactly_resumed,
    "masks": masks,
    "refused": refused,
}


def main(folder: Path, cases: Sequence[str]) -> None:
    with join_processes() as processes:
        found = {case: CASES[case](folder, processes) for case in cases or CASES}
        answer = json.dumps(found | {"processes": processes.size})
        processes.from_first(lambda: (folder / "answer.json").write_text(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
