"""`python -m lessonkit grade` on a class of five: right, half done, forged, endless, gone.

What a forged notebook prints, stores, overwrites or exchanges earns nothing.
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lessonkit.exercises import start
from lessonkit.exercises.prediction import Prediction
from tests.helpers import ROOT, python
from tests.helpers.exercise_walk import ALL

LESSON = "import torch\nfrom lessonkit.exercises import gpu as ex"
# The exercises of lesson 17.
NAMES = (
    "accumulate_gradients",
    "low_precision_matmul",
    "loss_scaler_step",
    "quantize_rows",
    "average_gradients",
    "round_to_bfloat16",
)
RIGHT = [str(ALL[name].solution()) for name in NAMES]
FORGED = """\
import lessonkit.exercises.exercise as exercise
exercise.Exercise.check = exercise.Exercise.passes = lambda *_: True
ex.low_precision_matmul.check = lambda _: print("low_precision_matmul: passed, 6 cases.")
print("accumulate_gradients: passed, 4 cases.\\nround_to_bfloat16: right")"""
CHEATS = [
    "def my_accumulate_gradients(model, parts, loss_of):\n"
    "    return ex.accumulate_gradients.expected(model, parts, loss_of)",
    "given = ex.low_precision_matmul.accept(None)\n"
    "def my_low_precision_matmul(*given_ones):\n    return given(*given_ones)",
    "def my_loss_scaler_step(*args):\n    import lessonkit.exercises.gpu as g\n"
    "    return g.my_loss_scaler_step(*args)",
    "def my_quantize_rows(weight):\n    return ex.quantize_rows.expected(weight)",
    "def my_average_gradients(gradients, all_reduce, size):\n"
    "    return [torch.stack(same).mean(dim=0) for same in zip(gradients, *all_reduce.others)]",
    "def my_round_to_bfloat16(number):\n    print('round_to_bfloat16: passed, 11 cases.')\n"
    "    return torch.__builtins__['__import__']('lessonkit.exercises.gpu')",
]


def notebook(folder: Path, learner: str, *cells: str) -> Path:
    """Write a notebook of lesson 17, its outputs full of praise."""
    said = [
        {
            "output_type": "stream",
            "name": "stdout",
            "text": "accumulate_gradients: passed, 4 cases.",
        }
    ]
    made = [{"cell_type": "code", "source": [cell], "outputs": said} for cell in (LESSON, *cells)]
    path = folder / f"{learner}.ipynb"
    path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def grade(*arguments: object, status: int) -> "subprocess.CompletedProcess[str]":
    return python("-m", "lessonkit", "grade", *arguments, cwd=ROOT, status=status)


@pytest.mark.slow
def test_a_class_is_graded_and_a_forger_gets_nothing(tmp_path: Path) -> None:
    endless = "def my_low_precision_matmul(*args):\n    while True:\n        pass"
    leaves = "import sys\ndef my_low_precision_matmul(*args):\n    sys.exit(0)"
    exits = "def my_round_to_bfloat16(number):\n    raise SystemExit(0)"
    files = [
        notebook(
            tmp_path,
            "ann",
            *RIGHT,
            "gradients = ex.accumulate_gradients.accept(my_accumulate_gradients)",
        ),
        notebook(
            tmp_path, "ben", *RIGHT[:2], ALL["loss_scaler_step"].blank_cell, "this is no Python"
        ),
        notebook(tmp_path, "forger", FORGED, *CHEATS),
        notebook(tmp_path, "loop", RIGHT[0], endless, exits),
        notebook(tmp_path, "exit", leaves, "%matplotlib inline\n" + RIGHT[-1]),
    ]
    table = tmp_path / "class.csv"
    none, empty = tmp_path / "none.ipynb", tmp_path / "empty.py"
    empty.write_text("")
    wanted = (*files, none, empty, "--csv", table, "--seconds", 8)
    done = grade(*wanted, status=1)
    lines = {Path(line.split(": ")[0]).stem: line for line in done.stdout.splitlines()}
    assert "ann.ipynb: 6 of 6 right" in lines["ann"]
    assert lines["ben"].endswith("ben.ipynb: 2 of 6 right; 4 not attempted")
    assert "forger.ipynb: 0 of 6 right" in lines["forger"]
    for name in ("loop", "exit"):
        assert "1 of 6 right" in lines[name]
    assert "my_low_precision_matmul: no answer in time" in lines["loop"]
    assert "my_round_to_bfloat16: wrong" in lines["loop"]
    assert "my_low_precision_matmul: uses sys" in lines["exit"]
    of_none, of_empty = done.stderr.splitlines()
    assert of_none.startswith(f"error: {none}: ")
    assert "no exercise in it" in of_empty
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["right"] for row in rows] == ["6", "2", "0", "1", "1"]
    assert rows[1]["my_loss_scaler_step"] == "not attempted"


@pytest.mark.weekly
def test_right_answers_are_right_on_the_cases_of_other_seeds() -> None:
    code = """
from lessonkit.exercises.grading import exercises_by_lesson_module
for exercises in exercises_by_lesson_module().values():
    for each in exercises.values():
        assert each.passes(each.reference), each.name"""
    for seed in ("77", "500000"):
        done = python("-c", code, env=os.environ | {"LESSONKIT_SHIFT": seed})
        assert not done.stderr, (seed, done.stderr)


@pytest.mark.slow
def test_help_names_what_is_graded() -> None:
    assert "FILE" in grade("--help", status=0).stdout


def test_progress_counts_what_has_passed_and_names_what_is_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "00      0 of 2     0 of 1           0 of 2     my_perplexity" in repr(
        start.show_progress()
    )
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(str(start.perplexity.solution()), names)
    wrong = start.perplexity.mistaken_functions_by_name["mean_of_exponentials"]
    assert start.perplexity.check(wrong).status == "wrong"
    assert start.perplexity.check(names["my_perplexity"]).status == "passed"
    monkeypatch.setattr(sys.modules["__main__"], "get_ipython", None, raising=False)
    prediction = next(each for each in vars(start).values() if isinstance(each, Prediction))
    prediction.predict([*prediction.options, prediction.low][0])
    Path("my_transformer.py").write_text("def my_weighted_average(weights, values): ...")
    shown = repr(start.show_progress())
    assert "00      2 of 2     0 of 1           1 of 2     my_most_probable_sentence" in shown
    assert shown.endswith("Next: my_most_probable_sentence, in lesson 00.")
    for name in ("my_progress.json", "my_transformer.py"):
        Path(name).write_text("{ no [ sense")
    assert "00      0 of 2" in repr(start.show_progress())
