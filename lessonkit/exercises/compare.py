"""Two values: whether they are equal, and how they look in a line (not in the paper)."""

import math
from collections.abc import Iterable
from typing import Any

from lessonkit.exercises.array_libraries import NumpyScalar, Tensor, ndarray, torch

# Sums of float32 in another order differ by much less.
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-4, 1e-6
SIGNIFICANT_DIGITS_SHOWN = 6  # enough to see a difference that counts
VALUES_DIFFER_CLAUSE = "the values differ"
TYPE_NAMES = {int: "a whole number", str: "a string", bool: "True or False", type(None): "None"}


def describe_difference(yours: Any, expected: Any) -> str:
    """Describe what differs, the type or shape before the values; "" if nothing does.

    A list may stand for a tuple, and a tensor or array without axes for the number. Floats may be
    of any precision and may differ by rounding; whole numbers and masks may not, and no type stands
    for another: a network takes neither float ids nor float masks.

    Args:
        yours: The value of an answer, whatever it is.
        expected: A tensor, number, string or None, or lists, tuples and dicts of them.
    """
    if isinstance(expected, Tensor):
        return _describe_tensor_difference(yours, expected)
    yours = unwrap_scalar(yours)
    if isinstance(expected, list | tuple):
        return _describe_sequence_difference(yours, expected)
    if isinstance(expected, dict):
        return _describe_dict_difference(yours, expected)
    if isinstance(expected, float):
        return _describe_float_difference(yours, expected)
    if type(expected) is int and isinstance(yours, float) and yours.is_integer():
        yours = int(yours)
    if type(yours) is not type(expected):
        return _describe_wrong_type(TYPE_NAMES.get(type(expected), type(expected).__name__), yours)
    return "" if yours == expected else VALUES_DIFFER_CLAUSE


def format_value(value: Any) -> str:
    """Write a value in one line that is the same on every machine.

    Floats are rounded. A value that is neither plain nor of the course's own types is named by its
    type alone, since its text may contain an address or fail.
    """
    value = unwrap_scalar(value)
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, float):
        return repr(float(f"{value:.{SIGNIFICANT_DIGITS_SHOWN}g}"))
    if isinstance(value, Tensor):
        if value.numel() == 0 and value.ndim > 1:  # a list of no numbers has lost its last axes
            return f"torch.zeros{tuple(value.shape)}"
        return f"torch.tensor({format_value(value.tolist())})"
    if isinstance(value, ndarray):
        return f"np.array({format_value(value.tolist())})"
    if isinstance(value, list):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, tuple):
        comma = "," if len(value) == 1 else ""
        return f"({', '.join(map(format_value, value))}{comma})"
    if isinstance(value, dict):
        items = [f"{format_value(key)}: {format_value(item)}" for key, item in value.items()]
        return f"{{{', '.join(items)}}}"
    if type(value).__module__.startswith("lessonkit."):
        return repr(value)
    return f"<{type(value).__name__}>"


def count_numbers(value: Any) -> int:
    """Count the numbers in a value, in the tensors and lists that it is made of too."""
    if isinstance(value, Tensor | ndarray):
        return math.prod(value.shape)
    if isinstance(value, list | tuple):
        return sum(map(count_numbers, value))
    if isinstance(value, dict):
        return count_numbers([*value.keys(), *value.values()])
    return int(isinstance(value, bool | int | float))


def are_identical(one: Any, other: Any) -> bool:
    """Return whether two values are equal to the last digit, and a dict's names in the same order.

    Values that are neither plain nor made of plain ones count as identical if they look alike.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, bool | int | str):
        return one == other
    if isinstance(one, Tensor):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        return bool(((one == other) | ((one != one) & (other != other))).all())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(are_identical, one, other))
    if isinstance(one, dict):
        return are_identical(list(one.items()), list(other.items()))
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return format_value(one) == format_value(other)


def unwrap_scalar(value: Any) -> Any:
    """Take the number out of a tensor or array without axes."""
    if isinstance(value, Tensor | ndarray | NumpyScalar) and value.ndim == 0:
        return value.item()
    return value


def _describe_sequence_difference(yours: Any, expected: list[Any] | tuple[Any, ...]) -> str:
    if not isinstance(yours, list | tuple):
        kind = "a tuple" if isinstance(expected, tuple) else "a list"
        return _describe_wrong_type(kind, yours)
    if len(yours) != len(expected):
        return f"the length is {len(yours)}, not {len(expected)}"
    return _most_telling_description(map(describe_difference, yours, expected))


def _describe_dict_difference(yours: Any, expected: dict[Any, Any]) -> str:
    if not isinstance(yours, dict):
        return _describe_wrong_type("a dict", yours)
    for name in [*expected, *yours]:
        if name not in yours:
            return f"the name {name!r} is missing"
        if name not in expected:
            return f"the name {format_value(name)} should not be there"
    return _most_telling_description(
        describe_difference(yours[name], expected[name]) for name in expected
    )


def _describe_float_difference(yours: Any, expected: float) -> str:
    if isinstance(yours, bool) or not isinstance(yours, int | float):
        return _describe_wrong_type("a number", yours)
    close = math.isclose(yours, expected, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
    return "" if close else VALUES_DIFFER_CLAUSE


def _describe_wrong_type(kind: str, yours: Any) -> str:
    if yours is None:
        return f"it gives None, not {kind}: is there a `return`?"
    if isinstance(yours, ndarray):
        return f"it gives a NumPy array: give {kind}"
    return f"it gives a value of type {type(yours).__name__}, not {kind}"


def _most_telling_description(differences: Iterable[str]) -> str:
    """Return the first difference of type or shape if there is one, else one of values."""
    found = [text for text in differences if text]
    return next((text for text in found if text != VALUES_DIFFER_CLAUSE), found[0] if found else "")


def _describe_tensor_difference(yours: Any, expected: Tensor) -> str:
    if not isinstance(yours, Tensor):
        return _describe_wrong_type("a tensor", yours)
    if yours.shape != expected.shape:
        return f"its shape is {tuple(yours.shape)}, not {tuple(expected.shape)}"
    integer_dtypes = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
    is_float = yours.is_floating_point() or yours.dtype in integer_dtypes
    if not (expected.is_floating_point() and is_float) and yours.dtype != expected.dtype:
        return f"its numbers are {yours.dtype}, not {expected.dtype}"
    if not expected.is_floating_point():
        return "" if torch.equal(yours.cpu(), expected) else VALUES_DIFFER_CLAUSE
    # A named mistake may be recognised by its NaN, so that NaN equals NaN here.
    close = torch.allclose(
        yours.detach().cpu().double(),
        expected.detach().cpu().double(),
        rtol=RELATIVE_TOLERANCE,
        atol=ABSOLUTE_TOLERANCE,
        equal_nan=True,
    )
    return "" if close else VALUES_DIFFER_CLAUSE
