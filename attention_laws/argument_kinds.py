"""The kinds of arguments and fields, held against their annotations (not in the paper)."""

import collections.abc
import dataclasses
import functools
import inspect
import math
import numbers
import types
import typing
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from reprlib import repr as short_repr  # any value in a few dozen characters at most
from typing import Any, ParamSpec, TypeVar

from attention_laws.errors import UserError

P = ParamSpec("P")
R = TypeVar("R")
DESCRIPTIONS_BY_TYPE: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    Path: "a pathlib.Path",
    type(None): "None",
    collections.abc.Callable: "a function",
}


def check_argument_kinds(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function raise a UserError for an argument that its annotation does not describe."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        hints = typing.get_type_hints(function)
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name in hints:
                check_kind(name, value, hints[name])
        return function(*args, **kwargs)

    return checked


def check_field_kinds(record: Any) -> None:
    """Raise a UserError unless the fields of a dataclass are of the kinds of their annotations."""
    hints = typing.get_type_hints(type(record))
    for field in dataclasses.fields(record):
        check_kind(field.name, getattr(record, field.name), hints[field.name])


def check_kind(name: str, value: Any, annotation: Any) -> None:
    """Raise a UserError unless a value is of the kind that an annotation describes."""
    if not _is_of_kind(value, annotation):
        shown = " ".join(short_repr(value).split())  # a tensor's has lines
        raise UserError(f"{name} is {shown}: give {_in_words(annotation)}")


def _is_of_kind(value: Any, annotation: Any) -> bool:
    kind, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if kind in (typing.Union, types.UnionType):
        return any(_is_of_kind(value, alternative) for alternative in arguments)
    if kind is collections.abc.Callable:
        return callable(value)
    if kind in (int, float):
        wanted = numbers.Integral if kind is int else numbers.Real
        is_number = isinstance(value, wanted) and not isinstance(value, bool)
        return is_number and not (isinstance(value, float) and math.isnan(value))
    if kind is Any or not isinstance(kind, type):  # nor is a type variable a class
        return True
    if not issubclass(kind, collections.abc.Iterable) or not arguments:
        return isinstance(value, kind)
    return _is_iterable_of_kind(value, kind, arguments)


def _is_iterable_of_kind(value: Any, kind: type, arguments: tuple[Any, ...]) -> bool:
    """Return whether a value is such a list, mapping, ... of such items; a text is no list."""
    if issubclass(kind, collections.abc.Mapping):
        return isinstance(value, kind) and all(
            _is_of_kind(key, arguments[0]) and _is_of_kind(item, arguments[1])
            for key, item in value.items()
        )
    if isinstance(value, str | bytes) or not isinstance(value, collections.abc.Iterable):
        return False
    if issubclass(kind, tuple) and arguments[-1] is not Ellipsis:
        items = list(value)
        return len(items) == len(arguments) and all(map(_is_of_kind, items, arguments))
    # A list of the caller's own is one too; what can be read but once is not looked into.
    if not hasattr(value, "__len__"):
        return not issubclass(kind, collections.abc.Sequence)
    return getattr(value, "ndim", 1) == 1 and all(_is_of_kind(i, arguments[0]) for i in value)


def _in_words(annotation: Any) -> str:
    kind, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if kind in (typing.Union, types.UnionType):
        return " or ".join(map(_in_words, arguments))
    if kind in DESCRIPTIONS_BY_TYPE:
        return DESCRIPTIONS_BY_TYPE[kind]
    name = getattr(kind, "__name__", str(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"a {name}: {', '.join(str(member.value) for member in kind)}"
    article = "an" if name[0] in "AEIOUaeiou" else "a"
    items = [_in_words(each) for each in arguments if each is not Ellipsis]
    return f"{article} {name}" + (f" of {' and '.join(items)} each" if items else "")
