"""Values for a parameter: of its kind but at an edge, and of other kinds."""

import collections.abc
import contextlib
import dataclasses
import enum
import math
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor, nn

Strategy = st.SearchStrategy[Any]
INTS = [-(10**400), -(10**9), -3, -1, 0, 1, 2, 19, 2**16, 10**7, 10**9, 10**400]
FLOATS = [-math.inf, -1e300, -1.0, -1e-300, 0.0, 1e-300, 0.5, 1.0, 1e9, 1e300, math.inf, math.nan]
TEXTS = ["", " ", "a", "$\\frac$", "\ud800", "\0", "(S", "é" * 300, "cuda:99", "../x"]
PATHS = [Path(), Path("none"), Path("garbage.json"), Path("\0"), Path("a" * 300), Path("/dev/null")]

PLAIN: dict[Any, Strategy] = {
    type(None): st.none(),
    bool: st.booleans(),
    int: st.sampled_from(INTS) | st.from_type(int),
    float: st.sampled_from(FLOATS) | st.from_type(float),
    str: st.sampled_from(TEXTS) | st.from_type(str),
    Path: st.sampled_from(PATHS),
}

# Something of each kind; what a parameter takes is left out.
KINDS: dict[str, list[Any]] = {
    "none": [None],
    "bool": [True],
    "int": [3],
    "float": [1.5, math.nan],
    "text": ["zz"],
    "bytes": [b"zz"],
    "path": [Path("zz")],
    "list": [[object()], [None], [math.nan], [b"zz"], [[object()]]],
    "dict": [{"zz": object()}, {1: 2}],
    "tensor": [torch.ones(2, 3), torch.tensor(1.0)],
    "module": [nn.Linear(2, 3)],
    "function": [len],
    "type": [int],
    "object": [object(), 1j, types.SimpleNamespace()],
}


def kinds_taken(hint: Any) -> set[str]:
    """Return the kinds that an annotation takes, or that stand for them."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return set().union(*map(kinds_taken, arguments))
    if hint is Any or hint is object or isinstance(hint, typing.TypeVar):
        return set(KINDS)
    kind = origin or hint
    table: dict[Any, set[str]] = {
        type(None): {"none"},
        bool: {"bool"},
        int: {"int"},
        float: {"int", "float"},
        str: {"text"},
        bytes: {"bytes"},
        Path: {"path"},
        torch.device: set(),
        Tensor: {"tensor"},
        nn.Module: {"module"},
        collections.abc.Callable: {"function", "module", "type"},
    }
    return table.get(kind, set())


def other_kinds(hint: Any) -> Strategy:
    """Return a strategy of values that no reading of the annotation takes."""
    taken = kinds_taken(hint)
    values = [value for name, some in KINDS.items() if name not in taken for value in some]
    return st.sampled_from(values) if values else st.nothing()


def edges(hint: Any, sound: Any) -> Strategy:
    """Return a strategy of values of an annotation's kind, some of them hardly sound."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([edges(one, sound) for one in arguments])
    if hint in PLAIN:
        return PLAIN[hint]
    if (origin or hint) is collections.abc.Callable:
        return st.nothing()  # What a caller's own function does is the caller's.
    if isinstance(sound, Tensor):
        return st.sampled_from(tensor_edges(sound))
    if isinstance(sound, np.ndarray):
        return st.sampled_from(array_edges(sound))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return st.from_type(hint)
    if isinstance(sound, dict):
        return st.sampled_from([{}, sound]) | dict_edges(sound)
    if isinstance(sound, tuple) and hasattr(sound, "_replace"):
        return record_edges(sound, typing.get_type_hints(type(sound)))
    if isinstance(sound, list | tuple | set | frozenset):
        return sequence_edges(arguments[0] if arguments else Any, sound)
    if dataclasses.is_dataclass(sound) and not isinstance(sound, type):
        return record_edges(sound, typing.get_type_hints(type(sound)))
    return st.just(sound)


def tensor_edges(sound: Tensor) -> list[Tensor]:
    """Return tensors that differ from a sound one in type, shape or numbers."""
    found = [sound, sound[..., :0], sound[:0], sound[:1], sound[0], sound[None], sound.float()]
    found += [
        torch.tensor(3),
        sound[..., :1],
        sound.long(),
        sound.bool(),
        sound.to(torch.complex64),
    ]
    found += [sound + 9, 0 * sound] if sound.dtype != torch.bool else [~sound]
    if sound.dtype != torch.bool:
        found.append(sound - 9)
    if sound.is_floating_point():
        found += [
            sound.double(),
            sound.half(),
            sound.bfloat16(),
            sound * math.nan,
            sound * math.inf,
        ]
        found += [sound * 1e30]
    return found


def array_edges(sound: np.ndarray) -> list[np.ndarray]:
    """Return arrays that differ from a sound one in type, shape or items."""
    found = [sound, sound[..., :0], sound[:0], sound[:1], sound[None], sound.astype(object)]
    if sound.dtype != object:
        found += [sound + 9, 0 * sound, -sound, sound * math.nan, sound.astype(np.float16)]
    return found


def dict_edges(sound: dict[Any, Any]) -> Strategy:
    keys = list(sound)
    if not keys:
        return st.just(sound)
    odd = st.sampled_from([None, math.nan, "", [], {}, -1, object()])
    return st.builds(
        lambda key, value: {**sound, key: value}, st.sampled_from(keys), odd
    ) | st.builds(
        lambda key: {own: value for own, value in sound.items() if own != key},
        st.sampled_from(keys),
    )


def record_edges(sound: Any, hints: dict[str, Any]) -> Strategy:
    """Return records with one field of another kind or at an edge."""
    if isinstance(sound, tuple):
        names, replace = sound._fields, lambda **changes: sound._replace(**changes)
    else:
        names = tuple(field.name for field in dataclasses.fields(sound) if field.init)

        def replace(**changes: Any) -> Any:
            with contextlib.suppress(ValueError):
                return dataclasses.replace(sound, **changes)
            return sound

    def change(name: str) -> Strategy:
        values = edges(hints[name], getattr(sound, name))
        return st.builds(lambda value: replace(**{name: value}), values)

    return st.sampled_from(names).flatmap(change) if names else st.just(sound)


def sequence_edges(hint: Any, sound: Any) -> Strategy:
    """Return sequences that are empty, shorter, longer, or have another element."""
    kind = type(sound)
    items: Sequence[Any] = list(sound)
    wholes = [kind(()), kind(items[:1]), kind(items * 2), kind(items[::-1]), sound]
    if not items:
        return st.sampled_from(wholes)
    element = edges(hint, items[0])
    if kind in (list, tuple):
        changed = st.builds(lambda value: kind([value, *items[1:]]), element)
    else:
        changed = st.builds(lambda value: kind([value]), element)
    return st.sampled_from(wholes) | changed


def is_finite(result: Any) -> bool:
    """Return whether every number in a result is a real and finite one."""
    if isinstance(result, float | complex):
        return isinstance(result, float) and math.isfinite(result)
    if isinstance(result, Tensor):
        return not result.is_floating_point() or result.is_meta or bool(result.isfinite().all())
    if isinstance(result, np.ndarray | np.generic):
        return result.dtype.kind not in "fc" or bool(np.isfinite(result).all())
    if isinstance(result, dict):
        return all(map(is_finite, result.values()))
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return all(map(is_finite, vars(result).values()))
    return not isinstance(result, list | tuple) or all(map(is_finite, result))


def holds_infinity(value: Any) -> bool:
    """Return whether an argument has numbers that are not finite, which a result may have too."""
    if isinstance(value, Tensor):
        return value.is_floating_point() and not (value.is_meta or bool((value.abs() < 1e20).all()))
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fc" and not np.isfinite(value).all()
    if isinstance(value, dict):
        return any(map(holds_infinity, value.values()))
    return isinstance(value, list | tuple) and any(map(holds_infinity, value))
