"""The repository's address: its form, and its one place."""

from pathlib import Path

import pytest
from stamping import address

PYPROJECT = '[project]\nname = "a"\n\n[project.optional-dependencies]\nb = []\n'


@pytest.mark.parametrize("repo", ["owner/name", "Own-er7/na.me_2-x", "a/b"])
def test_an_address_is_owner_and_name(repo: str) -> None:
    assert address.check(repo) == repo


@pytest.mark.parametrize(
    "repo",
    ["", "name", "owner/", "/name", "a/b/c", "own er/name", "https://github.com/a/b", "a/b.git"],
)
@pytest.mark.parametrize("end", ["", "'", "\n"])
def test_anything_else_is_refused_in_one_line(repo: str, end: str) -> None:
    with pytest.raises(ValueError, match="is not owner/name: give") as caught:
        address.check(repo + end)
    assert "\n" not in str(caught.value)


def test_it_is_written_replaced_and_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(PYPROJECT, encoding="utf-8")
    assert address.read(path) is None
    first = address.written(PYPROJECT, "owner/name")
    path.write_text(first, encoding="utf-8")
    assert address.read(path) == "owner/name"
    assert 'Repository = "https://github.com/owner/name"' in first
    assert address.written(first, "owner/name") == first
    assert address.written(first, "fork/name") == address.written(PYPROJECT, "fork/name")
    assert address.written(first, None) == PYPROJECT


def test_a_pyproject_without_the_place_is_refused() -> None:
    with pytest.raises(ValueError, match=r"has no \[project.optional-dependencies\]"):
        address.written("[project]\n", "owner/name")
