"""What a learner types for an answer: nothing yet, a number, or a word.

Not in the paper. Nothing here raises, whatever was typed.
"""

import math
import textwrap
from typing import Any

from lessonkit.exercises.check import MAX_COLUMNS


def is_blank(given: Any) -> bool:
    """Whether nothing was filled in: None, dots, or an empty text."""
    return given is None or given is ... or (isinstance(given, str) and not given.strip())


def as_number(given: Any) -> float | None:
    """Read a number: 3, "0.7", "70%", or a tensor that holds one; None where there is none."""
    if isinstance(given, bool):
        return None
    try:
        number = float(given.strip().removesuffix("%") if isinstance(given, str) else given)
    except Exception:  # a list, a word, a tensor of several, a value that refuses everything
        return None
    return number if math.isfinite(number) else None


def as_word(given: Any) -> str:
    """Read a word or a whole number as lower-case text; "" where it is neither."""
    if not isinstance(given, str):
        number = as_number(given) if isinstance(given, int | float) else None
        return "" if number is None else f"{number:g}"
    return " ".join(given.casefold().split())


def listed(names: tuple[str, ...]) -> str:
    """Write names for a choice: "one", "two" or "three", each in quotation marks."""
    quoted = [f'"{name}"' for name in names]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]]) if quoted[1:] else quoted[0]


def fill(text: str, head: str = "") -> str:
    """Break a text into lines that need no scrolling, the first one after `head`."""
    return textwrap.fill(
        text,
        MAX_COLUMNS,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
