"""What is done on Colab: packages, Drive, and one line where that fails."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from lessonkit import colab, runs
from tests.helpers import ROOT
from transformer.support.errors import UserError

Patch = pytest.MonkeyPatch
FOR_COLAB = {"altair", "ipywidgets", "matplotlib", "pillow", "torchtext", "vl-convert-python"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: Patch, tmp_path: Path) -> Path:
    """Variables that are put back, and an empty working folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("OMP_WAIT_POLICY", runs.RUNS):
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
    yield environment / "kept"
    for name in names:
        sys.modules.pop(name, None)


def test_what_colab_lacks_is_without_jupyterlab() -> None:
    lines = colab.requirements(ROOT / "pyproject.toml")
    names = {line.split(">")[0].split("=")[0] for line in lines}
    assert FOR_COLAB | {"torch", "numpy", "sacrebleu"} <= names
    assert "jupyterlab" not in names


def test_a_package_that_cannot_be_had_is_one_line(environment: Path) -> None:
    with pytest.raises(UserError, match=r"pip could not install .*run this cell again$") as told:
        colab.install([str(environment / "none.whl")])
    assert "\n" not in str(told.value)


def test_a_failure_is_printed_not_raised(monkeypatch: Patch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(colab, "requirements", lambda pyproject: ["./none.whl"])
    colab.set_up()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("The course is not set up: pip could not install")


def test_drive_keeps_runs_in_the_same_folder_each_time(stub: Path, monkeypatch: Patch) -> None:
    folder = colab.drive_folder()
    assert colab.drive_folder() == folder
    (folder / "here").touch()
    assert (stub / "MyDrive" / "attention-course" / "runs" / "here").exists()


def test_drive_that_was_not_allowed_is_one_line(monkeypatch: Patch) -> None:
    def refuse(place: str) -> None:
        raise ValueError("mount failed:\nnot allowed")

    drive = ModuleType("google.colab.drive")
    drive.mount = refuse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "google.colab.drive", drive)
    with pytest.raises(UserError, match=r"mount failed: not allowed.*KEEP_ON_DRIVE to False"):
        colab.drive_folder()


@pytest.mark.slow
def test_set_up_is_silent_and_says_where_runs_are_kept(
    stub: Path, capsys: pytest.CaptureFixture
) -> None:
    colab.set_up()
    assert runs.RUNS not in os.environ
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert capsys.readouterr().out == ""
    colab.set_up(keep_on_drive=True)
    assert runs.run_folder("lesson").parent.samefile(stub / colab.KEPT)


def test_only_a_notebook_on_colab_is_on_colab(monkeypatch: Patch) -> None:
    monkeypatch.delitem(sys.modules, "google.colab", raising=False)
    assert not colab.on_colab()
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    assert colab.on_colab()
