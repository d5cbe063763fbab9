"""Every command that a page, a module or a message names is one that can be typed."""

import json
import re
from pathlib import Path

from experiments.commands.record import WHATS
from tests.helpers import ROOT

COMMANDS = {"corpora", "train", "translate", "evaluate", "export", "diagnose"}
PAGES = (
    *("*.md", "Makefile", "docs/**/*.md", "data/**/*.md", "figures/*.md"),
    *("notebooks/*.ipynb", "transformer/**/*.py", "experiments/**/*.py"),
)


def named(path: Path) -> list[str]:
    """What follows `python -m PACKAGE` wherever a file says it."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":  # an output may quote a record, which says what was typed then
        text = " ".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    text = " ".join(text.split())
    return re.findall(r"python -m (?:transformer|experiments) ([\w.-]+)", text)


NAMING = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern)) if named(path)]


def test_the_files_that_name_commands_are_found() -> None:
    assert len(NAMING) > 20
    assert {ROOT / "README.md", ROOT / "Makefile"} < set(NAMING)


def test_a_named_command_is_one() -> None:
    known = COMMANDS | {command.name for command in WHATS}
    for path in NAMING:
        for said in named(path):
            if re.fullmatch("[a-z]+", said):  # not --help, not COMMAND
                assert said in known, f"{path}: {said}"
