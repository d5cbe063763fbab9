"""Two values side by side: whether they are the same, and how they look in a line."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

RELATIVE, ABSOLUTE = 1e-4, 1e-6  # float32 sums in another order stay well below
DIGITS = 6  # enough to see a difference that counts
VALUES_DIFFER = "the values differ"
WHOLE = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
KINDS = {int: "a whole number", str: "a string", bool: "True or False", type(None): "None"}


def difference(yours: Any, expected: Any) -> str:
    """Say what is different, the kind or shape before the values; "" where nothing is.

    A list may stand for a tuple, and a tensor or array without axes for the number. Floats may
    be of any precision and may differ by a rounding; whole numbers and masks may not, and no
    kind stands for another: a network takes neither float ids nor float masks. What is expected is
    a tensor, number, string or None, or lists, tuples and dicts of them.
    """
    if isinstance(expected, Tensor):
        return _tensor_difference(yours, expected)
    yours = plain(yours)
    if isinstance(expected, list | tuple):
        if not isinstance(yours, list | tuple):
            return _not_a("a tuple" if isinstance(expected, tuple) else "a list", yours)
        if len(yours) != len(expected):
            return f"the length is {len(yours)}, not {len(expected)}"
        return _first(difference(a, b) for a, b in zip(yours, expected, strict=True))
    if isinstance(expected, dict):
        if not isinstance(yours, dict):
            return _not_a("a dict", yours)
        for name in [*expected, *yours]:
            if name not in yours:
                return f"the name {name!r} is missing"
            if name not in expected:
                return f"the name {show(name)} should not be there"
        return _first(difference(yours[name], expected[name]) for name in expected)
    if isinstance(expected, float):
        if isinstance(yours, bool) or not isinstance(yours, int | float):
            return _not_a("a number", yours)
        close = math.isclose(yours, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        return "" if close else VALUES_DIFFER
    if type(expected) is int and isinstance(yours, float) and yours.is_integer():
        yours = int(yours)
    if type(yours) is not type(expected):
        return _not_a(KINDS.get(type(expected), type(expected).__name__), yours)
    return "" if yours == expected else VALUES_DIFFER


def show(value: Any) -> str:
    """Write a value in one line that is the same on every machine.

    Floats are rounded. What is neither a plain value nor one of the course's own is named by
    its type alone, for its own text may hold an address or fail.
    """
    value = plain(value)
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, float):
        return repr(float(f"{value:.{DIGITS}g}"))
    if isinstance(value, Tensor):
        return f"torch.tensor({show(value.tolist())})"
    if isinstance(value, np.ndarray):
        return f"np.array({show(value.tolist())})"
    if isinstance(value, list):
        return f"[{', '.join(map(show, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(show, value))}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{show(key)}: {show(item)}' for key, item in value.items())}}}"
    if type(value).__module__.startswith("lessonkit."):
        return repr(value)
    return f"<{type(value).__name__}>"


def same(one: Any, other: Any) -> bool:
    """Say whether two values are the same to the last digit, and a dict's names in one order.

    What is neither a plain value nor made of them counts as the same if it is shown alike.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, Tensor):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        return bool(((one == other) | ((one != one) & (other != other))).all())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return show(one) == show(other)


def plain(value: Any) -> Any:
    """Take the number out of a tensor or array without axes."""
    if isinstance(value, Tensor | np.ndarray | np.generic) and value.ndim == 0:
        return value.item()
    return value


def _not_a(kind: str, yours: Any) -> str:
    if yours is None:
        return f"it gives None, not {kind}: is there a `return`?"
    if isinstance(yours, np.ndarray):
        return f"it gives a NumPy array: give {kind}"
    return f"it gives a value of type {type(yours).__name__}, not {kind}"


def _first(differences: Any) -> str:
    """Choose what says most: a difference of kind or shape, if there is one."""
    found = [each for each in differences if each]
    return next((each for each in found if each != VALUES_DIFFER), found[0] if found else "")


def _tensor_difference(yours: Any, expected: Tensor) -> str:
    if not isinstance(yours, Tensor):
        return _not_a("a tensor", yours)
    if yours.shape != expected.shape:
        return f"its shape is {tuple(yours.shape)}, not {tuple(expected.shape)}"
    is_float = yours.is_floating_point() or yours.dtype in WHOLE
    if not (expected.is_floating_point() and is_float) and yours.dtype != expected.dtype:
        return f"its numbers are {yours.dtype}, not {expected.dtype}"
    if not expected.is_floating_point():
        return "" if torch.equal(yours.cpu(), expected) else VALUES_DIFFER
    one, other = (each.detach().cpu().double() for each in (yours, expected))
    close = torch.allclose(one, other, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
    return "" if close else VALUES_DIFFER  # a mistake may be known by its NaN
