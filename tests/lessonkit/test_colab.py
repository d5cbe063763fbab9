"""What is done on Colab; how much a lesson trains here, and in which folder."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from packaging.requirements import Requirement

from lessonkit import colab, records
from lessonkit.records import course_profile
from tests.helpers import ROOT, python
from transformer.support.errors import UserError

Patch = pytest.MonkeyPatch
FOR_COLAB = {"altair", "ipywidgets", "matplotlib", "pillow", "torchtext", "vl-convert-python"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: Patch, tmp_path: Path) -> Path:
    """Variables that are put back, and an empty working folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("OMP_WAIT_POLICY", records.RUNS_FOLDER_VARIABLE):
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def stub(monkeypatch: Patch, environment: Path) -> Iterator[Path]:
    """The stub of Drive that the check of Colab has; gives the folder that outlives a runtime."""
    monkeypatch.setenv("STAND_IN_DRIVE", str(environment / "kept"))
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "colab" / "stub"))
    names = ("google", "google.colab", "google.colab.drive")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.import_module("google.colab")
    yield environment / "kept"
    for name in names:
        sys.modules.pop(name, None)


def test_what_colab_lacks_is_on_an_index_and_without_jupyterlab() -> None:
    lines = colab.read_required_packages(ROOT / "pyproject.toml")
    # PyPI refuses versions with a local label: pip would find none, and install nothing at all.
    assert not [line for line in lines if "+" in str(Requirement(line).specifier)]
    names = {line.split(">")[0].split("=")[0] for line in lines}
    assert FOR_COLAB | {"torch", "numpy", "sacrebleu"} <= names
    assert "jupyterlab" not in names


def test_a_failure_is_one_line_printed_not_raised(
    environment: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(UserError, match=r"pip could not install .*run this cell again$"):
        colab.install_packages([str(environment / "none.whl")])
    monkeypatch.setattr(colab, "read_required_packages", lambda pyproject: ["./none.whl"])
    # Elsewhere than on Colab nothing is installed.
    colab.set_up()
    assert capsys.readouterr().out == ""
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    colab.set_up()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("The course is not set up: pip could not install")


def test_drive_keeps_runs_in_the_same_folder_each_time(stub: Path, monkeypatch: Patch) -> None:
    folder = colab.mount_drive_runs_folder()
    assert colab.mount_drive_runs_folder() == folder
    (folder / "here").touch()
    assert (stub / "MyDrive" / "attention-course" / "runs" / "here").exists()


def test_drive_that_was_not_allowed_is_one_line(monkeypatch: Patch) -> None:
    def refuse(place: str) -> None:
        raise ValueError("mount failed:\nnot allowed")

    drive = ModuleType("google.colab.drive")
    drive.mount = refuse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "google.colab.drive", drive)
    with pytest.raises(UserError, match=r"mount failed: not allowed.*KEEP_ON_DRIVE to False"):
        colab.mount_drive_runs_folder()


def test_set_up_is_silent_and_says_where_runs_are_kept(
    stub: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture
) -> None:
    """Without pip, which takes seconds: `tests/colab/test_setup_cell.py` sets up with it."""
    asked: list[str] = []
    monkeypatch.setattr(colab, "install_packages", asked.extend)
    colab.set_up()
    assert asked == colab.read_required_packages(ROOT / "pyproject.toml")
    assert records.RUNS_FOLDER_VARIABLE not in os.environ
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert capsys.readouterr().out == ""
    colab.set_up(keep_on_drive=True)
    assert records.lesson_run_folder("lesson").parent.samefile(stub / colab.RUNS_FOLDER_ON_DRIVE)


def test_a_tpu_is_told_to_be_of_no_use(
    stub: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(colab, "install_packages", lambda packages: None)
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v5e-1")
    colab.set_up()
    assert capsys.readouterr().out.startswith("This runtime has a TPU, which the course cannot")


def test_the_learner_chooses_the_profile_else_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen in ("quick", "full"):
        monkeypatch.setenv("COURSE_PROFILE", chosen)
        assert course_profile() == chosen
    monkeypatch.setenv("COURSE_PROFILE", "")
    assert course_profile() == ("full" if torch.cuda.is_available() else "quick")
    monkeypatch.setenv("COURSE_PROFILE", "fool")
    with pytest.raises(UserError, match="unknown COURSE_PROFILE 'fool': did you mean 'full'"):
        course_profile()


def test_a_lesson_run_again_finds_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for runs_folder in ("", str(tmp_path)):
        monkeypatch.setenv(records.RUNS_FOLDER_VARIABLE, runs_folder)
        folder = records.lesson_run_folder("lesson")
        assert folder == records.lesson_run_folder("lesson")
        assert folder.parent.is_dir()
        assert folder.parent == records.lesson_run_folder("another").parent
        assert folder.name == "lesson"
        assert (folder.parent == tmp_path) == bool(runs_folder)


def test_a_temporary_run_is_removed_when_its_process_ends(tmp_path: Path) -> None:
    program = (
        "from lessonkit.records import lesson_run_folder\n"
        "folder = lesson_run_folder('lesson')\n"
        "folder.mkdir(parents=True)\n"
        "(folder / 'model.safetensors').write_bytes(b'')\n"
    )
    for kept in ([], ["kept"]):
        asked = {
            records.RUNS_FOLDER_VARIABLE: str(tmp_path / "kept") if kept else "",
            "TMPDIR": str(tmp_path),
        }
        python("-c", program, env=os.environ | asked)
        assert [path.name for path in tmp_path.iterdir()] == kept
