"""The page's files, asked by Python through Node."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT

HERE = Path(__file__).parent
LIVE = ROOT / "docs" / "live"
OLDEST = 18  # the first Node that has `node --test`


def run_node(*arguments: str | Path) -> str:
    """Return what Node prints; skip where there is none, fail where it fails."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node to run the page's JavaScript: install Node 18 or later")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.removeprefix("v").partition(".")[0]) < OLDEST:
        pytest.skip(f"needs Node {OLDEST} or later to run the page's JavaScript: here {version}")
    done = subprocess.run([node, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ask(folder: Path, *questions: dict[str, Any]) -> list[Any]:
    """Return the answer of the page's files (see answer.mjs) to each question.

    Args:
        folder: Where to put the questions and the answers.
        questions: Values that JSON can hold, and paths.
    """
    asked, answered = folder / "questions.json", folder / "answers.json"
    asked.write_text(json.dumps(questions, default=str), encoding="utf-8")
    run_node(HERE / "answer.mjs", asked, answered)
    answers: list[Any] = json.loads(answered.read_text(encoding="utf-8"))
    return answers
