"""The repository's public address, which pyproject.toml holds, and that of the laws repeats.

    [project.urls]
    Repository = "https://github.com/owner/name"

Without these lines the repository has no address yet, and everything is *unstamped*.
"""

import re
import tomllib
from pathlib import Path

GITHUB = "https://github.com/"
BRANCH = "main"
COLAB_BRANCH = "colab"  # its lessons are stamped; .github/workflows/pages.yml writes it
_NAME = re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9])*/[A-Za-z0-9._-]+")
_LINES = re.compile(r'\[project\.urls\]\nRepository = ".*"\n\n')
_NEXT = "[project.scripts]\n"


def check(repo: str) -> str:
    """Return an address of the form owner/name.

    Raises:
        ValueError: it has another form.
    """
    if not _NAME.fullmatch(repo) or repo.endswith(("/.", "/..", ".git")):
        raise ValueError(
            f"REPO={repo!r} is not owner/name: give the two parts of the repository's address "
            "on GitHub, as in REPO=owner/name"
        )
    return repo


def read(pyproject: Path) -> str | None:
    """Return owner/name; None where the repository has no address yet."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    url = project.get("urls", {}).get("Repository")
    return check(url.removeprefix(GITHUB)) if url else None


def written(text: str, repo: str | None) -> str:
    """Return the text of pyproject.toml with this address in it, or with none."""
    bare = _LINES.sub("", text)
    if repo is None:
        return bare
    before, found, after = bare.partition(_NEXT)
    if not found:
        raise ValueError(f"pyproject.toml has no {_NEXT.strip()} to put the address before")
    return f'{before}[project.urls]\nRepository = "{GITHUB}{repo}"\n\n{found}{after}'
