"""Every public function with the kinds of its arguments, as its signature says them."""

import dataclasses
import enum
import importlib
import inspect
import typing
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from tests.helpers.sound_arguments import sound_argument

VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
PACKAGES = ("transformer", "lessonkit", "attention_laws")


class PublicFunction(NamedTuple):
    """A function that a package exports, a class that it exports, or a method of one."""

    name: str  # "transformer.Transformer.decode"
    make: Callable[[], Callable[..., Any]]  # returns what to call: of a new object, if a method
    hints: dict[str, Any]  # the annotation of each parameter
    sound: Callable[[], dict[str, Any]]  # returns new arguments that it takes
    sound_value: Callable[[str], Any]  # returns a value that it takes for a parameter


def call(function: PublicFunction, arguments: dict[str, Any]) -> Any:
    """Call a function; what a `*name` or a `**name` gathers is one value."""
    called = function.make()
    parameters = inspect.signature(called).parameters
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, value in arguments.items():
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            args = [value]
        elif parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            kwargs["any_name"] = value
        else:
            kwargs[name] = value
    return called(*args, **kwargs)


def public_functions(package: str) -> Iterator[PublicFunction]:
    """Yield every function, class and method that a package exports."""
    seen: set[int] = set()
    module = importlib.import_module(package)
    for name in module.__all__:
        yield from _functions_of(f"{package}.{name}", getattr(module, name), seen)


def _functions_of(name: str, value: Any, seen: set[int]) -> Iterator[PublicFunction]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, ModuleType):
        for own, member in vars(value).items():
            if not own.startswith("_") and getattr(member, "__module__", "") == value.__name__:
                yield from _functions_of(f"{name}.{own}", member, seen)
    elif isinstance(value, type):
        yield from _functions_of_class(name, value)
    elif inspect.isfunction(value):
        yield _public_function(name, lambda: value, value, value)
    elif type(value).__module__.split(".")[0] in PACKAGES and not isinstance(value, tuple):
        yield from _methods(name, type(value), lambda: value)


def _functions_of_class(name: str, cls: type) -> Iterator[PublicFunction]:
    """Yield a class and its methods.

    An enumeration is called by Python alone; a record without a check of its own (a named tuple, a
    plain dataclass) holds what it is given, and whoever takes it looks at what it holds.
    """
    is_record = issubclass(cls, tuple) or dataclasses.is_dataclass(cls)
    if issubclass(cls, enum.Enum) or getattr(cls, "_is_protocol", False):
        return
    arguments = _sound_arguments(cls.__name__, cls.__init__, cls)
    if not is_record or hasattr(cls, "__post_init__"):
        value = _sound_value(cls.__name__, cls.__init__, cls)
        yield PublicFunction(name, lambda: cls, _hints(cls.__init__, cls), arguments, value)
    yield from _methods(name, cls, lambda: cls(**arguments()))


def _methods(name: str, cls: type, make: Callable[[], Any]) -> Iterator[PublicFunction]:
    for own, member in inspect.getmembers(cls):
        is_ours = (getattr(member, "__module__", None) or "").split(".")[0] in PACKAGES
        if not callable(member) or own.startswith("_") or not is_ours:
            continue
        if inspect.ismethod(member):  # of the class
            yield _public_function(f"{name}.{own}", lambda m=member: m, member, member.__func__)
        else:
            yield _public_function(
                f"{name}.{own}", lambda own=own: getattr(make(), own), member, member
            )


def _public_function(
    name: str, make: Callable[[], Any], function: Any, hinted: Any
) -> PublicFunction:
    hints = _hints(hinted)
    hints.pop("return", None)
    # What is handed on as it is, `**options: Any`, is looked at by what takes it.
    for own, parameter in inspect.signature(hinted).parameters.items():
        if parameter.kind in VARIADIC and hints.get(own, Any) is Any:
            hints.pop(own, None)
    own = hinted.__name__
    arguments, value = _sound_arguments(own, hinted, None), _sound_value(own, hinted, None)
    return PublicFunction(name, make, hints, arguments, value)


def _hints(function: Any, cls: type | None = None) -> dict[str, Any]:
    if cls is not None and not inspect.isfunction(function):
        function = cls
    if cls is not None and issubclass(cls, tuple):
        function = cls.__new__
    hints = typing.get_type_hints(inspect.unwrap(function))
    if cls is not None:
        hints.pop("return", None)
    return hints


def _sound_value(name: str, function: Any, cls: type | None) -> Callable[[str], Any]:
    """Return what makes a value that a function takes for one of its parameters, by its name."""

    def make(own: str) -> Any:
        parameter = inspect.signature(cls or function).parameters[own]
        try:
            return sound_argument(name, own, _hints(function, cls)[own])
        except KeyError:
            if parameter.default is parameter.empty:
                raise
            return parameter.default

    return make


def _sound_arguments(name: str, function: Any, cls: type | None) -> Callable[[], dict[str, Any]]:
    """Return what makes arguments that a function takes, without those that may be left out."""

    def make() -> dict[str, Any]:
        make_value = _sound_value(name, function, cls)
        return {
            own: make_value(own)
            for own, parameter in inspect.signature(cls or function).parameters.items()
            if own not in ("self", "cls")
            and parameter.default is parameter.empty
            and parameter.kind not in VARIADIC
        }

    return make
