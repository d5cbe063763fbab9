"""Each lesson runs to its end with the solutions in its blank cells."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from exercise_walk import exercises, lesson_module, lessons

APART = [pytest.param(path, marks=pytest.mark.xdist_group(path.stem)) for path in lessons()]


@pytest.mark.slow
@pytest.mark.parametrize("path", APART, ids=lambda path: path.stem)
def test_lesson_runs_to_its_end_with_the_solutions(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    module = lesson_module(notebook)
    assert module is not None
    filled = []
    for each in exercises(module).values():
        (cell,) = (cell for cell in notebook.cells if cell.source == each.blank)
        cell.source = f"{each.solution()}\n\n\n{each.call}"
        filled.append(cell.id)
    nbformat.write(notebook, tmp_path / "solved.ipynb")

    command = ["-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", "solved.ipynb"]
    result = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "COURSE_PROFILE": "quick"},
        timeout=900,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    solved = nbformat.read(tmp_path / "solved.ipynb", as_version=4)
    verdicts = {
        cell.id: [output.data["text/plain"] for output in cell.outputs]
        for cell in solved.cells
        if cell.id in filled
    }
    assert set(verdicts) == set(filled)
    for printed in verdicts.values():
        assert len(printed) == 1
        assert ": passed, " in printed[0]
