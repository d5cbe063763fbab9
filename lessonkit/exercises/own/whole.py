"""The learner's Transformer, its trainer and its search in one file, which runs by itself.

Not in the paper. What the learner's file lacks, or what no longer passes, is the course's.
"""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from lessonkit.exercises import keep
from lessonkit.exercises.own import parts, reference
from lessonkit.exercises.own.part import Part
from transformer.support.errors import UserError
from transformer.support.files import write_atomically

FILE = Path("run_my_transformer.py")  # beside the lessons
STEPS = 300
IMPORTS = """\
import math

import torch
from torch import nn
from transformer import causal_mask, padding_mask
from transformer import scaled_dot_product_attention, sinusoidal_positions"""
MAIN = Path(__file__).with_name("main.txt")
# The functions of lessons 05 and 06, by the module of their exercise.
FUNCTIONS = {
    "smoothed_loss": ("training", "05"),
    "warmup_rate": ("training", "05"),
    "training_step": ("training", "05"),
    "greedy_decode": ("decoding", "06"),
    "beam_step": ("decoding", "06"),
}


def run(steps: int = STEPS, file: Path | None = None, out: Path | None = None) -> None:
    """Write the file that trains and translates, and run it in a process of its own.

    It prints for each piece whose it is, then what the run says: the loss, a sentence's
    translation, and the BLEU of some sentences.

    Args:
        steps: Of the training; 300 take a minute or so on two CPU cores.
        file: The learner's file; None is `my_transformer.py`.
        out: Where the whole is written; None is `run_my_transformer.py`.

    Raises:
        UserError: the learner's file cannot be run, or the whole stops with an error.
    """
    out = out or FILE
    write(file or keep.FILE, out)
    print(f"All in one file, {out.name}. It runs by itself: python {out.name} {steps}")
    paths = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(
        [sys.executable, "-u", out.name, str(steps)],
        cwd=out.resolve().parent,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="")
    if running.returncode:
        raise UserError(f"{out.name} stopped with an error, which it has printed above")


def write(file: Path, out: Path) -> None:
    """Write the learner's file, the course's pieces that it needs, and what runs them."""
    mine = file.read_text(encoding="utf-8").strip() if file.is_file() else ""
    texts = [mine, IMPORTS, *_missing(file), MAIN.read_text(encoding="utf-8")]
    write_atomically(out, "\n\n\n".join(filter(None, texts)).encode())


def _missing(file: Path) -> Iterator[str]:
    """Give the source of each piece that must be the course's; say whose every one is."""
    parts_by_name = {part.name: part for part in vars(parts).values() if isinstance(part, Part)}
    for name, build in vars(reference).items():
        if not name.startswith("My"):
            continue
        if part := parts_by_name.get(name):
            is_given = not _is_yours(name, part.lesson, file, part.check)
        else:  # it stands in the lesson, and is no answer
            is_given = keep.find(name, file) is None
        if is_given:
            yield inspect.getsource(build).rstrip()
    for short, (module, lesson) in FUNCTIONS.items():
        exercise = getattr(import_module(f"lessonkit.exercises.{module}"), short)
        if not _is_yours(f"my_{short}", lesson, file, exercise.check):
            yield str(exercise.solution())


def _is_yours(name: str, lesson: str, file: Path, check: Callable[[Any], Any]) -> bool:
    """Say in a line whose a piece is, and whether it is the learner's."""
    found = keep.find(name, file)
    if found is not None and check(found).status == "passed":
        print(f"{name:18} YOURS")
        return True
    why = "is not kept" if found is None else "does not pass"
    print(f"{name:18} THE COURSE'S, for yours {why} (lesson {lesson})")
    return False
