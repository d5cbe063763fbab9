"""What README has of the address: badges between two comments, and where each lesson opens."""

import re
from pathlib import Path

from stamping.address import GITHUB, read
from stamping.links import COLAB, badge

FIRST, LAST = "<!-- badges -->\n", "<!-- /badges -->\n"
LESSON = "notebooks/00_start_here.ipynb"
LICENCE = "[![Code: MIT](https://img.shields.io/badge/code-MIT-blue)](LICENSE)"
SHIELD = "https://img.shields.io/badge/live-translate-009E73"
# Where the repository is cloned from, and where the film of the live page leads.
_CLONE = re.compile(r"git clone \S+ attention-course")
_FILM = re.compile(r"\]\(docs/live\.webp\)\]\([^)]*\)")
_ROW = re.compile(r"\[read\]\([^)]*?(notebooks/\w+)\.(?:ipynb|html)\)(?: · \[Colab\]\([^)]*\))?")


def stamped(text: str, repo: str | None) -> str:
    """Return README with its badges and links for an address.

    Raises:
        ValueError: it has no place for them.
    """
    before, first, rest = text.partition(FIRST)
    _, last, after = rest.partition(LAST)
    if not (first and last):
        raise ValueError(f"README.md has no lines {FIRST.strip()} and {LAST.strip()}")
    said = before + first + "\n".join([*badges(repo), LICENCE]) + "\n" + last + after
    clone, page = "ADDRESS", "docs/publishing.md#the-live-page"
    if repo:
        clone, page = f"{GITHUB}{repo}", f"{site(repo)}live/index.html"
    said = _CLONE.sub(f"git clone {clone} attention-course", said)
    said = _FILM.sub(f"](docs/live.webp)]({page})", said)
    return _ROW.sub(lambda found: _links(found[1], repo), said)


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


def _links(page: str, repo: str | None) -> str:
    """Return where a lesson is read, and where it runs."""
    if repo is None:
        return f"[read]({page}.ipynb)"
    return f"[read]({site(repo)}{page}.html) · [Colab]({COLAB.format(repo)}{page}.ipynb)"
