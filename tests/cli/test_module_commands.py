"""Each module that is a command of its own: its help is only help, and options are its own."""

import runpy
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT

COMMANDS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__"): path
    for path in sorted((ROOT / "transformer").rglob("*.py"))
    if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
}


def stored() -> dict[Path, int]:
    """When each file that a command writes in a checkout was last written."""
    folders = (ROOT / "figures", *(ROOT / "data" / name for name in ("corpus", "results")))
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert files
    return {path: path.stat().st_mtime_ns for path in files}


def run(name: str, argument: str, monkeypatch: pytest.MonkeyPatch) -> object:
    """Run a module as `python -m` does, and give its exit status."""
    path = str(COMMANDS[name])
    monkeypatch.setattr(sys, "argv", [path, argument])
    before = stored()
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(path, run_name="__main__")
    assert stored() == before
    return ended.value.code


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_how_to_use_it_and_does_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name, "--help", monkeypatch) == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m {name} ")


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name, "--nonsense", monkeypatch) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "error: " in err
    assert f"python -m {name}" in err
