"""The exercises of lesson 10, in its order. `Decoder` is its toy.

A step of an LSTM, the state after the last real token, what a decoder sees that it must not or
does not that it must, and how far a stack of dilated convolutions reaches.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import BLIND_SPOTS, Decoder

words = read_words("10")
globals().update(asked(words))  # recall and the predictions


def my_lstm_step(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Give the hidden state and the cell after one step."""
    enters, stays, new, leaves = gates.chunk(4)
    kept = stays.sigmoid() * cell
    cell = kept + enters.sigmoid() * new.tanh()
    return [leaves.sigmoid() * cell.tanh(), cell]


def _by_torch(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """An LSTM cell of PyTorch that takes the gates' values as its input, unchanged."""
    size = len(cell)
    made = nn.utils.skip_init(nn.LSTMCell, 4 * size, size, bias=False)  # leaves chance alone
    with torch.no_grad():
        made.weight_ih.copy_(torch.eye(4 * size))
        made.weight_hh.zero_()
        return list(made(gates, (torch.zeros(size), cell)))


def _steps() -> list[tuple[Tensor, Tensor]]:
    chance = torch.Generator().manual_seed(3)
    return [
        (
            (2 * torch.randn(4 * size, generator=chance)).round(decimals=1),
            torch.randn(size, generator=chance).round(decimals=1),
        )
        for size in (1, 1, 1, 2, 2, 3, 5)
    ]


lstm_step = Exercise(
    my_lstm_step,
    words,
    worked=[
        ((torch.zeros(4), torch.tensor([0.0])), [torch.tensor([0.0]), torch.tensor([0.0])]),
        (
            (torch.zeros(4), torch.tensor([2.0])),
            [torch.tensor([0.380797]), torch.tensor([1.0])],  # 1/2 tanh(1), 1/2 of 2
        ),
    ],
    cases=_steps(),
    expected=_by_torch,
    wrong={
        "output_third": ("new, leaves", "leaves, new"),
        "stay_first": ("enters, stays", "stays, enters"),
        "not_squashed": ("cell.tanh()", "cell"),
        "nothing_stays": ("kept + ", ""),
        "swapped_results": (
            "[leaves.sigmoid() * cell.tanh(), cell]",
            "[cell, leaves.sigmoid() * cell.tanh()]",
        ),
    },
)


def my_last_state(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Give each sentence's state after its last real token, (batch, size)."""
    rows = torch.arange(len(outputs))
    return outputs[rows, lengths - 1]


def _row_by_row(outputs: Tensor, lengths: Tensor) -> Tensor:
    real = [row[: int(length)] for row, length in zip(outputs, lengths, strict=True)]
    return torch.stack([states[-1] for states in real])


def _padded() -> list[tuple[Tensor, Tensor]]:
    chance = torch.Generator().manual_seed(4)
    all_lengths = ([1, 2], [2, 1], [3, 1], [2, 3], [3, 2, 1], [1, 4, 2])
    sizes = [(lengths, size) for size in (1, 2, 3) for lengths in all_lengths] + [([2], 2)]
    return [
        (
            torch.randn(len(lengths), max(lengths), size, generator=chance).round(decimals=1),
            torch.tensor(lengths),
        )
        for lengths, size in sizes
    ]


last_state = Exercise(
    my_last_state,
    words,
    worked=[
        (
            (torch.tensor([[[1.0], [2.0]], [[3.0], [9.0]]]), torch.tensor([2, 1])),
            torch.tensor([[2.0], [3.0]]),
        ),
    ],
    cases=_padded(),
    expected=_row_by_row,
    wrong={
        "after_padding": ("lengths - 1", "-1"),
        "one_too_far": ("lengths - 1", "lengths.clamp(max=outputs.shape[1] - 1)"),
        "of_the_longest": ("lengths - 1", "lengths.min() - 1"),
        "every_length": ("[rows, ", "[:, "),
        "the_mean": (
            "outputs[rows, lengths - 1]",
            "torch.stack([outputs[row, : lengths[row]].mean(0) for row in rows])",
        ),
    },
)


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


def _pairs() -> list[tuple[Tensor, ...]]:
    """Sources and targets of one token and more, none of them padding."""
    chance = torch.Generator().manual_seed(0)
    lengths = ((1, 2), (2, 2), (3, 1), (2, 3), (5, 7))
    pairs = [tuple(torch.randint(1, 9, (n,), generator=chance) for n in pair) for pair in lengths]
    return [*pairs, (torch.tensor([4]), torch.tensor([8, 1]))]


_PLACES, _THERE, _HERE = "range(1, len(tgt_in))", "changed)[:place]", "logits[:place]"

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
        "last_place_only": (
            *(_PLACES, "range(1, len(tgt_in))[-1:]"),
            *(_THERE, "changed)[:1]", _HERE, "logits[:1]"),
        ),
        "own_place_too": (_THERE, "changed)[: place + 1]", _HERE, "logits[: place + 1]"),
        "any_change_is_a_leak": (
            _PLACES,
            "range(len(tgt_in))",
            _THERE,
            "changed)",
            _HERE,
            "logits",
        ),
        "never_looks_ahead": (_PLACES, "range(0)"),
        "never_pads": ("sees padding", "none"),
        "never_asks_the_source": ("deaf to the source", "none"),
        "hears_is_a_fault": ("if torch.allclose", "if not torch.allclose"),
    },
    properties={"the answer is one of the four": lambda value, *_: value in BLIND_SPOTS},
)


def my_reach(n: int, kernel: int) -> int:
    """Count the dilated layers until the last place has seen the first."""
    layers, seen = 1, kernel
    while seen < n:
        layers, seen = layers + 1, seen * kernel
    return layers


def _by_sums(n: int, kernel: int) -> int:
    """Add up how far back each layer looks: kernel - 1 steps of its dilation."""
    back, layers = 0, 0
    while back < n - 1 or layers == 0:
        back += (kernel - 1) * kernel**layers
        layers += 1
    return layers


reach = Exercise(
    my_reach,
    words,
    worked=[((9, 3), 2), ((10, 3), 3), ((2, 3), 1)],
    cases=[(n, k) for n in (1, 2, 3, 4, 5, 8, 9, 26, 27, 28, 125, 243, 1000) for k in (2, 3, 4, 5)]
    + [(244, 3), (512, 8)],  # logarithms to the bases e, 2 and 10 round elsewhere
    expected=_by_sums,
    wrong={
        "not_dilated": ("seen * kernel", "seen + kernel - 1"),
        "rounded_down": ("seen < n", "seen * kernel <= n"),
        "one_more": ("return layers", "return layers + 1"),
        "logarithm_rounded_up": lambda n, kernel: max(1, math.ceil(math.log(n, kernel))),
        "none_for_one": ("1, kernel", "0, 1"),
        "natural_logarithm": lambda n, kernel: max(1, math.ceil(math.log(n))),
    },
)
