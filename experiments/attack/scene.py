"""What is attacked, the command line as a user runs it, and how an attack's end is judged.

Not in the paper.
"""

import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from safetensors.numpy import load_file

from transformer.support.files import models_folder

STEPS, HALF, SECONDS = 24, 12, 120.0
SMALL = {
    "vocab_size": 293, "d_model": 16, "d_ff": 17, "num_heads": 2, "num_layers": 1,
    "batch_tokens": 256, "max_train_tokens": 23, "report_every": 1, "validate_every": 6,
}  # fmt: skip
TRAIN = ["train", "demo", *(word for k, v in SMALL.items() for word in ("--set", f"{k}={v}"))]
GIVEN = b"The dog sleeps.\n\nThe cat does not see the bird.\n"
WEIGHTS = ("model.safetensors", "checkpoints/last.safetensors", "checkpoints/best.safetensors")

Ended = subprocess.CompletedProcess[bytes]
Chance = random.Random


def run(*words: object, largest: int = 1 << 30) -> Ended:
    """Run `python -m transformer` with these words; no file it writes can grow beyond `largest`."""
    full_disk = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (largest, largest))
    return subprocess.run(
        typed(words), input=GIVEN, capture_output=True, timeout=SECONDS, preexec_fn=full_disk
    )


def typed(words: Iterable[object]) -> list[str]:
    """Give the command with these words."""
    return [sys.executable, "-m", "transformer", *map(str, words)]


class Scene:
    """What is attacked: a run to its last step, the same half way, and a shipped model."""

    def __init__(self, folder: Path) -> None:
        self.straight, self.half = folder / "straight", folder / "half"
        began = time.monotonic()
        self._need(*TRAIN, "--steps", STEPS, "--out", self.straight)
        self.seconds = time.monotonic() - began
        self._need(*TRAIN, "--steps", HALF, "--out", self.half)
        self.shipped = models_folder() / "demo-en-fr"
        models = (self.straight, self.shipped)
        self.said = {model: self._need("translate", model, "--beam", 1) for model in models}

    @staticmethod
    def _need(*words: object) -> bytes:
        found = run(*words)
        if found.returncode:
            raise RuntimeError(f"failed before any attack: {found.stderr.decode()}")
        return found.stdout

    def ends_alike(self, out: Path) -> bool:
        """Tell whether a run has left the weights of the straight one, bit by bit."""
        return all(_same(self.straight / name, out / name) for name in WEIGHTS)


def _same(one: Path, two: Path) -> bool:
    if not (one.is_file() and two.is_file()):
        return False
    first, second = load_file(one), load_file(two)
    return first.keys() == second.keys() and all(
        first[name].tobytes() == second[name].tobytes() for name in first
    )


def judge(found: Ended, equal: Callable[[], bool]) -> str:
    """Say how an attack ended: "refused", "equal", or what got through."""
    said = found.stderr.decode("utf-8", "replace")
    lines = [line for line in said.splitlines() if line.startswith("error: ")]
    if found.returncode == 2 and len(lines) == 1 and "Traceback" not in said:
        return "refused"
    if found.returncode:
        return f"status {found.returncode}: {said.strip()[-200:]}"
    return "equal" if equal() else "another result, status 0"
