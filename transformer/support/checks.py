"""Checks of arguments: each raises a UserError of one line that says what to give instead.

No check reads a tensor's numbers, for on a GPU that would wait for them. Torch is loaded by the
checks of tensors alone.
"""

import math
import numbers
import operator
import typing
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from transformer.support.errors import (
    UserError,
    describe_value,
    require,
    short_repr,
    unknown_name_error,
)
from transformer.support.signatures import check_type, field_annotations

MAX_COUNT = 10**9  # the largest number of anything that is counted
MAX_VOCAB_SIZE = 10**7
MAX_NUM_ELEMENTS = 2**30  # of one tensor that a size is given for: 4.3 GB in float32
MAX_NUMBER = 1e50  # the square and the cube of a number must be finite too
MIN_POSITIVE = 1e-50  # as a lower limit it means "above 0"


# --- the fields of a configuration ----------------------------------------------------------


def check_fields(
    config: Any,
    *,
    max_number: int = MAX_COUNT,
    fractions: Sequence[str] = (),
    may_be_zero: Sequence[str] = (),
) -> None:
    """Convert the fields of a frozen dataclass to their types, in place, and check their ranges.

    Text is parsed: "128", "true", "none". Numbers are above 0 and at most `max_number`, but the
    fields named in `fractions` go from 0 up to, not including, 1, and those of `may_be_zero` from
    0. None passes where the type has it.
    """
    config_class: Any = type(config)
    for name, annotation in field_annotations(config_class).items():
        value = getattr(config, name)
        kind, *alternatives = typing.get_args(annotation) or (annotation,)
        if isinstance(value, str):
            is_number_or_none = kind in (int, float) and type(None) in alternatives
            is_none = is_number_or_none and value.lower() == "none"
            value = None if is_none else _parse_text(name, value, kind)
        check_type(name, value, annotation)
        if kind in (int, float) and value is not None:
            if name in fractions and not 0 <= value < 1:
                raise UserError(f"{name} is {value}: give a number from 0 up to, not including, 1")
            may_be_zero_too = name in may_be_zero or name in fractions
            smallest = 0 if may_be_zero_too else 1 if kind is int else MIN_POSITIVE
            check_number(name, value, smallest, max_number, integer=kind is int)
            value = kind(value)  # of a whole number or one of NumPy's
        object.__setattr__(config, name, value)


def _parse_text(name: str, text: str, kind: Any) -> Any:
    """Return the number, truth value or member that a text spells; another text as it is.

    A UserError where a member of an enumeration is wanted and there is none of this name.
    """
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return text
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        if text not in list(kind):
            raise unknown_name_error(name, text, [member.value for member in kind])
        return kind(text)
    return text


# --- numbers --------------------------------------------------------------------------------


def check_number(
    name: str,
    value: Any,
    minimum: float = -MAX_NUMBER,
    maximum: float = MAX_NUMBER,
    *,
    integer: bool = False,
) -> None:
    """Raise unless a value is a number from `minimum` to `maximum`, without fraction if `integer`.

    NumPy's numbers pass too; True and False do not.
    """
    kind = numbers.Integral if integer else numbers.Real
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if is_number and minimum <= value <= maximum:
        return
    number = "a whole number" if integer else "a number"
    if minimum <= -MAX_NUMBER:
        wanted = f"a finite number, {MAX_NUMBER:g} at most"
    elif minimum == MIN_POSITIVE:
        wanted = f"{number} above 0" + (f", {maximum:,} at most" if maximum < MAX_NUMBER else "")
    elif maximum < MAX_NUMBER:
        wanted = f"{number} from {minimum:,} to {maximum:,}"
    else:
        wanted = f"{number} of {minimum:,} or more"
    raise UserError(f"{name} is {short_repr(value)}: give {wanted}")


def check_sizes(max_size: int, min_size: int = 1, **sizes: Any) -> None:
    """Raise unless each of the named sizes is a whole number from `min_size` to `max_size`."""
    for name, size in sizes.items():
        check_number(name, size, min_size, max_size, integer=True)


def check_has_items(name: str, values: Any) -> None:
    """Raise if a list, a dictionary or anything else with a length holds nothing."""
    require(len(values) > 0, f"{name} is empty: give one or more")


def check_num_elements(**sizes: int) -> None:
    """Raise if a tensor of these sizes has more numbers than one may have."""
    num_elements = math.prod(sizes.values())
    if num_elements > MAX_NUM_ELEMENTS:
        described = " x ".join(f"{name} {size:,}" for name, size in sizes.items())
        gigabytes = f"{4e-9 * num_elements:,.0f} GB in float32"
        raise UserError(f"{described} are {num_elements:,} numbers, {gigabytes}: give smaller ones")


def check_numbers(name: str, values: Any, min_count: int = 1) -> None:
    """Raise unless `values` is a list of at least `min_count` finite numbers."""
    check_type(name, values, Sequence[float])
    require(
        len(values) >= min_count, f"{name}: give {min_count} or more numbers, not {len(values)}"
    )
    for value in values:
        check_number(f"one of {name}", value)


def check_token_ids(ids: Any, vocab_size: int) -> list[int]:
    """Return token ids as a list of ints; raise unless the vocabulary has each of them."""
    try:
        # Bytes and the keys of a dictionary are numbers too, but nobody's ids.
        if isinstance(ids, bytes | bytearray | Mapping):
            raise TypeError
        token_ids = [operator.index(token_id) for token_id in ids]
    except TypeError as error:
        raise UserError(f"ids are {describe_value(ids)}: give a list of token ids") from error
    for token_id in token_ids:
        if not 0 <= token_id < vocab_size:
            message = f"no id {short_repr(token_id)} in the vocabulary"
            raise UserError(f"{message}: give 0 to {vocab_size - 1}")
    return token_ids


# --- text -----------------------------------------------------------------------------------


def check_no_lone_surrogate(text: str) -> None:
    """Raise if a text holds a lone surrogate, which no library can read."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = "a text holds half a letter (a lone surrogate): mend it"
        raise UserError(message) from error


# --- tensors --------------------------------------------------------------------------------


def check_id_tensor(name: str, ids: Any) -> None:
    """Raise unless a tensor holds ids (batch, length); the embedding looks for unknown ones."""
    if str(getattr(ids, "dtype", "")) not in ("torch.int64", "torch.int32") or ids.dim() != 2:
        raise UserError(
            f"{name} is {describe_value(ids)}: give token ids, int64 of (batch, length)"
        )


def check_not_empty(name: str, tensor: Any) -> None:
    """Raise if a tensor holds nothing."""
    if tensor.numel() == 0:
        raise UserError(f"{name} is empty, {tuple(tensor.shape)}: give one token or more")


def check_src_and_tgt(src: Any, tgt_in: Any) -> None:
    """Raise unless both tensors hold ids, of as many sources as targets."""
    check_id_tensor("src", src)
    check_id_tensor("tgt_in", tgt_in)
    check_same_batch_size("src", src, "tgt_in", tgt_in)


def check_same_batch_size(name: str, tensor: Any, other_name: str, other: Any) -> None:
    """Raise unless two tensors have as many sentences: one would be broadcast to the other."""
    size, other_size = tensor.shape[0], other.shape[0]
    if size != other_size:
        counts = f"{name} has {size} sentences and {other_name} {other_size}"
        raise UserError(f"{counts}: give as many")


def check_float_tensor(name: str, tensor: Any, shape: tuple[Any, ...], like: Any = None) -> None:
    """Raise unless a tensor has floats, this shape, and the type of `like`.

    None in the shape is any size, and `...` at its beginning any number of further axes. Under
    autocast every type of float passes.
    """
    import torch

    if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
        same_type = like is None or tensor.dtype == like.dtype
        if not same_type:
            same_type = torch.is_autocast_enabled(tensor.device.type)
        if same_type and _has_shape(tensor, shape):
            return
    kind = "float" if like is None else str(like.dtype).removeprefix("torch.")
    axes = ", ".join({None: "any", ...: "..."}.get(size, str(size)) for size in shape)
    raise UserError(f"{name} is {describe_value(tensor)}: give a {kind} tensor of shape ({axes})")


def _has_shape(tensor: Any, shape: tuple[Any, ...]) -> bool:
    sizes = tuple(tensor.shape)
    if shape[0] is ...:
        shape = shape[1:]
        sizes = sizes[-len(shape) :]
    if len(sizes) != len(shape):
        return False
    return all(wanted in (size, None) for size, wanted in zip(sizes, shape, strict=True))


def check_hidden_states(
    name: str, hidden: Any, width: int, weight: Any, axes: int | None = None
) -> None:
    """Raise unless hidden states have this width, and the type of the weight that they meet.

    Under autocast they may have another type of float, and without a weight any. Every step calls
    this, so that the usual case is decided first and without an import.
    """
    try:
        same_type = weight is not None and hidden.dtype == weight.dtype
        if same_type and hidden.shape[-1] == width and axes in (None, hidden.dim()):
            return
    except (AttributeError, TypeError, IndexError):
        pass  # It is no tensor: the error below says so.
    shape = (..., width) if axes is None else (None,) * (axes - 1) + (width,)
    check_float_tensor(name, hidden, shape, weight)


def check_mask(mask: Any, shape: tuple[int, ...]) -> None:
    """Raise unless a mask is boolean and broadcasts to the shape of the attention scores."""
    if str(getattr(mask, "dtype", "")) != "torch.bool":
        raise UserError(f"mask is {describe_value(mask)}: give a boolean one, True = may attend")
    fits = len(mask.shape) <= len(shape)
    for mask_size, size in zip(reversed(mask.shape), reversed(shape), strict=False):
        fits = fits and mask_size in (1, size)
    if not fits:
        raise UserError(
            f"mask is {describe_value(mask)}: give one that broadcasts to {tuple(shape)}"
        )
