"""A training that is stopped, then loses its runtime, and ends all the same: the run is on Drive.

Lesson 10 itself does it, up to the cell that trains: interrupted once and run again; its kernel
killed and its folder deleted; then the same cells in a new runtime.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from stamping import lessons

from stand_in.runtime import KERNEL, Runtimes

LESSON = "10_german_to_english.ipynb"
TRAINING = "train_recipe("
STOP, KILL, LAST = 100, 250, 300  # reports at which that happens; the last one
EVERY = 50  # steps from report to report; after each a checkpoint is saved
_STEP = re.compile(r"^step (\d+)/\d+ · epoch \d+ · loss", re.MULTILINE)


class LostError(Exception):
    """The runtime is gone."""


def run(runtimes: Runtimes) -> list[str]:
    """Do it, and give a line for each part.

    Raises:
        ValueError: a cell failed, or the training did not go on where it was.
    """
    cells = _cells(runtimes)
    seen: list[int] = []
    first = Kernel(runtimes, runtimes.new("first"))
    try:
        _train(first, cells, seen, lambda step: step == STOP and first.interrupt())
        stopped = seen[-1]
        _expect(STOP <= stopped < KILL, f"an interrupt at step {STOP} ended at {stopped}")
        again = len(seen)
        _train(first, cells[-1:], seen, lambda step: step == KILL and first.kill())
    except LostError:
        pass
    finally:
        first.kill(quietly=True)
    _expect(seen[again] == stopped + EVERY, f"after the interrupt it went on with {seen[again]}")
    runtimes.new("first")  # all that the runtime held
    lost, second = len(seen), Kernel(runtimes, runtimes.new("second"))
    try:
        _train(second, cells, seen, lambda step: None)
    finally:
        second.kill(quietly=True)
    _expect(seen[lost] == KILL, f"the new runtime began with step {seen[lost]}")
    _expect(seen[-1] == LAST, f"it ended at step {seen[-1]}")
    return [
        f"interrupted at step {stopped}, the same cell went on: step {seen[again]} came next",
        f"runtime killed after step {seen[lost - 1]}; a new one went on from Drive with step "
        f"{KILL - EVERY}'s checkpoint: {seen[lost]} came next, {seen[-1]} last",
    ]


class Kernel:
    """A kernel of the stand-in in a folder."""

    def __init__(self, runtimes: Runtimes, folder: Path) -> None:
        kernels = str(runtimes.folder / "jupyter" / "kernels")
        specs = KernelSpecManager(kernel_dirs=[kernels])
        self._manager = KernelManager(kernel_name=KERNEL, kernel_spec_manager=specs)
        self._manager.start_kernel(cwd=str(folder), env=dict(os.environ), stderr=DEVNULL)
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=120)

    def execute(self, code: str, hear: Callable[[str], None]) -> None:
        """Run code; `hear` gets what it prints.

        Raises:
            ValueError: the code raised.
        """

        def hook(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream":
                hear(message["content"]["text"])

        reply = self._client.execute_interactive(code, output_hook=hook, timeout=1800)
        content = reply["content"]
        if content["status"] != "ok":
            raise ValueError(f"{content.get('ename')}: {content.get('evalue')}")

    def interrupt(self) -> None:
        """What the square button does."""
        self._manager.interrupt_kernel()

    def kill(self, quietly: bool = False) -> None:
        """End it at once, as a lost runtime ends."""
        self._client.stop_channels()
        if self._manager.is_alive():
            self._manager.shutdown_kernel(now=True)
        if not quietly:
            raise LostError


def _cells(runtimes: Runtimes) -> list[str]:
    """Return the lesson's code up to the training, with Drive asked for."""
    book = runtimes.lesson(LESSON)
    code = [lessons.source(cell) for cell in book["cells"] if cell["cell_type"] == "code"]
    end = next(i for i, text in enumerate(code) if TRAINING in text)
    asked = code[0].replace("KEEP_ON_DRIVE = False", "KEEP_ON_DRIVE = True")
    _expect(asked != code[0], "the first cell has no KEEP_ON_DRIVE")
    return [asked, *code[1 : end + 1]]


def _train(
    kernel: Kernel, cells: list[str], seen: list[int], then: Callable[[int], object]
) -> None:
    """Run cells; note the steps that are reported, and do `then` after each."""

    def hear(text: str) -> None:
        for step in map(int, _STEP.findall(text)):
            seen.append(step)
            then(step)

    for code in cells:
        kernel.execute(code, hear)


def _expect(true: bool, otherwise: str) -> None:
    if not true:
        raise ValueError(otherwise)
