"""Lessons are counted; what is no model is not shipped."""

import json
import re
from pathlib import Path

import pytest

from experiments import ship
from experiments.command_line import main
from experiments.lesson_counts import (
    MAX_MINUTES,
    MAX_WORDS,
    LessonCount,
    count_lesson,
    count_lessons,
    minutes_of_gap,
    readme_lessons_table,
)
from tests.helpers import ROOT

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def test_neither_a_folder_of_something_else_nor_a_path_for_a_name_is_shipped(
    tiny_folder: Path, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(ship, "models_folder", lambda: tmp_path / "models")
    for folder, name, told in (
        (tmp_path, "en-fr", "error: "),
        *((tiny_folder, name, "is no name of a model") for name in ("", "a/b", "/tmp/x")),
    ):
        assert main(["ship", str(folder), name]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert told in err
        assert not (tmp_path / "models").exists()


STACK_GAP = """
class MyStack(nn.Module):
    def __init__(self, layers, d_model):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, *context):
        # your answer
        ...


MyStack = own.stack.accept(MyStack)
"""


def test_a_lesson_is_counted_as_its_reader_meets_it() -> None:
    def cell(kind: str, source: str, **more: object) -> dict:
        return {"cell_type": kind, "source": [source], "metadata": {}, "outputs": []} | more

    picture = {"outputs": [{"data": {"image/png": ""}}]}
    cells = [
        cell("markdown", "# A lesson\n\nRead [three more words](https://example.com) - here."),
        cell("code", "fetch()", metadata={"tags": ["colab"]}),
        cell("code", "from lessonkit.exercises import own\n\nshow(a)", **picture),
        cell("markdown", "> **Try it.** Change it."),
        cell("code", "guess = None\nex.size.predict(guess)"),
        cell("code", STACK_GAP),
        cell("code", "draw()", metadata={"jupyter": {"source_hidden": True}}),
        cell("markdown", "### A sum (5 minutes, easy)\n\nWords that do not count."),
        cell("code", "def my_y():\n    # your answer\n    ...\n\n\nex.y.check(my_y)"),
    ]
    found = count_lesson("a", json.dumps({"cells": cells}))
    assert found[:8] == ("a", 11, 2, 1, 1, 1, 1, 1)
    # Of the gap's answer the lines of `forward` are to be written: a loop, its body and a return.
    assert found.gap_minutes == 5
    assert found.minutes == pytest.approx(11 / 180 + 2 * 5 / 60 + 0.75 * 2 + 5 + 2)
    assert found.exercise_minutes == 5


@pytest.mark.parametrize(
    ("given", "minutes"),
    [("", 3.5), ("    return 2 * common / (len(said) + len(right))\n", 2)],
)
def test_a_gap_counts_by_code_and_not_by_its_docstring(given: str, minutes: float) -> None:
    source = f"""from lessonkit.exercises import variations as ex
def my_phrase_f1(said, right):
{given}    # your answer
    ...
phrase_f1 = ex.phrase_f1.accept(my_phrase_f1)
"""
    cells = [
        {"cell_type": "markdown", "source": ["# A lesson"], "metadata": {}},
        {"cell_type": "code", "source": [source], "metadata": {}, "outputs": []},
    ]
    assert count_lesson("a", json.dumps({"cells": cells})).gap_minutes == minutes


def test_a_line_that_is_given_without_its_annotation_is_not_to_be_written() -> None:
    found = []
    for given in ("", "    found = []\n"):
        source = f"""from lessonkit.exercises import both_ways as ex
def my_connected_groups(pairs):
{given}    ...
connected_groups = ex.connected_groups.accept(my_connected_groups)
"""
        cells = [
            {"cell_type": "markdown", "source": ["# A lesson"], "metadata": {}},
            {"cell_type": "code", "source": [source], "metadata": {}, "outputs": []},
        ]
        found.append(count_lesson("a", json.dumps({"cells": cells})).gap_minutes)
    assert found == [minutes_of_gap(10), minutes_of_gap(9)]


def test_a_gap_takes_longer_the_more_lines_it_has() -> None:
    found = [minutes_of_gap(num_lines) for num_lines in (1, 2, 3, 7, 12, 13, 40)]
    assert found == [2, 3.5, 5, 8, 11.75, 12, 12]


def test_the_hours_in_readme_are_of_its_rows_alone() -> None:
    lesson = LessonCount("07_a", 0, 0, 0, 0, 0, 0, 0, gap_minutes=120, exercise_minutes=180)
    *_, row, hours = readme_lessons_table([lesson, lesson._replace(lesson="A1_b")]).splitlines()
    assert row.startswith("| 07 |")
    assert hours.endswith("| 2; 5 |")


@pytest.fixture(scope="module")
def counts() -> list[LessonCount]:
    return count_lessons(ROOT)


def test_a_lesson_states_the_minutes_that_are_counted(counts: list[LessonCount]) -> None:
    for found in counts:
        if found.lesson[:1] != "A":
            text = (ROOT / "notebooks" / f"{found.lesson}.ipynb").read_text(encoding="utf-8")
            stated = re.search(r"\*\*Minutes:\*\* (\d+) for you, (\d+) for the exercise", text)
            counted = (f"{found.minutes:.0f}", str(found.exercise_minutes))
            assert stated is not None, found.lesson
            assert stated.groups() == counted, found.lesson


def test_no_lesson_is_longer_than_its_limits(counts: list[LessonCount]) -> None:
    for found in counts:
        assert found.words <= MAX_WORDS, found.lesson
        assert round(found.minutes) <= MAX_MINUTES, found.lesson
        if found.lesson[:1] != "A":
            assert found.gaps >= 2, found.lesson
            assert found.exercises <= 3, found.lesson
