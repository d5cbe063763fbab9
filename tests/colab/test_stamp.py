"""`make colab`: what it calls, what it writes, and a malformed address in one line."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stamping import readme

from tests.helpers import ROOT

LESSON = "notebooks/00_start_here.ipynb"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A repository of one lesson."""
    for name in ("README.md", "pyproject.toml", LESSON):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "docs" / "colab", tmp_path / "docs" / "colab", ignore=ignore)
    return tmp_path


def stamp(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, folder / "docs" / "colab" / "stamp.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def contents(folder: Path) -> dict[str, str]:
    names = ("README.md", "pyproject.toml", LESSON)
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}


def test_it_stamps_and_stamps_anew(copied: Path) -> None:
    assert stamp(copied, "--repo=me/it").stdout == "me/it: 3 files changed\n"
    first = contents(copied)
    assert all("me/it" in text for text in first.values())
    assert stamp(copied).stdout == "me/it: 0 files changed\n"
    assert stamp(copied, "--repo=fork/it").stdout == "fork/it: 3 files changed\n"
    assert not any("me/it" in text for text in contents(copied).values())
    stamp(copied, "--repo=me/it")
    assert contents(copied) == first


@pytest.mark.parametrize("repo", ["", "name", "a/b/c"])
def test_a_malformed_address_is_one_line_and_changes_nothing(repo: str, copied: Path) -> None:
    before = contents(copied)
    result = stamp(copied, f"--repo={repo}")
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: REPO={repo!r} is not owner/name")
    assert contents(copied) == before


def test_readme_has_one_place_for_badges() -> None:
    bare = "# A\n\n<!-- badges -->\n<!-- /badges -->\n\nText.\n"
    stamped = readme.stamped(bare, "me/it")
    assert stamped.count("[![Open in Colab](") == 1
    assert stamped.endswith("<!-- /badges -->\n\nText.\n")
    assert readme.stamped(stamped, "me/it") == stamped
    assert readme.stamped(stamped, None) == bare
    with pytest.raises(ValueError, match="has no lines <!-- badges -->"):
        readme.stamped("# A\n", "me/it")
