"""A call's arguments, checked against the annotations of what is called (not in the paper).

What a function takes is said once, in its signature. No torch in here.
"""

import collections.abc
import dataclasses
import functools
import inspect
import math
import numbers
import os
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from transformer.support.checks import describe_value
from transformer.support.errors import UserError

P = ParamSpec("P")
R = TypeVar("R")
MAX_NAME_BYTES = 255  # of a file or a folder, in all usual file systems
Matcher = Callable[[Any], bool]  # whether a value is of the kind that an annotation describes

# By the annotation, and for more than one.
_DESCRIPTIONS: dict[Any, tuple[str, str]] = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    bool: ("true or false", "truth values"),
    str: ("a text", "texts"),
    Path: ("a pathlib.Path whose names have 255 bytes at most", "pathlib.Paths"),
    type(None): ("none", "none"),
    Any: ("anything", "values"),
    collections.abc.Callable: ("a function", "functions"),
}


def check_argument_types(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function raise a UserError for an argument that its annotation does not describe.

    A whole number stands for a float, and NumPy's numbers for Python's; True and False are no
    numbers, nan is none, and a text is no list of texts. A list stands for a tuple, and an array of
    one axis for either. What lists, dictionaries and named tuples hold is checked too; not what an
    iterator yields, which can be read but once.
    """
    parameters = inspect.signature(function).parameters
    hints: dict[str, Any] = {}
    matchers: dict[str, Matcher] = {}

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        # Annotations are read when they are first needed: importing costs less.
        if not hints:
            hints.update(dict.fromkeys(parameters, Any) | typing.get_type_hints(function))
            matchers.update({name: _matcher(hints[name]) for name in parameters})
        for name, value in _named_arguments(parameters, args, kwargs):
            if not matchers[name](value):
                raise _wrong_type_error(name, value, hints[name])
        return function(*args, **kwargs)

    return checked


def _named_arguments(
    parameters: Mapping[str, inspect.Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a call with their parameters' names; Python refuses the others."""
    yield from zip(parameters, args, strict=False)
    for name, value in kwargs.items():
        if name in parameters:
            yield name, value


def check_field_types(record: Any) -> None:
    """Raise a UserError unless the fields of a dataclass are of the kinds of their annotations."""
    record_class: Any = type(record)
    hints = _hints_of_class(record_class)
    for field in dataclasses.fields(record):
        check_type(field.name, getattr(record, field.name), hints[field.name])


def check_type(name: str, value: Any, annotation: Any) -> None:
    """Raise a UserError unless a value is of the kind that an annotation describes."""
    if not _matcher(annotation)(value):
        raise _wrong_type_error(name, value, annotation)


def _wrong_type_error(name: str, value: Any, annotation: Any) -> UserError:
    """Build the error for a value that its annotation does not describe, or for an item of it."""
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        lists = [each for each in arguments if _is_list_of_other_items(value, each)]
        if lists:
            return _wrong_type_error(name, value, lists[0])
    elif _is_list_of_other_items(value, annotation):
        item = next(item for item in value if not _matcher(arguments[0])(item))
        return _wrong_type_error(f"one of {name}", item, arguments[0])
    wanted = describe_annotation(annotation)
    return UserError(f"{name} is {describe_value(value)}: give {wanted}")


def _is_list_of_other_items(value: Any, annotation: Any) -> bool:
    """Return whether a value is such a list as an annotation describes, but for its items."""
    kind, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if not isinstance(kind, type) or not issubclass(kind, collections.abc.Iterable):
        return False
    has_one_kind_of_item = len(arguments) == 1 or arguments[-1] is Ellipsis
    return has_one_kind_of_item and _iterable_matcher(kind, (Any,))(value)


@functools.cache
def _hints_of_class(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


@functools.cache
def _matcher(annotation: Any) -> Matcher:
    """Return what decides whether a value is of an annotation's kind."""
    kind = typing.get_origin(annotation) or annotation
    arguments = typing.get_args(annotation)
    if kind in (typing.Union, types.UnionType):
        matchers = [_matcher(alternative) for alternative in arguments]
        return lambda value: any(matches(value) for matches in matchers)
    if kind is None:
        return lambda value: value is None
    if kind is collections.abc.Callable:
        return callable
    if kind is Path:
        return _is_path
    if kind in (int, float):
        return functools.partial(_is_number, numbers.Integral if kind is int else numbers.Real)
    if kind is Any or not isinstance(kind, type):  # nor is a type variable a type
        return lambda value: True
    if getattr(kind, "_is_protocol", False):
        methods = [name for name in vars(kind) if not name.startswith("_")]
        return lambda value: all(hasattr(value, name) for name in methods)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = _hints_of_class(kind)
        return _tuple_matcher(tuple(hints[name] for name in kind._fields))
    if arguments and issubclass(kind, collections.abc.Iterable):
        return _iterable_matcher(kind, arguments)
    return lambda value: isinstance(value, kind)


def _is_path(value: Any) -> bool:
    """Return whether a value is a path that a file could have; others end in the system's words."""
    if not isinstance(value, Path):
        return False
    names = [os.fsencode(name) for name in value.parts]
    return all(len(name) <= MAX_NAME_BYTES and b"\0" not in name for name in names)


def _is_number(kind: type, value: Any) -> bool:
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    return is_number and not (isinstance(value, float) and math.isnan(value))


def _tuple_matcher(annotations: tuple[Any, ...]) -> Matcher:
    """Return what decides whether a tuple or a list has just these items."""
    matchers = [_matcher(annotation) for annotation in annotations]

    def matches_tuple(value: Any) -> bool:
        if not isinstance(value, tuple | list) or len(value) != len(matchers):
            return False
        return all(matches(item) for matches, item in zip(matchers, value, strict=True))

    return matches_tuple


def _iterable_matcher(kind: type, arguments: tuple[Any, ...]) -> Matcher:
    """Return what decides whether a value is such a mapping, list, ... of such items."""
    if issubclass(kind, collections.abc.Mapping):
        is_key, is_value = map(_matcher, arguments)
        return lambda value: (
            isinstance(value, collections.abc.Mapping)
            and all(is_key(key) and is_value(item) for key, item in value.items())
        )
    if issubclass(kind, tuple) and arguments[-1] is not Ellipsis:
        return _tuple_matcher(arguments)
    if issubclass(kind, collections.abc.Sequence):
        kind = collections.abc.Sequence
    item_kind, is_item = arguments[0], _matcher(arguments[0])

    def matches_iterable(value: Any) -> bool:
        is_array = getattr(value, "ndim", 0) == 1
        if getattr(value, "ndim", None) == 0:  # it has an __iter__, which raises
            return False
        if isinstance(value, str | bytes | bytearray) or not (is_array or isinstance(value, kind)):
            return False
        can_be_read_again = is_array or isinstance(value, collections.abc.Collection)
        if not can_be_read_again:
            return True
        # The usual case is decided quickly: a corpus has millions of ids.
        if item_kind in (int, str) and set(map(type, value)) <= {item_kind}:
            return True
        return all(map(is_item, value))

    return matches_iterable


def describe_annotation(annotation: Any, several: bool = False) -> str:
    """Return in words what an annotation describes: "a list of texts", "a number or none"."""
    kind = typing.get_origin(annotation) or annotation
    arguments = [each for each in typing.get_args(annotation) if each is not Ellipsis]
    if kind in (typing.Union, types.UnionType):
        return " or ".join(describe_annotation(each, several) for each in arguments)
    if kind in _DESCRIPTIONS:
        return _DESCRIPTIONS[kind][several]
    name = getattr(kind, "__name__", str(kind))
    if issubclass(kind, Enum):
        return f"a {name}: {', '.join(str(member.value) for member in kind)}"
    if arguments and issubclass(kind, collections.abc.Iterable):
        name = "list" if issubclass(kind, collections.abc.Sequence) else name.lower()
        items = dict.fromkeys(describe_annotation(each, several=True) for each in arguments)
        return f"{_plural(name) if several else _with_article(name)} of {' and '.join(items)}"
    return _plural(name) if several else _with_article(name)


def _plural(name: str) -> str:
    return f"{name}es" if name.endswith(("ch", "s", "x")) else f"{name}s"


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
