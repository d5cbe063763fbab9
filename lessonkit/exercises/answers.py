"""Reading what a learner typed: a number, a word, or nothing at all (not in the paper)."""

import dis
import inspect
import math
from types import CodeType
from typing import Any

# The instructions of a function whose body is nothing but dots.
OPCODES_OF_EMPTY_FUNCTION = {"RESUME", "NOP", "RETURN_VALUE"}


def is_blank(answer: Any) -> bool:
    """Return whether nothing was filled in: None, dots, an empty text, or a function of dots."""
    if answer is None or answer is ... or (isinstance(answer, str) and not answer.strip()):
        return True
    if not inspect.isfunction(answer):
        return False
    instructions = dis.get_instructions(answer)
    steps = [step for step in instructions if step.opname not in OPCODES_OF_EMPTY_FUNCTION]
    constants = {"LOAD_CONST", "RETURN_CONST"}
    return all(step.opname in constants and step.argval in (None, ...) for step in steps)


def is_same_code(answer: Any, source: str) -> bool:
    """Return whether a function does what the first one of a source text does, step for step."""
    if not inspect.isfunction(answer):
        return False
    module = compile(source, "<source>", "exec")
    defined = next(const for const in module.co_consts if isinstance(const, CodeType))
    return _is_same_code_object(answer.__code__, defined)


def _is_same_code_object(one: CodeType, other: CodeType) -> bool:
    """Return whether two code objects have the same steps; `==` compares line numbers too."""
    for name in ("co_code", "co_names", "co_varnames", "co_freevars"):
        if getattr(one, name) != getattr(other, name):
            return False
    if len(one.co_consts) != len(other.co_consts):
        return False
    return all(
        _is_same_code_object(a, b)
        if isinstance(a, CodeType) and isinstance(b, CodeType)
        else a == b
        for a, b in zip(one.co_consts, other.co_consts, strict=True)
    )


def parse_number(answer: Any) -> float | None:
    """Read a number: 3, "0.7", "70%", or a tensor that holds one; None if there is none."""
    if isinstance(answer, bool):
        return None
    try:
        number = float(answer.strip().removesuffix("%") if isinstance(answer, str) else answer)
    except Exception:  # a list, a word, a tensor of several, a value that refuses everything
        return None
    return number if math.isfinite(number) else None


def to_lower_case_word(answer: Any) -> str:
    """Read a word or a whole number as lower-case text; "" if it is neither."""
    if not isinstance(answer, str):
        number = parse_number(answer) if isinstance(answer, int | float) else None
        return "" if number is None else f"{number:g}"
    return " ".join(answer.casefold().split())
