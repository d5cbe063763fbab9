"""How somebody's module is called: order, masks, and where its logits are (not in the paper)."""

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from attention_laws.errors import said
from attention_laws.masks import STYLES, Role, Style, made, roles
from attention_laws.untouched import hooked

SRC = re.compile(r"src|source|enc|input|question")
TGT = re.compile(r"tgt|trg|targ|dec|prev|out|answer")
MASK = re.compile(r"^(?!(.*_)?head).*mask")  # but for those that leave heads out
BATCH, SRC_LEN, TGT_LEN = 2, 5, 4  # of the first call: a shape tells its axes, cut by one too


class UnfitError(ValueError):
    """What a call gave holds no logits."""


@dataclass(frozen=True)
class Signature:
    """Parameters of a module's `forward`, by what they are for."""

    src: str = ""  # names of the ids; empty where they are given by position
    tgt: str = ""
    masks: tuple[tuple[str, Role], ...] = ()  # masks by name, and what each is of
    others: tuple[str, ...] = ()  # lengths, positions and the like
    optional: bool = True  # whether every mask may be left out
    pair: bool = False  # whether both are one argument


def signature(module: nn.Module) -> Signature:
    """Read what a module's `forward` takes."""
    try:
        given = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):
        return Signature()
    plain = [each for each in given if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    if len(plain) < len(given) and len(plain) < 2:  # *args: as in papers' code
        return Signature(masks=(("", Role("src", False)), ("", Role("tgt", False))))
    named = [each for each in plain if MASK.search(each.name.lower())]
    if len(named) > 1:  # of scores, beside one of padding
        named = [each for each in named if each.name != "attn_mask" or each.default is each.empty]
    unmasked = [each for each in plain if "mask" not in each.name.lower()]
    asks = "teacher", "teacher|len|pos"  # of what has a default, and of what has none
    others = [x.name for x in unmasked if re.search(asks[x.default is x.empty], x.name.lower())]
    names = [each.name for each in unmasked if each.name not in others]
    if len(names) == 1 and not named:
        return Signature(src=names[0], pair=True)
    found = [each for each in names if TGT.search(each.lower()) and not SRC.match(each.lower())]
    tgt = found[0] if found else (names[1] if len(names) > 1 else "")
    rest = [each for each in names if each != tgt]
    src = next((each for each in rest if SRC.search(each.lower())), rest[0] if rest else "")
    masks = [each.name for each in named]
    return Signature(
        src=src,
        tgt=tgt,
        masks=tuple(zip(masks, roles(masks), strict=True)),
        others=tuple(others),
        optional=all(each.default is not each.empty for each in named),
    )


@dataclass(frozen=True)
class Call:
    """One way to call a module."""

    module: nn.Module  # what is called
    signature: Signature  # its parameters
    batch_first: bool = True  # whether ids are (batch, length)
    style: Style | None = None  # how masks are written; None: none are given
    # Padding, of which masks are made
    src_pad: int | None = 0
    tgt_pad: int | None = 0
    path: tuple[Any, ...] = ()  # where in what it gives the logits are: keys, one after the other
    form: str = ""  # how these lie: see `FORMS`
    cuts: bool = False  # whether it cuts the last token of the target off itself
    shifts: bool = False  # whether it shifts the target by a place itself
    # name of a part of it that makes logits of what it gives, and is called by others
    head: str = ""
    inside: str = ""  # name of a part of it that gives logits, where it gives a loss itself

    def __call__(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Give logits (batch, tgt_len, vocab) of ids, batch first."""
        if self.cuts or self.shifts:
            tgt_in = torch.cat((tgt_in, tgt_in[:, -1:]), dim=1)
        found = self.raw(src, tgt_in)
        for key in self.path:
            held = isinstance(key, int) or isinstance(found, dict)
            found = found[key] if held else getattr(found, key)
        batch, length = tgt_in.shape[0], tgt_in.shape[1] - self.cuts
        given = FORMS[self.form][1](found, batch, length)[:, int(self.shifts) :]
        return self.module.get_submodule(self.head)(given) if self.head else given

    def with_head(self, src: Tensor, tgt_in: Tensor, types: int) -> "Call":
        """Give the call that ends in the part which makes logits of so many types, if one does.

        As in the Annotated Transformer, whose `forward` leaves its `generator` to the loss.
        """
        given = self(src, tgt_in)
        if given.shape[-1] == types:
            return self
        for name, part in self.module.named_modules():
            try:
                if part(given).shape == (*given.shape[:2], types):
                    return replace(self, head=name)
            except Exception:  # whatever a part of somebody's model raises
                continue
        return self

    def raw(self, src: Tensor, tgt_in: Tensor) -> Any:
        """Call the module, and give what it gives, or what a part of it gave last."""
        if not self.inside:
            return self._called(src, tgt_in)
        given: list[Any] = []
        part = self.module.get_submodule(self.inside)
        with hooked([part.register_forward_hook(lambda *each: given.append(each[2]))]):
            self._called(src, tgt_in)
        return given[-1]

    def _called(self, src: Tensor, tgt_in: Tensor) -> Any:
        ids = (src, tgt_in) if self.batch_first else (src.T, tgt_in.T)
        if self.signature.pair:
            return self.module(ids)
        named = self._masks(src, tgt_in)
        positional = [mask for name, mask in named if not name]
        options = {name: mask for name, mask in named if name}
        for name in self.signature.others:
            options[name] = self._other(name.lower(), src, tgt_in)
        if not self.signature.src or not self.signature.tgt:
            return self.module(*ids, *positional, **options)
        return self.module(**{self.signature.src: ids[0], self.signature.tgt: ids[1]}, **options)

    def _masks(self, src: Tensor, tgt_in: Tensor) -> list[tuple[str, Tensor]]:
        if self.style is None:
            return []
        pads = (src, self.src_pad), (tgt_in, self.tgt_pad)
        real = [ids == ids if pad is None else ids != pad for ids, pad in pads]
        masks = self.signature.masks
        beside = any(each.padding for _, each in masks)
        return [(name, made(self.style, each, real[0], real[1], beside)) for name, each in masks]

    def _other(self, low: str, src: Tensor, tgt_in: Tensor) -> Any:
        """Make lengths or positions of the side that a parameter's name says."""
        if "teacher" in low:
            return 1.0
        is_tgt = TGT.search(low) and not SRC.match(low)
        ids, pad = (tgt_in, self.tgt_pad) if is_tgt else (src, self.src_pad)
        if "len" in low:
            return (ids != (-1 if pad is None else pad)).sum(dim=1)
        places = torch.arange(ids.shape[1]).expand(ids.shape)
        return places if self.batch_first else places.T

    def found(self, src: Tensor, tgt_in: Tensor) -> "Call":
        """Call it once, and give the call that knows where the logits are.

        Raises:
            UnfitError: nothing that it gives has the shape of logits.
        """
        given = self.raw(src, tgt_in)
        shapes = []
        for path, tensor in _tensors(given):
            shapes.append(tuple(tensor.shape))
            for cuts in (False, True):
                form = _form(tensor, tgt_in.shape[0], tgt_in.shape[1] - cuts, self.batch_first)
                if form:
                    return replace(self, path=path, form=form, cuts=cuts)
        if shapes == [()] and not self.inside:
            return self._found_inside(src, tgt_in)
        what = f"tensors of the shapes {shapes}" if shapes else f"{type(given).__name__}, no tensor"
        raise UnfitError(f"it gives {what}")

    def _found_inside(self, src: Tensor, tgt_in: Tensor) -> "Call":
        """Give the call of a module that gives a loss: logits are what its last part gave."""
        order: list[str] = []
        with hooked(
            part.register_forward_hook(lambda *_, name=name: order.append(name))
            for name, part in self.module.named_modules()
        ):
            self._called(src, tgt_in)
        for name in filter(None, reversed(order)):
            with contextlib.suppress(UnfitError):
                return replace(self, inside=name).found(src, tgt_in)
        raise UnfitError("it gives a loss, and no part of it gives logits")

    @property
    def words(self) -> str:
        """Say it for a reader, in a few words."""
        order = "batch first" if self.batch_first else "length first"
        return f"{order}, masks {self.style}" if self.style else order

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Say what was found out, each with the flag that says otherwise."""
        names = ", ".join(name for name, _ in self.signature.masks if name) or "by position"
        written = "" if self.style is None else self.style.words
        said = {
            f"masks ({names}) are {written} (masks=, --masks {self.style})": self.style,
            f"logits are {'.'.join(map(str, self.path))} of what it gives": self.path,
            f"logits lie as {FORMS[self.form][0]}, and are turned": self.form != "batch",
            f"logits are its {self.head} of what it gives": self.head,
            f"it gives a loss, and logits are what its {self.inside} gives": self.inside,
            "it shifts the target itself, and is given one token more": self.shifts,
            "it cuts the target's last token off itself, and is given one more": self.cuts,
        }
        return tuple(each for each, holds in said.items() if holds)


# How logits may lie, and how they are turned: `f` is found, of `b` sentences of length `n`.
FORMS: dict[str, tuple[str, Callable[[Tensor, int, int], Tensor]]] = {
    "batch": ("(batch, tgt_len, vocab)", lambda f, b, n: f),
    "length": ("(tgt_len, batch, vocab)", lambda f, b, n: f.transpose(0, 1)),
    "classes": ("(batch, vocab, tgt_len)", lambda f, b, n: f.transpose(1, 2)),
    "flat": ("(batch * tgt_len, vocab)", lambda f, b, n: f.view(b, n, -1)),
    "flat_length": ("(tgt_len * batch, vocab)", lambda f, b, n: f.view(n, b, -1).transpose(0, 1)),
}


def _form(found: Tensor, batch: int, length: int, batch_first: bool) -> str:
    """Tell how logits lie; empty where they are none."""
    if found.dim() == 2 and found.shape[0] == batch * length:
        return "flat" if batch_first else "flat_length"
    for form in ("batch", "length", "classes"):
        if found.dim() == 3 and FORMS[form][1](found, batch, length).shape[:2] == (batch, length):
            return form
    return ""


def _tensors(given: Any) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
    """Give every tensor of floats in what a module gives, and the way to it; "logits" first."""
    if isinstance(given, Tensor):
        if given.is_floating_point():
            yield (), given
        return
    parts: list[tuple[Any, Any]] = []
    if hasattr(given, "logits"):
        parts.append(("logits", given.logits))
    if isinstance(given, dict):
        parts += sorted(given.items(), key=lambda part: part[0] != "logits")
    elif isinstance(given, tuple | list):
        parts += enumerate(given)
    for key, value in parts:
        yield from (((key, *way), each) for way, each in _tensors(value))


def ways(module: nn.Module, batch_first: bool | None, style: Style | None) -> Iterator[Call]:
    """Give every way to call a module that its parameters allow, the likeliest first."""
    taken = signature(module)
    orders = (True, False) if batch_first is None else (batch_first,)
    styles: list[Style | None] = [style] if style else list(STYLES)
    if taken.optional and not style:
        styles = [None, *styles]
    for each in styles if taken.masks else [None]:
        for order in orders:
            yield Call(module, taken, order, each)


def reason(error: Exception) -> str:
    """Give why a way to call a module failed, in a few words."""
    text = said(error)[:120]
    return text if isinstance(error, UnfitError) else f"{type(error).__name__}: {text}"
