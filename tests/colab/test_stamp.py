"""`make colab`: the address's form and place, links, README, and a malformed address in a line."""

import itertools
import shutil
from pathlib import Path

import pytest
from stamping import address, readme
from stamping.links import relinked

from tests.helpers import ROOT, python

PYPROJECT = '[project]\nname = "a"\n\n[project.scripts]\nb = "c:d"\n'


def test_an_address_is_owner_and_name_and_anything_else_is_refused_in_a_line() -> None:
    for repo in ("owner/name", "Own-er7/na.me_2-x", "a/b"):
        assert address.check(repo) == repo
    wrong = ("", "name", "owner/", "/name", "a/b/c", "own er/name", "https://github.com/a/b")
    for repo, end in itertools.product((*wrong, "a/b.git"), ("", "'", "\n")):
        with pytest.raises(ValueError, match="is not owner/name: give") as caught:
            address.check(repo + end)
        assert "\n" not in str(caught.value)


def test_it_is_written_replaced_and_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(PYPROJECT, encoding="utf-8")
    assert (address.read(path), readme.read_site(path)) == (None, None)
    first = address.written(PYPROJECT, "owner/name")
    path.write_text(first, encoding="utf-8")
    assert address.read(path) == "owner/name"
    assert readme.read_site(path) == "https://owner.github.io/name/"
    assert readme.site("Owner/owner.GitHub.io") == "https://owner.github.io/"
    assert 'Repository = "https://github.com/owner/name"' in first
    assert address.written(first, "owner/name") == first
    assert address.written(first, "fork/name") == address.written(PYPROJECT, "fork/name")
    assert address.written(first, None) == PYPROJECT
    with pytest.raises(ValueError, match=r"has no \[project.scripts\]"):
        address.written("[project]\n", "owner/name")


RELATIVE = (
    "![The model](../figures/a.png) of [data/README.md](../data/README.md#ours), then\n"
    "[01 Text to\nbatches](01_text.ipynb); `[code](stays.md)`, [below](#here) and\n"
    "[the paper](https://arxiv.org/abs/1706.03762), [mail](mailto:a@b.org)."
)
ABSOLUTE = (
    "![The model](https://raw.githubusercontent.com/me/it/main/figures/a.png) of "
    "[data/README.md](https://github.com/me/it/blob/main/data/README.md#ours), then\n"
    "[01 Text to\nbatches](https://github.com/me/it/blob/main/notebooks/01_text.ipynb); "
    "`[code](stays.md)`, [below](#here) and\n"
    "[the paper](https://arxiv.org/abs/1706.03762), [mail](mailto:a@b.org)."
)


def test_links_become_absolute_and_relative_again() -> None:
    assert relinked(RELATIVE, "me/it", None, "notebooks") == ABSOLUTE
    assert relinked(ABSOLUTE, None, "me/it", "notebooks") == RELATIVE
    assert relinked(RELATIVE, None, None, "notebooks") == RELATIVE


def test_it_stamps_and_a_malformed_address_is_one_line_and_changes_nothing(tmp_path: Path) -> None:
    names = (
        *("README.md", "pyproject.toml", "attention_laws/pyproject.toml"),
        "notebooks/00_start_here.ipynb",
    )
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    script = shutil.copytree(ROOT / "docs" / "colab", tmp_path / "docs" / "colab") / "stamp.py"

    assert python(script, "--repo=me/it").stdout == "me/it: 4 files changed\n"
    stamped = [(tmp_path / name).read_text(encoding="utf-8") for name in names]
    assert all("me/it" in text for text in stamped)
    (line,) = python(script, "--repo=name", status=2).stderr.splitlines()
    assert line.startswith("error: REPO='name' is not owner/name")
    assert [(tmp_path / name).read_text(encoding="utf-8") for name in names] == stamped


def test_readme_opens_the_course_by_a_click_and_forgets_an_address() -> None:
    row = "| 02 | [Attention](notebooks/02_attention.ipynb) | §3.2 | 30 |\n"
    film = "[![F](docs/live.webp)](docs/publishing.md#the-live-page)"
    more = f"{film}\n    git clone ADDRESS attention-course  # this one\n"
    more += "[page](docs/publishing.md#the-live-page)\n"
    more += "[published site](docs/publishing.md#the-site)\n"
    bare = readme.stamped(f"# A\n\n<!-- badges -->\n<!-- /badges -->\n\n{more}{row}", None)
    assert more + row in bare
    stamped = readme.stamped(bare, "Me/it")
    for link in (
        "https://me.github.io/it/notebooks/02_attention.html",
        "https://colab.research.google.com/github/Me/it/blob/colab/notebooks/02_attention.ipynb",
        "https://github.com/Me/it/actions/workflows/ci.yml",
        "https://me.github.io/it/live/index.html",
    ):
        assert f"]({link})" in stamped
    assert "[![F](docs/live.webp)](https://me.github.io/it/live/index.html)" in stamped
    assert "[page](https://me.github.io/it/live/index.html)" in stamped
    assert "[published site](https://me.github.io/it/)" in stamped
    assert "git clone https://github.com/Me/it attention-course  # this one" in stamped
    assert readme.stamped(stamped, "Me/it") == stamped
    assert readme.stamped(stamped, None) == bare
    with pytest.raises(ValueError, match="has no lines <!-- badges -->"):
        readme.stamped("# A\n", "me/it")
