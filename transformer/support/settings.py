"""Values of a configuration, typed or read: each becomes what its field says, or is refused.

Every refusal is a `UserError` that names the field, the value and what to give instead.
"""

import math
import typing
from enum import StrEnum
from reprlib import repr as shown  # cut short
from typing import Any

from transformer.support.errors import UserError, unknown_name

MOST = 10**9  # of any number that counts something
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def parse(text: Any, hint: Any) -> Any:
    """Read what was typed for a field of the type `hint`: "128", "true", "none", "learned".

    What is no text, or does not fit, is given back as it is, for `convert_fields` to refuse.
    """
    kind, optional = _kind_of(hint)
    if not isinstance(text, str):
        return text
    if optional and text.lower() == "none":
        return None
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return kind(text) if kind in (int, float) else text
    except ValueError:
        return text


def convert_fields(config: Any) -> None:
    """Hold the fields of a frozen dataclass to their types, in place.

    A whole number becomes a float where the field is one, and a name becomes the member of
    its enumeration.

    Raises:
        UserError: a value is of the wrong type, or names no member (the nearest is given).
    """
    for name, hint in typing.get_type_hints(type(config)).items():
        value, (kind, optional) = getattr(config, name), _kind_of(hint)
        if issubclass(kind, StrEnum):
            if value not in list(kind):
                raise unknown_name(name, str(value), [member.value for member in kind])
            object.__setattr__(config, name, kind(value))
        elif kind is float and type(value) is int and abs(value) < MOST:
            object.__setattr__(config, name, float(value))
        elif type(value) is not kind and not (optional and value is None):
            alternative = " or none" if optional else ""
            raise UserError(f"{name} is {shown(value)}: give {_KINDS[kind]}{alternative}")


def require(condition: bool, message: str) -> None:
    """Refuse with this message unless the condition holds."""
    if not condition:
        raise UserError(message)


def require_count(config: object, *names: str, most: int = MOST) -> None:
    """Refuse a field of these that is under 1, or above `most`; None passes."""
    for name in names:
        value = getattr(config, name)
        if value is not None:
            require(value >= 1, f"{name} is {shown(value)}: give 1 or more")
            require(value <= most, f"{name} is {shown(value)}: give {most:,} or less")


def require_number(config: object, *names: str, zero: bool = False) -> None:
    """Refuse a field of these that is not finite and above 0; None passes, and 0 if `zero`."""
    for name in names:
        value = getattr(config, name)
        if value is not None:
            within = 0 < value < math.inf or (zero and value == 0)
            wanted = "0 or more" if zero else "a number above 0"
            require(within, f"{name} is {value}: give {wanted}")


def require_fraction(config: object, *names: str) -> None:
    """Refuse a field of these that is not in [0, 1)."""
    for name in names:
        value = getattr(config, name)
        require(0 <= value < 1, f"{name} is {value}: give a number from 0 up to, not including, 1")


def _kind_of(hint: Any) -> tuple[type, bool]:
    """Give a field's type, and whether it may be None instead."""
    kinds = typing.get_args(hint) or (hint,)
    return kinds[0], type(None) in kinds
