"""README's place for badges: between two comments, one line for each, or nothing."""

from stamping.links import badge

FIRST, LAST = "<!-- badges -->\n", "<!-- /badges -->\n"
LESSON = "notebooks/00_start_here.ipynb"


def stamped(text: str, repo: str | None) -> str:
    """Give README with its badges for an address.

    Raises:
        ValueError: it has no place for them.
    """
    before, first, rest = text.partition(FIRST)
    _, last, after = rest.partition(LAST)
    if not (first and last):
        raise ValueError(f"README.md has no lines {FIRST.strip()} and {LAST.strip()}")
    return before + first + (badge(repo, LESSON) + "\n" if repo else "") + last + after
