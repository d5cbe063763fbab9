"""An exercise of lesson 10: what a decoder sees that it must not, or does not that it must."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import BLIND_SPOTS, Decoder

words = read_words("10")


def my_sight(decode: Any, src: Tensor, tgt_in: Tensor) -> str:
    """Name what is wrong with what a decoder sees, or "none"."""
    logits = decode(src, tgt_in)
    for place in range(1, len(tgt_in)):
        changed = tgt_in.clone()
        changed[place] = 9 - changed[place]  # another token, and no padding
        before = decode(src, changed)[:place]
        if not torch.allclose(before, logits[:place]):
            return "sees the future"
    wider = F.pad(src, (0, 1))
    if not torch.allclose(decode(wider, tgt_in), logits):
        return "sees padding"
    if torch.allclose(decode(9 - src, tgt_in), logits):
        return "deaf to the source"
    return "none"


def _seen(
    decode: Decoder,
    src: Tensor,
    tgt_in: Tensor,
    *,
    places: Callable[[int], range] = lambda length: range(1, length),
    margin: int = 0,
) -> str:
    """Look with one part done otherwise."""
    logits = decode(src, tgt_in)
    for place in places(len(tgt_in)):
        changed = tgt_in.clone()
        changed[place] = 9 - changed[place]
        end = place + margin
        if not torch.allclose(decode(src, changed)[:end], logits[:end]):
            return "sees the future"
    if not torch.allclose(decode(F.pad(src, (0, 1)), tgt_in), logits):
        return "sees padding"
    return "deaf to the source" if torch.allclose(decode(9 - src, tgt_in), logits) else "none"


def last_place_only(decode: Decoder, src: Tensor, tgt_in: Tensor) -> str:
    """Ask only whether the first position sees the last."""
    logits, changed = decode(src, tgt_in), tgt_in.clone()
    changed[-1] = 9 - changed[-1]
    sees = not torch.allclose(decode(src, changed)[0], logits[0])
    return "sees the future" if sees and len(tgt_in) > 1 else _seen(decode, src, tgt_in[:1])


def own_place_too(decode: Decoder, src: Tensor, tgt_in: Tensor) -> str:
    """Forbid a position to see itself."""
    return _seen(decode, src, tgt_in, margin=1)


def any_change_is_a_leak(decode: Decoder, src: Tensor, tgt_in: Tensor) -> str:
    """Compare all positions, those after the change too."""
    return _seen(decode, src, tgt_in, places=lambda length: range(length), margin=len(tgt_in))


def never_looks_ahead(decode: Decoder, src: Tensor, tgt_in: Tensor) -> str:
    """Change nothing in the target."""
    return _seen(decode, src, tgt_in, places=lambda length: range(0))


def never_pads(decode: Decoder, src: Tensor, tgt_in: Tensor) -> str:
    """Do not ask about padding."""
    found = my_sight(decode, src, tgt_in)
    return "none" if found == "sees padding" else found


def never_asks_the_source(decode: Decoder, src: Tensor, tgt_in: Tensor) -> str:
    """Forget that a decoder may be deaf."""
    found = my_sight(decode, src, tgt_in)
    return "none" if found == "deaf to the source" else found


def hears_is_a_fault(decode: Decoder, src: Tensor, tgt_in: Tensor) -> str:
    """Take a decoder that follows the source for the deaf one."""
    found = my_sight(decode, src, tgt_in)
    exchanged = {"none": "deaf to the source", "deaf to the source": "none"}
    return exchanged.get(found, found)


def _pairs() -> list[tuple[Tensor, ...]]:
    """Sources and targets of one token and more, none of them padding."""
    generator = torch.Generator().manual_seed(0)
    lengths = ((1, 2), (2, 2), (3, 1), (2, 3), (5, 7))
    pairs = [
        tuple(torch.randint(1, 9, (length,), generator=generator) for length in pair)
        for pair in lengths
    ]
    return [*pairs, (torch.tensor([4]), torch.tensor([8, 1]))]


sight = Exercise(
    my_sight,
    words,
    worked=[
        ((Decoder("none", 0), torch.tensor([5]), torch.tensor([2, 4])), "none"),
        (
            (Decoder("deaf to the source", 0), torch.tensor([5]), torch.tensor([2])),
            "deaf to the source",
        ),
    ],
    cases=[
        (Decoder(spot, seed), src, tgt_in)
        for spot in BLIND_SPOTS
        for seed in range(2)
        for src, tgt_in in _pairs()
        if spot != "sees the future" or len(tgt_in) > 1
    ],
    expected=lambda decode, src, tgt_in: decode.spot,
    wrong={
        "last_place_only": last_place_only,
        "own_place_too": own_place_too,
        "any_change_is_a_leak": any_change_is_a_leak,
        "never_looks_ahead": never_looks_ahead,
        "never_pads": never_pads,
        "never_asks_the_source": never_asks_the_source,
        "hears_is_a_fault": hears_is_a_fault,
    },
    properties={
        "the answer is one of the four": lambda value, *_: value in BLIND_SPOTS,
    },
)
