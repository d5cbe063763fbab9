"""`ship` from the command line; what it makes is held to its card in tests/models."""

from pathlib import Path

import pytest

from experiments import ship
from experiments.__main__ import main

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def test_a_run_is_shipped_under_a_name(capsys: Capture, monkeypatch: Patch) -> None:
    asked: list[tuple[Path, str]] = []

    def made(run: Path, name: str) -> Path:
        asked.append((run, name))
        return Path("data/models") / name

    monkeypatch.setattr(ship, "ship", made)
    assert main(["ship", "runs/demo", "en-fr"]) == 0
    assert asked == [(Path("runs/demo"), "en-fr")]
    assert capsys.readouterr().out == f"{Path('data/models/en-fr')}\n"


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


def test_nothing_is_shipped_into_an_installed_package(
    tiny_folder: Path, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("transformer.support.files.PACKAGE", tmp_path / "transformer")
    assert main(["ship", str(tiny_folder), "en-fr"]) == 2
    assert "clone the repository" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
