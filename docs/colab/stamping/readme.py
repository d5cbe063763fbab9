"""What README has of the address: badges between two comments, and where each lesson opens."""

import re
from pathlib import Path

from stamping.address import GITHUB, read
from stamping.links import COLAB, badge

FIRST, LAST = "<!-- badges -->\n", "<!-- /badges -->\n"
LESSON = "notebooks/00_start_here.ipynb"
LICENCE = "[![Code: MIT](https://img.shields.io/badge/code-MIT-blue)](LICENSE)"
SHIELD = "https://img.shields.io/badge/live-translate-009E73"
# Where the repository is cloned from, where the site and its live page are (else what is said
# about them), and a lesson's row of the table.
_CLONE = re.compile(r"git clone \S+ attention-course")
_SITE = re.compile(r"\[published site\]\([^)]*\)")
_LIVE = re.compile(r"\((?:docs/publishing\.md#the-live-page|https://[^()]+/live/index\.html)\)")
_ROW = re.compile(
    r"^(\| \d\d \| \[[^]]+\])\([^)]*?(notebooks/\w+)\.(?:ipynb|html)\)(?: · \[Colab\]\([^)]*\))?",
    re.MULTILINE,
)


def stamped(text: str, repo: str | None) -> str:
    """Return README with its badges and links for an address.

    Raises:
        ValueError: it has no place for them.
    """
    before, first, rest = text.partition(FIRST)
    _, last, after = rest.partition(LAST)
    if not (first and last):
        raise ValueError(f"README.md has no lines {FIRST.strip()} and {LAST.strip()}")
    shown = "\n".join([*badges(repo), LICENCE]) + "\n"
    return _linked(before, repo) + first + shown + last + _linked(after, repo)


def badges(repo: str | None) -> list[str]:
    """Return the pictures that say how an address fares, and that lead there."""
    if repo is None:
        return []
    actions = f"https://github.com/{repo}/actions/workflows"
    ci = f"[![CI]({actions}/ci.yml/badge.svg)]({actions}/ci.yml)"
    pages = f"[![Pages]({actions}/pages.yml/badge.svg)]({site(repo)})"
    live = f"[![Translate in the browser]({SHIELD})]({site(repo)}live/index.html)"
    return [ci, pages, badge(repo, LESSON), live]


def site(repo: str) -> str:
    """Return where GitHub Pages shows the site of a repository: an owner's own is the host's."""
    owner, name = repo.split("/")
    host = f"{owner.lower()}.github.io"
    return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"


def read_site(pyproject: Path) -> str | None:
    """Return where the site of pyproject.toml's repository is; None if that names no address.

    Raises:
        ValueError: what stands there is no address.
    """
    repo = read(pyproject)
    return site(repo) if repo else None


def _linked(text: str, repo: str | None) -> str:
    """Return a part of README whose links are those of an address."""
    clone, front, live = (
        "ADDRESS",
        "docs/publishing.md#the-site",
        "docs/publishing.md#the-live-page",
    )
    if repo:
        clone, front = f"{GITHUB}{repo}", site(repo)
        live = f"{front}live/index.html"
    text = _CLONE.sub(f"git clone {clone} attention-course", text)
    text = _SITE.sub(f"[published site]({front})", text)
    text = _LIVE.sub(f"({live})", text)
    return _ROW.sub(lambda found: found[1] + _lesson_links(found[2], repo), text)


def _lesson_links(page: str, repo: str | None) -> str:
    """Return where a lesson is read, which its title leads to, and where it runs."""
    if repo is None:
        return f"({page}.ipynb)"
    return f"({site(repo)}{page}.html) · [Colab]({COLAB.format(repo)}{page}.ipynb)"
