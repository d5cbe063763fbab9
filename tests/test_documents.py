"""What the documents name is there: files, modules and targets of make."""

import re
from pathlib import Path

import pytest

from tests.helpers import ROOT
from tests.helpers.names import missing

DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "data" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))


def stale(text: str) -> list[str]:
    """What a text names and that is not there; NAME and NN stand for something."""
    found = [name for name in missing(text) if not re.search("NAME|NN", name)]
    return found + [f"make {t}" for t in re.findall(r"`make ([a-z-]+)", text) if t not in TARGETS]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_names_and_links_to_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not stale(text)
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert not [link for link in links if not (path.parent / link).exists()]


def test_a_stale_name_is_found_and_every_target_is_explained() -> None:
    text = "`make lab`, `make tea`, `tests/test_no.py`, `tests/test_NAME.py`, `transformer.model`"
    assert stale(text) == ["tests/test_no.py", "make tea"]
    opening = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\n\n")[0]
    assert set(re.findall(r"^# make ([a-z-]+)", opening, re.M)) == TARGETS


def test_what_is_promised_is_held_by_tests_that_exist() -> None:
    page = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    rows = [row for row in page.splitlines() if row.startswith("| ") and "`test" in row]
    assert len(rows) > 9
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)`: ((?:`test_\w+`(?:, )?)+)", row)
        assert named, f"no test holds: {row[:60]}"
        for file, tests in named:
            source = (ROOT / file).read_text(encoding="utf-8")
            for name in re.findall(r"`(test_\w+)`", tests):
                assert f"def {name}(" in source, f"{file} has no {name}"
