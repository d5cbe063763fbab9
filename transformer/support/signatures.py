"""Values checked against annotations: a call's arguments, a field (not in the paper).

What a function takes is said once, in its signature. No torch in here.

No library does this. Of the 44 cases in tests/support/test_signatures.py typeguard 4.6.1 decides 10
otherwise and beartype 0.23.1 11, with its overrides still 6: True and nan are numbers to them, a
text is a list of texts, NumPy's arrays are no lists, and a list is no tuple; beartype looks at one
item of a list, taken at random, and at protocols not at all. Their errors say neither the value nor
a remedy. A call with ten ids and two numbers takes 6 us here, 61 and 2 there.
"""

import collections.abc
import functools
import inspect
import math
import numbers
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from transformer.support.errors import UserError, describe_value

P = ParamSpec("P")
R = TypeVar("R")
MAX_FILE_NAME_BYTES = 255  # of a file or a folder, in all usual file systems
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
    numbers, nan is none, and a text is no list of texts. A list stands for a tuple; an array, or a
    class of the caller's own with a length and items, for either. What lists, dictionaries and
    named tuples hold is checked too; not what an iterator yields, which can be read but once.
    """

    # The signature is read at the first call: importing costs less.
    @functools.cache
    def parameters() -> _Parameters:
        return _Parameters(function)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        parameters().check(args, kwargs)
        return function(*args, **kwargs)

    return checked


class _Parameters:
    """What a function's signature says of each argument."""

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = inspect.signature(function).parameters

        def names_of_kind(*kinds: Any) -> list[str]:
            return [name for name, parameter in parameters.items() if parameter.kind in kinds]

        self.positional = names_of_kind(
            inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        # A function has one `*name` and one `**name` at most.
        self.var_positional = next(iter(names_of_kind(inspect.Parameter.VAR_POSITIONAL)), None)
        self.var_keyword = next(iter(names_of_kind(inspect.Parameter.VAR_KEYWORD)), None)
        self.hints = dict.fromkeys(parameters, Any) | typing.get_type_hints(function)
        self.matchers = {name: _matcher(self.hints[name]) for name in parameters}

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise a UserError for an argument that its annotation does not describe.

        What a `*name` or a `**name` gathers is as that says; Python refuses what none takes.
        """
        for name, value in zip(self.positional, args, strict=False):
            self._check_value(name, name, value)
        if self.var_positional is not None:
            for value in args[len(self.positional) :]:
                self._check_value(self.var_positional, self.var_positional, value)
        for name, value in kwargs.items():
            parameter = name if name in self.matchers else self.var_keyword
            if parameter is not None:
                self._check_value(name, parameter, value)

    def _check_value(self, name: str, parameter: str, value: Any) -> None:
        if not self.matchers[parameter](value):
            raise _wrong_type_error(name, value, self.hints[parameter])


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
    if not isinstance(kind, type) or not _is_container(kind, arguments):
        return False
    has_one_kind_of_item = len(arguments) == 1 or arguments[-1] is Ellipsis
    return has_one_kind_of_item and _iterable_matcher(kind, (Any,))(value)


@functools.cache
def field_annotations(record_class: Any) -> dict[str, Any]:
    """Return the annotations of a dataclass's or a named tuple's fields, by their names."""
    return typing.get_type_hints(record_class)


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
    # The class is known by its name: checking other arguments must not import NumPy.
    if _qualified_name(kind) == ("numpy", "ndarray"):
        # A tensor stands for an array, too: what NumPy reads as one.
        return lambda value: hasattr(value, "__array__")
    if kind is Path:
        return _is_path
    if kind in (int, float):
        return functools.partial(_is_number, numbers.Integral if kind is int else numbers.Real)
    if kind is Any or not isinstance(kind, type):  # nor is a type variable a type
        return lambda value: True
    if members := _protocol_members(kind):
        return lambda value: all(hasattr(value, name) for name in members)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = field_annotations(kind)
        return _tuple_matcher(tuple(hints[name] for name in kind._fields))
    if _is_container(kind, arguments):
        return _iterable_matcher(kind, arguments)
    return lambda value: isinstance(value, kind)


def _qualified_name(kind: Any) -> tuple[str, str]:
    """Return the module and the name of a class, two empty texts for what has none."""
    return getattr(kind, "__module__", ""), getattr(kind, "__qualname__", "")


def _raw_class_annotations(cls: type) -> Mapping[str, Any]:
    """Return the annotations of a class itself, as they are written."""
    return vars(cls).get("__annotations__", {})


class _EmptyProtocol(typing.Protocol):
    """A protocol that asks for nothing: what it has, every protocol has."""


@functools.cache
def _protocol_members(kind: Any) -> list[str]:
    """Return the names that a protocol asks for; none for another class."""
    if not getattr(kind, "_is_protocol", False):
        return []
    protocols = [base for base in kind.__mro__[:-1] if getattr(base, "_is_protocol", False)]
    names = [name for base in protocols for name in (*vars(base), *_raw_class_annotations(base))]
    shared_names = {*dir(_EmptyProtocol), *vars(typing.Protocol), "__annotations__"}
    return [name for name in dict.fromkeys(names) if name not in shared_names]


def _is_container(kind: Any, arguments: Sequence[Any]) -> bool:
    """Return whether arguments of an annotation say what something iterable holds."""
    of_python = kind.__module__ in ("builtins", "collections.abc")
    return bool(arguments) and of_python and issubclass(kind, collections.abc.Iterable)


def _is_path(value: Any) -> bool:
    """Return whether a value is a path that a file could have; others end in the system's words."""
    if not isinstance(value, Path):
        return False
    names = [os.fsencode(name) for name in value.parts]
    return all(len(name) <= MAX_FILE_NAME_BYTES and b"\0" not in name for name in names)


def _is_number(kind: type, value: Any) -> bool:
    # The usual case is decided quickly: the abstract kinds of numbers are slow to ask.
    if type(value) is int:
        return True
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    return is_number and not (isinstance(value, float) and math.isnan(value))


def _tuple_matcher(annotations: tuple[Any, ...]) -> Matcher:
    """Return what decides whether a tuple or a list has just these items."""
    matchers = [_matcher(annotation) for annotation in annotations]
    are_plain = set(annotations) <= {int, str}

    def matches_tuple(value: Any) -> bool:
        # The usual case is decided quickly: a corpus has hundreds of thousands of links.
        if are_plain and type(value) is tuple and tuple(map(type, value)) == annotations:
            return True
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
    item_kind, is_item = arguments[0], _matcher(arguments[0])
    must_be_list = issubclass(kind, collections.abc.Sequence)
    may_be_list = not issubclass(kind, collections.abc.Set)

    def matches_iterable(value: Any) -> bool:
        if not (may_be_list and _is_list(value)):
            if must_be_list or not (_is_iterable(value) and isinstance(value, kind)):
                return False
            if not isinstance(value, collections.abc.Collection):
                return True  # Reading it would use it up.
        # The usual case is decided quickly: a corpus has millions of ids.
        if item_kind in (int, str) and set(map(type, value)) <= {item_kind}:
            return True
        return all(map(is_item, value))

    return matches_iterable


def _is_list(value: Any) -> bool:
    """Return whether a value is a list, an array, or anything else with a length and items."""
    # The usual case first: a batch of examples has hundreds of lists.
    if type(value) in (list, tuple):
        return True
    has_length_and_items = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return has_length_and_items and _is_iterable(value) and not hasattr(value, "keys")


def _is_iterable(value: Any) -> bool:
    """Return whether a value may be read item by item: a text may not, nor may one number."""
    is_text_or_class = isinstance(value, str | bytes | bytearray | type)
    return not is_text_or_class and getattr(value, "ndim", 1) != 0


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
    if issubclass(kind, tuple) and hasattr(kind, "_fields") and not several:
        return f"{_with_article(name)} ({', '.join(kind._fields)})"
    if (members := _protocol_members(kind)) and not several:
        return f"{_with_article(name)}, which has {' and '.join(members)}"
    if _is_container(kind, arguments):
        name = "list" if issubclass(kind, collections.abc.Sequence) else name.lower()
        items = dict.fromkeys(describe_annotation(each, several=True) for each in arguments)
        return f"{_plural(name) if several else _with_article(name)} of {' and '.join(items)}"
    return _plural(name) if several else _with_article(name)


def _plural(name: str) -> str:
    return f"{name}es" if name.endswith(("ch", "s", "x")) else f"{name}s"


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
