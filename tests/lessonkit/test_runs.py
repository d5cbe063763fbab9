"""How much a lesson trains here, and in which folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from lessonkit import runs
from lessonkit.runs import course_profile
from transformer.support.errors import UserError


def test_the_learner_chooses_the_profile_else_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen in ("quick", "full"):
        monkeypatch.setenv("COURSE_PROFILE", chosen)
        assert course_profile() == chosen
    monkeypatch.setenv("COURSE_PROFILE", "")
    assert course_profile() == ("full" if torch.cuda.is_available() else "quick")
    monkeypatch.setenv("COURSE_PROFILE", "fool")
    with pytest.raises(UserError, match="unknown COURSE_PROFILE 'fool': did you mean 'full'"):
        course_profile()


def test_a_run_has_a_new_folder_each_time_or_the_same_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(runs.RUNS, "")
    first, second = runs.run_folder("lesson"), runs.run_folder("lesson")
    assert first.name == second.name == "lesson"
    assert first != second
    for folder in (first, second):
        folder.parent.rmdir()  # which is there, and empty
    monkeypatch.setenv(runs.RUNS, str(tmp_path))
    assert runs.run_folder("lesson") == runs.run_folder("lesson") == tmp_path / "lesson"


@pytest.mark.parametrize("kept", [True, False])
def test_a_temporary_run_is_removed_when_its_process_ends(tmp_path: Path, kept: bool) -> None:
    program = (
        "from lessonkit.runs import run_folder\n"
        "folder = run_folder('lesson')\n"
        "folder.mkdir(parents=True)\n"
        "(folder / 'model.safetensors').write_bytes(b'')\n"
        "print(folder)\n"
    )
    asked = {runs.RUNS: str(tmp_path / "kept") if kept else "", "TMPDIR": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | asked, capture_output=True, check=True
    ).stdout.decode()
    assert Path(said.strip()).is_relative_to(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == (["kept"] if kept else [])
