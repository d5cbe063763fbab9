"""Reading what a learner typed: a number, a word, or nothing at all (not in the paper)."""

import dis
import inspect
import math
from typing import Any

# The instructions of a function whose body is nothing but dots.
EMPTY_BODY = {"RESUME", "NOP", "RETURN_VALUE"}


def is_blank(answer: Any) -> bool:
    """Return whether nothing was filled in: None, dots, an empty text, or a function of dots."""
    if answer is None or answer is ... or (isinstance(answer, str) and not answer.strip()):
        return True
    if not inspect.isfunction(answer):
        return False
    steps = [step for step in dis.get_instructions(answer) if step.opname not in EMPTY_BODY]
    constants = {"LOAD_CONST", "RETURN_CONST"}
    return all(step.opname in constants and step.argval in (None, ...) for step in steps)


def as_number(answer: Any) -> float | None:
    """Read a number: 3, "0.7", "70%", or a tensor that holds one; None if there is none."""
    if isinstance(answer, bool):
        return None
    try:
        number = float(answer.strip().removesuffix("%") if isinstance(answer, str) else answer)
    except Exception:  # a list, a word, a tensor of several, a value that refuses everything
        return None
    return number if math.isfinite(number) else None


def as_word(answer: Any) -> str:
    """Read a word or a whole number as lower-case text; "" if it is neither."""
    if not isinstance(answer, str):
        number = as_number(answer) if isinstance(answer, int | float) else None
        return "" if number is None else f"{number:g}"
    return " ".join(answer.casefold().split())
