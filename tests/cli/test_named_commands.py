"""Every command that a page, a module or a message names is one that can be typed."""

import re
from pathlib import Path

import pytest

from experiments.commands.record import WHATS
from tests.helpers import ROOT

COMMANDS = {"corpora", "train", "translate", "evaluate", "export", "record", "ship", "diagnose"}
PAGES = (
    *("*.md", "Makefile", "docs/**/*.md", "data/**/*.md", "figures/*.md"),
    *("notebooks/*.ipynb", "transformer/**/*.py"),
)


def named(path: Path) -> list[str]:
    """What follows `python -m transformer` wherever a file says it, up to the third word."""
    text = " ".join(path.read_text(encoding="utf-8").split())
    return re.findall(r"python -m transformer\b(\S*(?: [\w.-]+){0,2})", text)


NAMING = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern)) if named(path)]


def test_the_files_that_name_commands_are_found() -> None:
    assert len(NAMING) > 20
    assert {ROOT / "README.md", ROOT / "Makefile"} < set(NAMING)


@pytest.mark.parametrize("path", NAMING, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_named_command_is_one(path: Path) -> None:
    whats = {what.name for what in WHATS}
    for said in named(path):
        assert not said.startswith("."), f"a module is no command: python -m transformer{said}"
        command, what = (*said.split(), "", "")[:2]
        if re.fullmatch("[a-z]+", command):  # not --help, not COMMAND
            assert command in COMMANDS, said
        if command == "record" and re.fullmatch("[a-z]+", what):
            assert what in whats, said
