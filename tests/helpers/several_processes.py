"""Train in processes that torchrun began, in a folder for each case; test_processes compares.

torchrun --nproc-per-node 2 -m tests.helpers.several_processes FOLDER CASE ...
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import nn

from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Example
from transformer.data.token_budget import TokenBudgetBatches
from transformer.model import Transformer
from transformer.models.weights import load_tensors
from transformer.support.errors import UserError
from transformer.training import linear_loss, processes
from transformer.training.loop import train
from transformer.training.report import read_log

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


def train_in(out: Path, model: nn.Module, **options: Any) -> None:
    """Train in a folder; every process ends with the same weights."""
    options |= {"d_model": SHAPE.d_model, "on_report": lambda report: None}
    train(model, CONFIG, DATA, HELD_OUT, out, **options)
    for tensor in model.state_dict().values():
        assert torch.equal(tensor, processes.run_on_rank_zero(tensor.clone))


def largest_differences(one: Path, two: Path) -> dict[str, float]:
    """Return the largest differences of two runs: of losses, at every report, and of weights."""
    logs = zip(*(read_log(out / "log.jsonl") for out in (one, two)), strict=True)
    files = [load_tensors(out / "model.safetensors")[0] for out in (one, two)]
    losses = [abs(a["loss"] - b["loss"]) for a, b in logs if a["step"] == b["step"]]
    assert len(losses) == CONFIG.steps + CONFIG.steps // CONFIG.validate_every
    weights = [float((files[0][name] - files[1][name]).abs().max()) for name in files[0]]
    return {"losses": max(losses), "weights": max(weights)}


def run_case(case: str, out: Path) -> list[float]:
    """Run a case in each process, and return a number of each: what it saw, 0 if nothing."""
    seen: list[float] = []
    if case == "whole":
        train_in(out, network().double())
    elif case == "micro":
        train_in(out, network().double(), micro_tokens=13)
    elif case == "in parts":  # the output layer is used outside of the wrapper
        with patch.object(linear_loss, "MIN_LOGITS_FOR_PARTS", 0):
            train_in(out, network().double())
    elif case == "resumed":  # one process begins and ends it
        train_in(out, network(), resume=True, stop_after=33)
    elif case == "straight":
        train_in(out, network(0.3))
    elif case == "parts":
        train_in(out, network(0.3), stop_after=23)
        train_in(out, network(0.3), resume=True)
    elif case == "drawn":
        model = network()
        model.register_forward_pre_hook(lambda *_: seen.append(float(torch.rand(()))))
        train_in(out, model, stop_after=1)
    elif case == "refused":  # one process has begun here
        try:
            train_in(out, network())
        except UserError as error:
            seen.append(float("holds a run already" in str(error)))
    own = [0.0] * processes.world_size()
    own[processes.rank()] = seen[0] if seen else 0.0
    return processes.all_reduce_sum(own)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with processes.joined_process_group():
        results = {case: run_case(case, folder / case) for case in sys.argv[2:]}
        processes.run_on_rank_zero(lambda: (folder / "answer.json").write_text(json.dumps(results)))
