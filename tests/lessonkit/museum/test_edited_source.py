"""Every edit fits; files run in the order of their imports; an edit that no longer fits says so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lessonkit.museum import FAULTS
from lessonkit.museum.edited_source import (
    QuoteMisfitError,
    SourceEdit,
    load_edited_modules,
    quote_misfit_messages,
)
from tests.helpers import ROOT

CHANGED = "math.sqrt(self.d_model)"  # in transformer/embeddings.py, quoted by some edits


def test_every_edit_fits_the_source() -> None:
    messages = [message for fault in FAULTS for message in quote_misfit_messages(fault.edits)]
    assert not messages, "\n".join(messages)
    for fault in FAULTS:
        fault.load_modules()


def test_an_edit_that_does_not_fit_names_its_place_and_the_nearest_line() -> None:
    lost = SourceEdit("masks", "diagonal=k_len - k_len", "diagonal=0", "faults.toml:7 (lost)")
    with pytest.raises(QuoteMisfitError) as raised:
        load_edited_modules("lost", (lost, lost))
    message, _ = str(raised.value).splitlines()
    assert message.startswith("faults.toml:7 (lost) quotes 'diagonal=k_len - k_len'")
    assert "transformer/masks.py has 0 times" in message
    assert "diagonal=k_len - q_len" in message.partition("most like it is line ")[2]
    twice = SourceEdit("masks", "import", "import")
    (message,) = quote_misfit_messages([twice])
    assert "times and not once" in message


def test_every_fault_knows_the_line_that_it_is_written_in() -> None:
    lines = (ROOT / "lessonkit" / "museum" / "faults.toml").read_text(encoding="utf-8").splitlines()
    for fault in FAULTS:
        for edit in fault.edits:
            number = int(edit.origin.partition(":")[2].partition(" ")[0])
            quoted = edit.old.split("\n")[0]
            assert quoted in lines[number - 1] or lines[number - 1].endswith(f".{fault.name}]")


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A copy of the course's code and tests, to be changed."""
    folders = ("attention_laws", "transformer", "engines", "lessonkit", "experiments", "tests")
    for folder in folders:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.pyc"))
    for name in ("attention_course", "data", "notebooks"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_imports_in_another_order_leave_every_fault_loadable(course: Path) -> None:
    attention = course / "transformer" / "attention.py"
    text = attention.read_text(encoding="utf-8")
    first = "from transformer.config import"
    assert text.count(first) == 1
    later = "from transformer.positions import sinusoidal_positions as _unused  # noqa: F401\n"
    attention.write_text(text.replace(first, later + first), encoding="utf-8")
    program = (
        "from lessonkit.museum import FAULTS\n"
        "import transformer\n"
        "print(transformer.__file__)\n"
        "print(sum(bool(fault.load_modules()) for fault in FAULTS))\n"
    )
    done = run_in(course, "-c", program)
    assert done.returncode == 0, done.stderr
    where, count = done.stdout.splitlines()
    assert Path(where).is_relative_to(course)
    assert int(count) == len(FAULTS)


@pytest.mark.weekly
def test_a_changed_line_turns_one_test_red(course: Path) -> None:
    attention = course / "transformer" / "attention.py"
    text = attention.read_text(encoding="utf-8")
    quoted = next(edit.old for fault in FAULTS if fault.name == "own_value" for edit in fault.edits)
    assert text.count(quoted) == 1
    changed = quoted.replace(" ", "  ", 1)
    assert changed != quoted
    attention.write_text(text.replace(quoted, changed), encoding="utf-8")
    tests = ("tests/lessonkit/museum", "tests/attention_laws/laws/test_learning.py")
    done = run_in(course, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests)
    assert "1 failed" in done.stdout, done.stdout + done.stderr
    assert "test_every_edit_fits_the_source" in done.stdout
    assert "faults.toml:" in done.stdout
