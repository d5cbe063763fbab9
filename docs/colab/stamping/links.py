"""Where a lesson's links and pictures lead, with an address and without one.

A notebook that Colab or somebody has copied stands alone: a relative link leads nowhere. Without an
address relative links are all there is.
"""

import posixpath
import re

from stamping.address import BRANCH, COLAB_BRANCH

PAGES = f"https://github.com/{{}}/blob/{BRANCH}/"
PICTURES = f"https://raw.githubusercontent.com/{{}}/{BRANCH}/"
COLAB = f"https://colab.research.google.com/github/{{}}/blob/{COLAB_BRANCH}/"
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"

_LINK = re.compile(r"(!?)\[((?:[^\[\]\n]|\n(?!\n))*)\]\(([^()\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:")  # https:, mailto:, attachment:
_CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)


def badge(repo: str, path: str) -> str:
    """Return the picture that opens a notebook of the repository on Colab, as Markdown."""
    return f"[![Open in Colab]({BADGE})]({COLAB.format(repo)}{path})"


def relinked(text: str, repo: str | None, old: str | None, folder: str) -> str:
    """Return a text of Markdown with its links as they must be for an address.

    Args:
        text: Its links are relative to `folder`, or absolute below the address `old`.
        repo: The address, owner/name; None makes links relative.
        old: The address that the text was stamped with.
        folder: Of the repository, in which the text's file lies.
    """

    def link(found: re.Match[str]) -> str:
        mark, words, target = found.groups()
        return f"{mark}[{words}]({_target(target, bool(mark), repo, old, folder)})"

    parts = _CODE.split(text)  # every other part is code, and stays
    return "".join(part if i % 2 else _LINK.sub(link, part) for i, part in enumerate(parts))


def _target(target: str, picture: bool, repo: str | None, old: str | None, folder: str) -> str:
    """Return where one link leads; what is none of the repository's files stays."""
    place, number, anchor = target.partition("#")
    for form in (PAGES, PICTURES):
        if old and place.startswith(start := form.format(old)):
            place = posixpath.relpath(place.removeprefix(start), folder)
            break
    else:
        if not place or _ELSEWHERE.match(place):
            return target
    if repo:
        path = posixpath.normpath(posixpath.join(folder, place))
        place = (PICTURES if picture else PAGES).format(repo) + path
    return place + number + anchor
