"""What several tests share."""

import argparse
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

weekly = partial(pytest.param, marks=pytest.mark.weekly)  # a case
HANGS = 3600  # seconds after which a process hangs; a busy machine is slow, not wrong
ROOT = Path(__file__).resolve().parents[2]

# Settings that make the recipe `demo` small enough for a test.
TINY = {
    "vocab_size": "293",
    "d_model": "16",
    "d_ff": "17",
    "num_heads": "2",
    "num_layers": "1",
    "batch_tokens": "256",
    "max_train_tokens": "23",
    "report_every": "1",
    "validate_every": "2",
}


def python(*arguments: Any, status: int = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, which must end with this status."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, **options)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def set_torchrun_environment(monkeypatch: pytest.MonkeyPatch, size: int, here: int) -> None:
    """Set what torchrun sets in one of `size` processes, `here` of them on this machine."""
    sizes = {"TORCHELASTIC_RUN_ID": 17, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": here}
    for name, value in sizes.items():
        monkeypatch.setenv(name, str(value))


def wheel(source: Path, out: Path) -> Path:
    """Build a wheel without a network."""
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet", "wheel")
    python(*pip, "--no-deps", "--no-index", "--no-build-isolation", "-w", out, source)
    (file,) = out.glob("*.whl")
    return file


def commands_of(parser: argparse.ArgumentParser) -> set[str]:
    """Return the names of a parser's commands."""
    (subparsers,) = (
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    return set(subparsers.choices)
