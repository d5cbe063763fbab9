"""The learner's Transformer, its trainer and its search in one file, which runs by itself.

Not in the paper. Definitions that the learner's file lacks, or that no longer pass, are the
course's.
"""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from lessonkit.exercises import learner_file
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.message import Message
from lessonkit.exercises.own import classes, reference
from lessonkit.exercises.own.class_exercise import ClassExercise
from lessonkit.records import limit_steps
from transformer.support.errors import UserError, require
from transformer.support.files import write_atomically

DEFAULT_RUNNABLE_FILE = Path("run_my_transformer.py")  # beside the lessons
DEFAULT_TRAINING_STEPS = 800
WEIGHTS_SUFFIX = ".safetensors"  # of the file of weights beside the runnable one
IMPORT_STATEMENTS = """\
import math

import torch
from torch import nn
from transformer import causal_mask, padding_mask
from transformer import scaled_dot_product_attention, sinusoidal_positions"""
RUNNABLE_MAIN_SOURCE_FILE = Path(__file__).with_name("main.txt")
# The functions of lessons 06 and 07, by the module of their exercise.
FUNCTION_MODULES_AND_LESSONS = {
    "smoothed_loss": ("training", "06"),
    "warmup_rate": ("training", "06"),
    "training_step": ("training", "06"),
    "greedy_decode": ("decoding", "07"),
    "beam_step": ("decoding", "07"),
}


def run(steps: int | None = None, file: Path | None = None, out: Path | None = None) -> None:
    """Write the file that trains and translates, and run it in a process of its own.

    Print whose each definition is, then what the run prints: the loss, the translations of five
    sentences, and the BLEU of others. `translate` then takes any sentence.

    Args:
        steps: Of the training; None is 800, which take three minutes or so on two CPU cores, or
            fewer if the environment variable COURSE_MAX_STEPS says so.
        file: The learner's file; None is `my_transformer.py`.
        out: Where the whole is written; None is `run_my_transformer.py`.

    Raises:
        UserError: `steps` is under 1, the learner's file cannot be run, or the whole stops with an
            error.
    """
    if steps is None:
        steps = limit_steps(DEFAULT_TRAINING_STEPS)
    require(isinstance(steps, int) and steps >= 1, f"steps is {steps!r}: it must be 1 or more")
    out = out or DEFAULT_RUNNABLE_FILE
    write_runnable_file(file or learner_file.LEARNER_FILE, out)
    # Weights of an earlier file: should this run stop, they would be taken for its own.
    out.with_suffix(WEIGHTS_SUFFIX).unlink(missing_ok=True)
    print(f"All in one file, {out.name}. It runs by itself: python {out.name} {steps}")
    _run_file(out, str(steps))


def translate(sentence: str, out: Path | None = None) -> None:
    """Print the translation of a sentence, by the weights that `run` has trained.

    Args:
        sentence: In English.
        out: The file that `run` has written; None is `run_my_transformer.py`.

    Raises:
        UserError: the sentence is no text, nothing has been trained yet, or the file stops with an
            error.
    """
    out = out or DEFAULT_RUNNABLE_FILE
    require(
        isinstance(sentence, str) and not sentence.isdecimal() and bool(sentence.strip()),
        f"{sentence!r} is no sentence: put one in English between quotation marks",
    )
    require(
        out.with_suffix(WEIGHTS_SUFFIX).is_file(),
        f"{out.name} has trained no weights yet: call own.run() first",
    )
    _run_file(out, sentence)


def _run_file(file: Path, argument: str) -> None:
    """Run the whole in a process of its own, and print what it prints, line by line."""
    paths = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(
        [sys.executable, "-u", file.name, argument],
        cwd=file.resolve().parent,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="")
    if running.returncode:
        raise UserError(f"{file.name} stopped with an error, which it has printed above")


def write_runnable_file(file: Path, out: Path) -> None:
    """Write the learner's file, the course's definitions that it needs, and what runs them."""
    mine = file.read_text(encoding="utf-8").strip() if file.is_file() else ""
    texts = [
        mine,
        IMPORT_STATEMENTS,
        *_course_definitions_in_place_of_missing(file),
        RUNNABLE_MAIN_SOURCE_FILE.read_text(encoding="utf-8"),
    ]
    write_atomically(out, "\n\n\n".join(filter(None, texts)).encode())


def _course_definitions_in_place_of_missing(file: Path) -> Iterator[str]:
    """Yield the source of each definition that must be the course's; print whose every one is."""
    exercises = {
        exercise.name: exercise
        for exercise in vars(classes).values()
        if isinstance(exercise, ClassExercise)
    }
    for name, definition in vars(reference).items():
        if not name.startswith("My"):
            continue
        if exercise := exercises.get(name):
            is_missing = not _is_passing_learner_definition(
                name, exercise.lesson, file, exercise.judge
            )
        else:  # it stands in the lesson, and is no answer
            is_missing = learner_file.load_definition(name, file) is None
        if is_missing:
            yield inspect.getsource(definition).rstrip()
    for short, (module, lesson) in FUNCTION_MODULES_AND_LESSONS.items():
        function: Exercise = getattr(import_module(f"lessonkit.exercises.{module}"), short)
        if not _is_passing_learner_definition(f"my_{short}", lesson, file, function.judge):
            yield function.solution_source()


def _is_passing_learner_definition(
    name: str, lesson: str, file: Path, judge: Callable[[Any], Message]
) -> bool:
    """Return whether a definition is the learner's, and print whose it is."""
    definition = learner_file.load_definition(name, file)
    if definition is not None and judge(definition).status == "passed":
        print(f"{name:18} YOURS")
        return True
    why = "is not kept" if definition is None else "does not pass"
    print(f"{name:18} THE COURSE'S, for yours {why} (lesson {lesson})")
    return False
