"""A folder with somebody's code, on which the command line is tried in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that writes `theirs.py`; its folder is the working one.

    The processes in which their code runs import the laws of this tree.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    def write(code: str) -> None:
        (tmp_path / "theirs.py").write_text(code)

    return write
