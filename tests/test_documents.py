"""What the documents name is there: files, modules and targets of make."""

import json
import re
import shlex
from pathlib import Path

import pytest
from stamping import readme

from attention_course.command_line import make_parser
from experiments.commands import COMMANDS as MAINTAINERS
from tests.helpers import ROOT, commands_of
from tests.helpers.names import missing

DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "data" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
NAMING = (
    *("*.md", "Makefile", "docs/**/*.md", "data/**/*.md", "figures/*.md"),
    *("notebooks/*.ipynb", "transformer/**/*.py", "experiments/**/*.py"),
)
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
    assert rows
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)`: ((?:`test_\w+`(?:, )?)+)", row)
        assert named, f"no test holds: {row[:60]}"
        for file, tests in named:
            source = (ROOT / file).read_text(encoding="utf-8")
            for name in re.findall(r"`(test_\w+)`", tests):
                assert f"def {name}(" in source, f"{file} has no {name}"


def test_a_named_command_is_one() -> None:
    known = {*commands_of(make_parser()), *MAINTAINERS}
    named = 0
    for pattern in NAMING:
        for path in {*ROOT.glob(pattern)} - {ROOT / "CHANGELOG.md"}:  # it names what is gone
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".ipynb":  # an output may quote what was typed then
                text = " ".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
            program = (
                r"(?:(?<!activate )(?<!cd )attention-course|python -m (?:transformer|experiments))"
            )
            words = rf"{program} ([a-z]+)(?![\w.-])"
            for said in re.findall(words, " ".join(text.split())):
                assert said in known, f"{path}: {said}"
                named += 1
    assert named


def test_readme_is_short_and_what_it_and_the_pages_tell_to_type_is_understood() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.stamped(page, None).encode()) <= 8_500  # two addresses a lesson come on top
    parser = make_parser()
    typed = 0
    for path in DOCUMENTS:
        for block in re.findall(r"^```\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S):
            said = re.findall(r"(?:^|\| )attention-course (.*?)(?:  #.*)?$", block, re.M)
            for words in said:
                parser.parse_args(shlex.split(words))  # SystemExit where it is not understood
            typed += len(said)
    assert typed


def test_windows_is_set_up_as_make_does_it() -> None:
    page = (ROOT / "docs" / "setting_up.md").read_text(encoding="utf-8")
    shell, linux = re.findall(r"^```\n(py .*?|python3 -m venv.*?)\n```", page, re.M | re.S)
    for line, other in zip(shell.splitlines(), linux.splitlines(), strict=True):
        said = line.replace("py -3.11", "python3").replace("\\", "/").replace('"', "'")
        assert said.replace(".venv/Scripts", ".venv/bin") == other
    installs = (
        "-m pip install --disable-pip-version-check "
        + linux.splitlines()[1].partition("install ")[2]
    )
    assert installs in (ROOT / "Makefile").read_text(encoding="utf-8")
