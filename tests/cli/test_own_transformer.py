"""Commands in a folder where a learner has a `transformer` of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import HANGS


@pytest.mark.parametrize("name", ["transformer.py", "transformer/__init__.py"])
def test_a_learners_transformer_does_not_take_the_commands_import(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("print('taken')\n", encoding="utf-8")
    command = [sys.executable, "-m", "attention_course", "--help"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "taken" not in ran.stdout
