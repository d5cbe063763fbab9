"""Train in processes that are killed, and compare with a run that was not.

    python -m tests.helpers.killed_runs FOLDER

Its own program, so that each run is a fork of a process that has torch imported but has
not used it yet. Prints one JSON object: how many kills there were, and what differed.
"""

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import torch._dynamo  # or else each fork imports it, when it makes its optimizer

from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Example, TokenBudgetBatches
from transformer.model import Transformer
from transformer.models.checkpoint import load_tensors
from transformer.models.log import Report, read_log
from transformer.training.loop import train

SHAPE = ModelConfig(d_model=12, d_ff=17, num_heads=2, num_layers=1, dropout=0.2)
CONFIG = TrainingConfig(
    steps=13,
    batch_tokens=40,
    warmup_steps=5,
    clip_norm=1.0,
    report_every=2,
    validate_every=3,
    average_last=2,
)
TIMING = {"seconds", "tokens_per_second"}


def run(out: Path, kill_in_forward: int = 0) -> None:
    """Train from where `out` stands; SIGKILL oneself in a forward pass, counted from 1."""
    torch.set_num_threads(1)
    torch.manual_seed(CONFIG.seed)
    model = Transformer(SHAPE, src_vocab_size=23, tgt_vocab_size=23)
    forwards = 0

    def count(*_: object) -> None:
        nonlocal forwards
        forwards += 1
        if forwards == kill_in_forward:
            os.kill(os.getpid(), signal.SIGKILL)

    model.register_forward_hook(count)
    chance = random.Random(5)
    sources = [[chance.randrange(4, 23) for _ in range(chance.randrange(2, 9))] for _ in range(60)]
    examples = [Example(src, src[::-1]) for src in sources]
    batches = TokenBudgetBatches(examples, CONFIG.batch_tokens, pool_batches=3)
    held_out = list(TokenBudgetBatches(examples[:11], CONFIG.batch_tokens).epoch(0))

    def quiet(report: Report) -> None:
        pass

    train(
        model, CONFIG, batches, held_out, out,
        d_model=SHAPE.d_model, resume=True, on_report=quiet, micro_tokens=25,
    )  # fmt: skip


def child(action: Callable[[], None]) -> bool:
    """Run in a forked process; tell whether it killed itself."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return True
    if os.WEXITSTATUS(status) != 0:
        raise RuntimeError(f"a run failed with status {os.WEXITSTATUS(status)}")
    return False


def differences(first: Path, second: Path) -> list[str]:
    """Name the files of two runs that are not the same, times aside."""
    names = sorted(str(p.relative_to(first)) for p in first.rglob("*.safetensors"))
    others = sorted(str(p.relative_to(second)) for p in second.rglob("*.safetensors"))
    if names != others:
        return [f"{names} and {others}"]
    found = []
    for name in names:
        (one, said), (two, said_too) = load_tensors(first / name), load_tensors(second / name)
        same = one.keys() == two.keys() and all(torch.equal(one[key], two[key]) for key in one)
        if not same or said.get("loss") != said_too.get("loss"):
            found.append(name)
    logs = [
        [
            {key: line[key] for key in line if key not in TIMING}
            for line in read_log(p / "log.jsonl")
        ]
        for p in (first, second)
    ]
    return found if logs[0] == logs[1] else [*found, "log.jsonl"]


def main(folder: Path) -> None:
    straight = folder / "straight"
    child(partial(run, straight))
    kills, found = 0, {}

    for forward in (1, 4, 9, 15, 22, 30):  # of about 40, those of validation included
        out = folder / f"forward_{forward}"
        kills += child(partial(run, out, kill_in_forward=forward))
        child(partial(run, out))
        found[out.name] = differences(straight, out)
    print(json.dumps({"kills": kills, "different": {k: v for k, v in found.items() if v}}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
