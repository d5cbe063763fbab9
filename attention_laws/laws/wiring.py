"""What is joined to what, and what is one: maps, skips, layers, matrices (§3.1 to §3.4, §5.4)."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from attention_laws.law import Subject, law
from attention_laws.laws.parameters import listed
from attention_laws.report import Finding, broken, kept, not_tried, warned
from attention_laws.untouched import hooked
from attention_laws.watch import FUSED, WHOLE, Called, Watch

SRC_LEN, TGT_LEN = 7, 5
HALF = 0.5  # of dropout


def _pair(subject: Subject) -> tuple[Tensor, Tensor]:
    return subject.src(1, SRC_LEN), subject.tgt_in(1, TGT_LEN)


@law()
def feed_forward_is_nonlinear(subject: Subject) -> Finding:
    """Between the two maps of a feed-forward network there is something that bends.

    Means: the activation was left out, or its result is not used: two linear maps are one
    Look: at what stands between the two nn.Linear of the feed-forward network
    """
    maps = [call for call in subject.calls(*_pair(subject)) if call.name == "linear"]
    if not maps:
        return not_tried("no nn.Linear and no F.linear was called")
    readers = Counter(call.args[0].data_ptr() for call in maps)
    given = {call.out.data_ptr(): call for call in maps}
    for call in maps:
        first = given.get(call.args[0].data_ptr())
        if first is None or readers[first.out.data_ptr()] > 1 or first is call:
            continue
        widths = first.args[0].shape[-1], first.out.shape[-1], call.out.shape[-1]
        if widths[0] <= widths[1] >= widths[2]:
            maps_of = f"a linear map {widths[0]} -> {widths[1]} is followed by one to {widths[2]}"
            return broken(f"{maps_of}, with nothing between")
    return kept(f"of {len(maps)} maps none undoes the width of the one just before it")


@law()
def residual_paths_carry_the_input(subject: Subject) -> Finding:
    """With the inner maps of all layers zero, each place keeps what it read: its skip path.

    Means: a residual connection is missing, or adds something else than the layer's input
    Look: at each layer's `x + sublayer(x)`
    How: Zero what layers compute on one side; another token there must still change the logits.
    """
    src, tgt_in = _pair(subject)
    calls, seen = subject.calls(src, tgt_in), []
    for side, ids, place in (("encoder", src, 2), ("decoder", tgt_in, TGT_LEN - 1)):
        zeroed = _inner(calls, side, subject.adapter.tgt_vocab_size)
        if not zeroed:
            continue
        other = subject.changed(ids, place)
        changed = (other, tgt_in) if ids is src else (src, other)
        moved = (_zeroed(subject, zeroed, src, tgt_in) - _zeroed(subject, zeroed, *changed)).abs()
        if not float(moved[:, -1].max()) > 1e-6 * subject.scale:
            said = f"with {len(zeroed)} inner maps zero another token at position {place}"
            return broken(f"{said} changes nothing", **{side: ids[0]})
        seen.append(f"{len(zeroed)} of the {side}")
    if not seen:
        return not_tried("no attention and no linear maps after it were seen")
    return kept(f"with inner maps zero ({', '.join(seen)}) tokens still change the logits")


def _zeroed(subject: Subject, numbers: set[int], src: Tensor, tgt_in: Tensor) -> Tensor:
    """Give the logits where calls of these numbers give zeros."""
    with Watch(lambda number, out: out * 0 if number in numbers else out):
        return subject.logits(src, tgt_in)


def _inner(calls: list[Called], side: str, vocab_size: int) -> set[int]:
    """Give the numbers of a side's maps that stand in layers: after its first attention.

    After its last attention these are the output map and the two of the feed-forward network.
    """
    length = SRC_LEN if side == "encoder" else TGT_LEN
    starts = [i for i, call in enumerate(calls) if _reads(call, TGT_LEN)]
    number = starts[0] if side == "encoder" and starts else len(calls)
    found: list[int] = []
    since = None  # how many there were at the last attention
    for i, call in enumerate(calls[:number]):
        widest = call.name == "linear" and call.out.shape[-1] == vocab_size
        if widest or not _reads(call, length):
            continue
        if call.name in ("softmax", FUSED, WHOLE):
            since = len(found)
        if call.name == WHOLE or (call.name == "linear" and since is not None):
            found.append(i)
    return set(found[: (since or 0) + 3])


def _reads(call: Called, length: int) -> bool:
    """Tell whether a call computes for each place of a side of this length."""
    if call.name == "linear":
        return length in call.args[0].shape[:-1]
    if call.name == "softmax":
        return call.args[0].dim() > 2 and call.args[0].shape[-2] == length
    if call.name == FUSED:
        return call.args[0].shape[-2] == length
    return call.name == WHOLE and length in call.args[0].shape[:2]


@law("module")
def layers_do_not_share_weights(subject: Subject) -> Finding:
    """Each layer has weights of its own: no module is used in two places.

    Means: one object stands in several places (`[layer] * n`, one norm for all), where copies
    were meant; or it is so on purpose, as in ALBERT: then accept it
    Look: at where the module that is named is made, and how often
    """
    read: dict[nn.Module, list[Tensor]] = defaultdict(list)

    def note(part: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        first = inputs[0] if inputs else None
        if isinstance(first, Tensor) and first.is_floating_point() and first.dim() > 2:
            whole = {SRC_LEN, TGT_LEN} & set(first.shape[:-1])
            if whole and not any(torch.equal(first, each) for each in read[part]):
                read[part].append(first.clone())

    parts = {
        each: name
        for name, each in subject.module.named_modules()
        if list(each.parameters(recurse=False)) and not isinstance(each, nn.Embedding)
    }
    with hooked(each.register_forward_pre_hook(note) for each in parts):
        subject.logits(*_pair(subject))
    places: dict[tuple[int, str], list[str]] = defaultdict(list)
    for name, each in _parts(subject.module):
        if each in parts:  # under two names of one parent: [layer] * n
            places[id(each), name.rpartition(".")[0]].append(name)
    twice = [" = ".join(names[:3]) for names in places.values() if len(names) > 1]
    twice += [f"{parts[part]} ({len(each)} times)" for part, each in read.items() if len(each) > 1]
    if twice:
        return broken(f"in one pass {len(twice)} modules are used in several places: {twice[0]}")
    return kept(f"each of {len(read)} modules with parameters is used once in a pass")


@law("module", compares=False)
def dropout_rate_is_below_half(subject: Subject) -> Finding:
    """Dropout leaves more than half (§5.4: it drops 0.1).

    Means: the share to keep was given where the share to drop is asked for
    Look: at each nn.Dropout(p): p is what is dropped
    """
    kinds = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.MultiheadAttention)
    rates = {
        name or "it": float(getattr(each, "p", getattr(each, "dropout", 0.0)))
        for name, each in subject.module.named_modules()
        if isinstance(each, kinds)
    }
    if not rates:
        return not_tried("it has no nn.Dropout")
    name = max(rates, key=rates.__getitem__)
    if rates[name] >= HALF:
        return (broken if rates[name] > HALF else warned)(f"{name} drops {rates[name]:.0%}")
    return kept(f"{len(rates)} modules drop up to {rates[name]:.0%}")


@law("module", compares=False)
def declared_weights_are_tied(subject: Subject) -> Finding:
    """Matrices that are said to be one are one.

    Means: one was copied, or tied before it was made anew: they part as soon as they are trained
    Look: at where they are tied, and at what is assigned to them afterwards
    """
    module = subject.module
    if not subject.adapter.declared_tied:
        shared = ["=".join(names) for names in shared_names(module)]
        return not_tried(f"none are declared as one; found as one: {listed(shared) or 'none'}")
    for group in subject.adapter.declared_tied:
        weights = [module.get_parameter(name) for name in group]
        for name, weight in zip(group[1:], weights[1:], strict=True):
            if weight is not weights[0]:
                copied = weight.shape == weights[0].shape and torch.equal(weight, weights[0])
                how = "a copy, equal only now" if copied else "another matrix"
                return broken(f"{name} is to be {group[0]} and is {how}")
    return kept("; ".join(" = ".join(group) for group in subject.adapter.declared_tied))


def shared_names(module: nn.Module) -> list[list[str]]:
    """Give the names of each parameter that has more than one."""
    names: dict[int, list[str]] = defaultdict(list)
    for prefix, part in _parts(module):
        for name, weight in part.named_parameters(recurse=False, remove_duplicate=False):
            names[id(weight)].append(f"{prefix}.{name}".strip("."))
    return [each for each in names.values() if len(each) > 1]


def _parts(module: nn.Module, name: str = "", above: tuple[int, ...] = ()) -> Iterator[Any]:
    """Give each part by every name that leads to it, but for those that go in circles."""
    yield name, module
    for child, each in module._modules.items():
        if each is not None and id(each) not in (*above, id(module)):
            yield from _parts(each, f"{name}.{child}".strip("."), (*above, id(module)))
