"""Write the repository's public address into what needs it: `make colab REPO=owner/name`.

    python docs/colab/stamp.py [--repo owner/name] [--revision v1.2] [--release]

The address goes into pyproject.toml, and from there into lessons and README: a cell that fetches
the course on Colab, badges, absolute links, the lessons beside each. Another address replaces it (a
fork's). Without --repo everything is brought up to date with the address there is, or with none;
a new lesson gets its cells this way. A lesson fetches main, or the revision that was named last: a
release names its tag, so that a lesson copied today runs with today's code in a year.
"""

import argparse
import re
import sys
from pathlib import Path

from stamping import address, lessons, readme
from stamping.links import PAGES, relinked

ROOT = Path(__file__).resolve().parents[2]
LAWS = "attention_laws"  # the folder of a distribution of its own
PICTURES_LINK = re.compile(r"(?<=\)\]\()(?![a-z]+:|#)")  # where one within the repository begins


def texts(
    root: Path, repo: str | None, revision: str | None = None, release: bool = False
) -> dict[Path, str]:
    """Return every stamped file's text for an address; nothing is written.

    In a release the links and pictures of both distributions' READMEs are absolute: a package index
    shows each alone.

    Raises:
        ValueError: a file has no place for what belongs into it, or a release has no address.
    """
    if release and not repo:
        raise ValueError("a release needs the repository's address: give it with --repo")
    pyproject, page, laws = root / "pyproject.toml", root / "README.md", root / LAWS
    old = address.read(pyproject)
    books = {path: lessons.read(path) for path in sorted((root / lessons.FOLDER).glob("*.ipynb"))}
    titles = {path.name: lessons.title(book) for path, book in books.items()}
    found = {
        path: lessons.text(lessons.stamped(book, path.name, titles, repo, old, revision))
        for path, book in books.items()
    }
    found[page] = readme.stamped(page.read_text(encoding="utf-8"), repo)
    if release:
        inner = relinked(found[page], repo, None, "")
        # A picture that is itself a link is none of the links above.
        found[page] = PICTURES_LINK.sub(PAGES.format(repo), inner)
        laws_page = laws / "README.md"
        found[laws_page] = relinked(laws_page.read_text(encoding="utf-8"), repo, None, LAWS)
    for project in (pyproject, laws / "pyproject.toml"):
        found[project] = address.written(project.read_text(encoding="utf-8"), repo)
    return found


def main(arguments: list[str]) -> int:
    """Stamp this repository, and say what has changed."""
    parser = argparse.ArgumentParser(description="Write the repository's address where it belongs.")
    parser.add_argument("--repo", metavar="OWNER/NAME", help="the address; else the one there is")
    parser.add_argument("--revision", metavar="NAME", help="what lessons fetch; else as before")
    parser.add_argument(
        "--release", action="store_true", help="give README absolute links, for a package index"
    )
    given = parser.parse_args(arguments)
    try:
        known = given.repo is None
        repo = address.read(ROOT / "pyproject.toml") if known else address.check(given.repo)
        changed = 0
        for path, text in texts(ROOT, repo, given.revision, given.release).items():
            if text != path.read_text(encoding="utf-8"):
                path.write_text(text, encoding="utf-8")
                changed += 1
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{repo or 'no address yet'}: {changed} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
