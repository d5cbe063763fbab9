"""How long the command line takes to answer, and what of that is PyTorch.

Not in the paper. Seconds of computing of the process that was started, and of its children.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

ROUNDS = 7
COMMANDS = {
    "python alone": ("-c", "pass"),
    "--help": ("-m", "transformer", "--help"),
    "train --help": ("-m", "transformer", "train", "--help"),
    "corpora list": ("-m", "transformer", "corpora", "list"),
    "a recipe that is not there": ("-m", "transformer", "train", "nonsense"),
    "import torch": ("-c", "import torch"),
}

Advance = Callable[[str], object]


def parts() -> int:
    """Give how many times `measure` calls `advance`."""
    return ROUNDS


def measure(advance: Advance) -> dict[str, Any]:
    """Start each command by turns; a first round, which fills the disk's cache, is not counted.

    Args:
        advance: Called with what was just done, `parts` times.

    Returns:
        For each command the median of its seconds, the lowest and the highest.
    """
    for arguments in COMMANDS.values():
        seconds_to_run(arguments)
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for number in range(ROUNDS):
        for name, arguments in COMMANDS.items():
            seconds[name].append(seconds_to_run(arguments))
        advance(f"start-up, round {number + 1}")
    return {
        "rounds": ROUNDS,
        "commands": {
            name: {
                "seconds": round(statistics.median(took), 3),
                "lowest_and_highest": [round(min(took), 3), round(max(took), 3)],
            }
            for name, took in seconds.items()
        },
    }


def seconds_to_run(arguments: tuple[str, ...]) -> float:
    """Give the seconds of computing of Python with these arguments."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    after = os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system
