"""What a user can get wrong, said in one line with the remedy (torch is not loaded by it).

No check reads a tensor's numbers: on a GPU that would wait for them.
"""

import numbers
import operator
import signal
import typing
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import StrEnum
from reprlib import repr as shown  # cut short
from typing import Any

MISTAKE = 2  # exit status after what the user gave was wrong
INTERRUPTED = 130  # exit status that a shell expects of a program stopped by Ctrl-C
# Requests to end: of `kill`, and of a terminal that goes, a dropped ssh (not on Windows).
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
MAX_COUNT = 10**9  # of any number that counts something
MAX_VOCAB_SIZE = 10**7  # of a vocabulary
MIN_POSITIVE = 1e-50  # what is above 0
MAX_NUMBER = 1e50  # of any number: its square and its cube are numbers still
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


class UserError(ValueError):
    """A mistake in what the user gave; its message names the value, the limit and the remedy."""


def unknown_name(kind: str, name: Any, known: Iterable[str]) -> UserError:
    """Build the error for an unknown name of a kind ("recipe", "split"), with the nearest one."""
    options = sorted(known)
    near = get_close_matches(str(name), options, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return UserError(f"unknown {kind} {shown(name)}: {hint}(known: {', '.join(options)})")


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether memory did not suffice: Python's own, a GPU's, or PyTorch's on a CPU."""
    named = type(error).__name__ == "OutOfMemoryError" or "DefaultCPUAllocator" in str(error)
    return named or isinstance(error, MemoryError)


def require(condition: bool, message: str) -> None:
    """Refuse with this message unless the condition holds."""
    if not condition:
        raise UserError(message)


def check_fields(
    config: Any, *, most: int = MAX_COUNT, fractions: Sequence[str] = (), from_0: Sequence[str] = ()
) -> None:
    """Hold the fields of a frozen dataclass to their types, in place; text is read: "128", "none".

    Numbers are above 0 and `most` at most; `fractions` go from 0 up to, not including, 1, and the
    fields of `from_0` may be 0. None passes where the type has it.
    """
    for name, hint in typing.get_type_hints(type(config)).items():
        kind, *others = typing.get_args(hint) or (hint,)
        value = _read(getattr(config, name), kind)
        if others and (value is None or str(value).lower() == "none"):
            value = None
        elif issubclass(kind, StrEnum):
            if value not in list(kind):
                raise unknown_name(name, str(value), [member.value for member in kind])
            value = kind(value)
        elif type(value) is not kind:
            alternative = " or none" if others else ""
            raise UserError(f"{name} is {shown(value)}: give {_KINDS[kind]}{alternative}")
        elif name in fractions:
            wanted = "a number from 0 up to, not including, 1"
            require(0 <= value < 1, f"{name} is {value}: give {wanted}")
        elif name in from_0:
            require(0 <= value <= most, f"{name} is {shown(value)}: give 0 to {most:,}")
        elif kind in (int, float):
            wanted = f"1 to {most:,}" if kind is int else "a number above 0"
            require(0 < value <= most, f"{name} is {shown(value)}: give {wanted}")
        object.__setattr__(config, name, value)


def _read(value: Any, kind: type) -> Any:
    """Give a number or a truth of this kind, or the value itself where it is none."""
    if isinstance(value, str) and kind is bool:
        return {"true": True, "false": False}.get(value.lower(), value)
    if isinstance(value, str) and kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            return value
    return (
        float(value) if kind is float and type(value) is int and abs(value) < MAX_COUNT else value
    )


def check_number(
    name: str,
    value: Any,
    low: float = -MAX_NUMBER,
    high: float = MAX_NUMBER,
    *,
    whole: bool = False,
) -> None:
    """Refuse what is no number, or a fraction where it must be `whole`, or not in low ... high."""
    kind = numbers.Integral if whole else numbers.Real  # numpy's too; a truth is none
    fits = isinstance(value, kind) and not isinstance(value, bool)
    if fits and low <= value <= high:
        return
    number = "a whole number" if whole else "a number"
    limits = f"from {low:,} to {high:,}" if high < MAX_NUMBER else f"of {low:,} or more"
    wanted = f"{number} {'above 0' if low == MIN_POSITIVE else limits}"
    wanted = wanted if low > -MAX_NUMBER else f"a finite number, {MAX_NUMBER:g} at most"
    raise UserError(f"{name} is {shown(value)}: give {wanted}")


def check_sizes(most: int, **sizes: Any) -> None:
    """Refuse what is no whole number from 1 to `most`."""
    for name, size in sizes.items():
        check_number(name, size, 1, most, whole=True)


def check_list(name: str, values: Any, of: str) -> None:
    """Refuse what is no list, tuple or array of one axis."""
    listed = isinstance(values, Sequence) or getattr(values, "ndim", 0) == 1
    if not listed or isinstance(values, (str, bytes, bytearray)):
        raise UserError(f"{name} is {described(values)}: give a list of {of}")


def check_numbers(name: str, values: Any, fewest: int = 1) -> None:
    """Refuse what is no list of `fewest` finite numbers or more."""
    check_list(name, values, "numbers")
    require(len(values) >= fewest, f"{name}: give {fewest} or more numbers, not {len(values)}")
    for value in values:
        check_number(f"one of {name}", value)


def check_text(name: str, text: Any) -> None:
    """Refuse what is no text."""
    if not isinstance(text, str):
        raise UserError(f"{name} is {described(text)}: give a text")


def check_texts(name: str, texts: Any) -> None:
    """Refuse what is no list of texts: one text, bytes, a dictionary, None among them."""
    if isinstance(texts, str):
        raise UserError(f"{shown(texts)} is one text: give a list of {name}")
    check_list(name, texts, "texts")
    for text in texts:
        check_text(f"one of {name}", text)


def described(value: Any) -> str:
    """Say what a value is: of a tensor its type and shape, of another its beginning."""
    if getattr(value, "shape", ()):
        return f"{str(value.dtype).removeprefix('torch.')} of shape {tuple(value.shape)}"
    return shown(value)


def check_known(ids: Any, vocab_size: int) -> list[int]:
    """Give single ids as a list, where each is in the vocabulary."""
    try:
        known = [operator.index(each) for each in ids]
    except TypeError as error:
        raise UserError(f"ids are {described(ids)}: give a list of token ids") from error
    for number in known:
        if not 0 <= number < vocab_size:
            raise UserError(f"no id {shown(number)} in the vocabulary: give 0 to {vocab_size - 1}")
    return known


def check_ids(name: str, ids: Any) -> None:
    """Refuse what is no tensor of ids; whether the vocabulary has them, the embedding sees."""
    if str(getattr(ids, "dtype", "")) not in ("torch.int64", "torch.int32") or ids.dim() != 2:
        raise UserError(f"{name} is {described(ids)}: give token ids, int64 of (batch, length)")


def check_floats(name: str, tensor: Any, shape: tuple[Any, ...], like: Any = None) -> None:
    """Refuse what is no float tensor of this shape (None: any size) and of the type of `like`."""
    import torch

    if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
        wanted = shape[1:] if shape[0] is ... else shape
        sizes = tensor.shape[-len(wanted) :] if shape[0] is ... else tensor.shape
        if len(sizes) == len(wanted) and all(map(lambda a, b: b in (a, None), sizes, wanted)):
            same = like is None or tensor.dtype == like.dtype
            if same or torch.is_autocast_enabled(tensor.device.type):
                return
    kind = "float" if like is None else str(like.dtype).removeprefix("torch.")
    axes = ", ".join({None: "any", ...: "..."}.get(size, str(size)) for size in shape)
    raise UserError(f"{name} is {described(tensor)}: give a {kind} tensor of shape ({axes})")


def check_hidden(name: str, hidden: Any, layer: Any, axes: int | None = None) -> None:
    """Refuse what is no float tensor of the layer's width; quickly, for each step asks it."""
    try:
        usual = hidden.is_floating_point() and hidden.element_size() < 8
        if usual and hidden.shape[-1] == layer.d_model and axes in (None, hidden.dim()):
            return
    except (AttributeError, TypeError, IndexError):  # no tensor
        pass
    shape = (..., layer.d_model) if axes is None else (None,) * (axes - 1) + (layer.d_model,)
    check_floats(name, hidden, shape, next(layer.parameters()))


def check_mask(mask: Any, shape: tuple[int, ...]) -> None:
    """Refuse a mask that is not boolean, or does not broadcast to the shape of the scores."""
    if str(getattr(mask, "dtype", "")) != "torch.bool":
        raise UserError(f"mask is {described(mask)}: give a boolean one, True = may attend")
    sizes = mask.shape
    fits = len(sizes) <= len(shape)
    for size, whole in zip(reversed(sizes), reversed(shape), strict=False):
        fits = fits and size in (1, whole)
    if not fits:
        raise UserError(f"mask is {described(mask)}: give one that broadcasts to {tuple(shape)}")


def check_batches(first: str, one: Any, second: str, other: Any) -> None:
    """Refuse two tensors of unlike batches: they would be spread over each other without a word."""
    if one.shape[0] != other.shape[0]:
        counts = f"{first} has {one.shape[0]} sentences and {second} {other.shape[0]}"
        raise UserError(f"{counts}: give as many")


def check_pair(src: Any, tgt_in: Any) -> None:
    """Refuse what are not ids of as many sources as targets."""
    check_ids("src", src)
    check_ids("tgt_in", tgt_in)
    check_batches("src", src, "tgt_in", tgt_in)
