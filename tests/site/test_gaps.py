"""Gaps that a page judges: the course's files that it loads judge answers as a notebook does."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx", reason="needs the extra [site]")

from course_site import gaps

from tests.helpers import ROOT

# As a browser does it: with Python's own library, and the files that a page loads.
JUDGE = """
import json, sys
sys.path.insert(0, "course")
from lessonkit.exercises.judge_cell import judge_cell
print(json.dumps([judge_cell(*cell) for cell in json.load(open("cells.json"))]))
"""
RATE = ("training", "warmup_rate")
DEFINITION = "def my_warmup_rate(step, d_model, warmup_steps):\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that a page loads, and nothing else of the course."""
    there = tmp_path_factory.mktemp("page")
    for path, text in gaps.course_files(ROOT).items():
        file = there / "course" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return there


def judge_in_a_bare_python(folder: Path, cells: Sequence[tuple[str, ...]]) -> list[list[str]]:
    (folder / "cells.json").write_text(json.dumps(cells))
    command = [sys.executable, "-I", "-S", "-c", JUDGE]
    said = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    verdicts: list[list[str]] = json.loads(said.stdout)
    return verdicts


def test_without_pytorch_answers_are_judged_as_in_a_notebook(folder: Path) -> None:
    by_module = gaps.judged_exercises()
    each = [(module, *pair) for module, found in by_module.items() for pair in found.items()]
    right = [(module, name, exercise.solution_source()) for module, name, exercise in each]
    blank = [(module, name, exercise.blank_source) for module, name, exercise in each]
    # A named mistake is known by what it does with the right values, which are sacreBLEU's here.
    name, (old, new, *_) = next(iter(by_module["scores"]["brevity_penalty"].mistake_edits.items()))
    hint = by_module["scores"]["brevity_penalty"].hint_of_mistake[name]
    source = by_module["scores"]["brevity_penalty"].solution_source()
    wrong = ("scores", "brevity_penalty", source.replace(old, new))
    # What no named mistake does is measured.
    rate = by_module[RATE[0]][RATE[1]].solution_source().replace("d_model**-0.5 * ", "")
    verdicts = judge_in_a_bare_python(folder, [*right, *blank, wrong, (*RATE, rate)])
    statuses = ["passed"] * len(right) + ["not attempted"] * len(blank) + ["wrong"] * 2
    assert [verdict[0] for verdict in verdicts] == statuses
    named, measured = (" ".join(text.split()) for _, text, _ in verdicts[-2:])
    assert " ".join(hint.split()) in named
    assert "very number is sqrt(`d_model`) times the right one" in measured


def test_a_cell_that_fails_says_where_in_one_line(folder: Path) -> None:
    cells = [
        (*RATE, "print(1)\nmath.exp(9999)", "import math"),
        (*RATE, DEFINITION + "    return (", ""),
        (*RATE, "print(math.pi)", "import math"),
        (*RATE, DEFINITION + "    return missing", ""),
    ]
    raised, misspelt, absent, inside = judge_in_a_bare_python(folder, cells)
    assert raised[:2] == ["error", "1\nOverflowError: math range error (line 2)"]
    assert raised[2].count("File") == 1
    assert "math.exp(9999)" in raised[2]
    assert (misspelt[0], "(line 2)" in misspelt[1]) == ("error", True)
    assert (absent[0], "no my_warmup_rate" in absent[1]) == ("wrong", True)
    assert (inside[0], "line 2: return missing" in inside[1]) == ("wrong", True)


def test_a_cell_has_what_verdicts_name_as_a_lesson_has(folder: Path) -> None:
    cells = [
        (*RATE, "ex.warmup_rate.hint()"),
        (*RATE, "print(ex.warmup_rate.case_arguments(0))"),
        ("decoding", "beam_search", "print(ex.ProbabilityTable({}))"),
    ]
    hint, arguments, toy = (text for _, text, _ in judge_in_a_bare_python(folder, cells))
    assert hint.startswith("Hint 1 of")
    assert arguments.startswith("(")
    assert toy.startswith("ex.ProbabilityTable(")


def code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": [text]}


def test_below_a_gap_is_a_cell_to_fill_in_or_where_to_do_it() -> None:
    exercise = gaps.judged_exercises()["training"]["warmup_rate"]
    cells = [
        code(
            "import math, torch\nimport itertools\nfrom lessonkit.exercises import training as ex"
        ),
        code(exercise.gap_cell),
        code("def my_training_step(model):\n    ...\n\n\nex.training_step.check(my_training_step)"),
        code("ex.warmup_rate.check(4)"),
    ]
    _, _, offered, _, elsewhere, last = gaps.insert_gaps(cells, "https://colab/it")
    offer = json.loads(offered["source"].removeprefix(gaps.GAP_ELEMENT).removesuffix("</script>"))
    assert (offer["module"], offer["name"]) == RATE
    assert offer["imports"] == "import itertools"
    assert exercise.gap_cell.startswith(offer["blank"])
    assert len(offer["hints"]) == len(exercise.hints)
    assert "</" not in json.dumps(offered["source"].removesuffix("</script>"))
    assert "https://colab/it" in elsewhere["source"]
    assert last is cells[-1]
