"""What a user of the laws can get wrong, said in one line with the remedy."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """A mistake in what the user gave; the message names the value, the limit and the remedy."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UserError:
    """Build the error for a name that is not known, with the nearest one.

    Args:
        kind: What was named, in a word.
        name: What the user gave.
        known: Every name that would have been right.
    """
    options = sorted(known)
    near = get_close_matches(name, options, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return UserError(f"unknown {kind} {name!r}: {hint}(known: {', '.join(options)})")
