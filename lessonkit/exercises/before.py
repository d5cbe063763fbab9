"""The gaps and exercises of lesson 14, in its order. `DecoderWithFault` is its toy.

A step of an LSTM, additive attention, how far dilated convolutions reach, and what a decoder sees
that it must not or does not that it must.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn, tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import make_normal_sampler, seeded_generator
from lessonkit.exercises.toy_models import MAX_SENTENCE_LENGTH
from lessonkit.exercises.toys import BaseToy
from lessonkit.exercises.without_torch.before import lesson_wording
from lessonkit.exercises.without_torch.before import num_dilated_layers as num_dilated_layers
from transformer.config import PAD_ID

DECODER_FAULT_NAMES = ("none", "sees the future", "sees padding", "deaf to the source")
earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
digits_right_with_one_state = lesson_wording.prediction("digits_right_with_one_state")
recurrent_time_ratio = lesson_wording.prediction("recurrent_time_ratio")
bleu_with_all_four_faults = lesson_wording.prediction("bleu_with_all_four_faults")


@dataclass(repr=False)
class DecoderWithFault(BaseToy):
    """A toy decoder that may see too much, or too little.

    Each position sums up what has been written, by age, and adds the sum of the source, whose
    words count by their place. Its numbers are few binary digits long, so that no sum is rounded:
    a prefix has its own logits to the last digit, on every machine.
    """

    spot: str
    seed: int

    def __post_init__(self) -> None:
        generator = seeded_generator(self.seed)
        self._tokens = torch.randint(-50, 51, (9, 4), generator=generator) / 32
        self._by_age = torch.randint(4, 13, (MAX_SENTENCE_LENGTH,), generator=generator) / 8
        self._by_place = torch.randint(4, 13, (MAX_SENTENCE_LENGTH,), generator=generator) / 8

    def __call__(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Ids (src_len,) and (tgt_len,), 0 to 8 and 0 for padding -> logits (tgt_len, 9)."""
        place = torch.arange(len(tgt_in))
        age = place[:, None] - place
        oldest = -1 if self.spot == "sees the future" else 0  # it sees one token ahead
        weights = self._by_age[age.abs()] * (age >= oldest)
        real = torch.ones(len(src)) if self.spot == "sees padding" else (src != PAD_ID).float()
        source = (real * self._by_place[: len(src)]) @ self._tokens[src]
        heard = 0.0 if self.spot == "deaf to the source" else 1.0
        return (weights @ self._tokens[tgt_in] + heard * source) @ self._tokens.T


def my_lstm_step(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Return the hidden state and the cell after one step."""
    enters, stays, new, leaves = gates.chunk(4, dim=-1)
    kept = stays.sigmoid() * cell
    cell = kept + enters.sigmoid() * new.tanh()
    return [leaves.sigmoid() * cell.tanh(), cell]


def _lstm_step_by_pytorch(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """An LSTM cell of PyTorch that takes the gates' values as its input, unchanged."""
    size = cell.shape[1]
    made = nn.utils.skip_init(nn.LSTMCell, 4 * size, size, bias=False)  # leaves chance alone
    with torch.no_grad():
        made.weight_ih.copy_(torch.eye(4 * size))
        made.weight_hh.zero_()
        return list(made(gates, (torch.zeros_like(cell), cell)))


_draw_normal = make_normal_sampler(3)
lstm_step = Exercise(
    my_lstm_step,
    lesson_wording,
    worked=[
        ((torch.zeros(1, 4), tensor([[0.0]])), [tensor([[0.0]])] * 2),
        (
            (torch.zeros(1, 4), tensor([[2.0]])),
            [tensor([[0.380797]]), tensor([[1.0]])],  # 1/2 tanh(1), 1/2 of 2
        ),
    ],
    cases=[
        (
            (2 * _draw_normal(batch, 4 * size)).round(decimals=1),
            _draw_normal(batch, size).round(decimals=1),
        )
        for batch, size in ((1, 1), (1, 1), (1, 2), (2, 1), (2, 3), (4, 5))
    ],
    expected=_lstm_step_by_pytorch,
)


def my_additive_weights(
    state: Tensor, memory: Tensor, w_state: Tensor, w_memory: Tensor, v: Tensor
) -> Tensor:
    """Return the weights of additive attention, (batch, src_len)."""
    query = (state @ w_state)[:, None]  # beside every place
    scores = (query + memory @ w_memory).tanh() @ v
    return scores.softmax(dim=1)


def _additive_weights_pair_by_pair(
    state: Tensor, memory: Tensor, w_state: Tensor, w_memory: Tensor, v: Tensor
) -> Tensor:
    """Write state and vector side by side, as one input of a layer with one matrix."""
    matrix = torch.cat((w_state, w_memory))
    rows = []
    for one, vectors in zip(state, memory, strict=True):
        powers = [(torch.cat((one, vector)) @ matrix).tanh().dot(v).exp() for vector in vectors]
        rows.append(torch.stack(powers) / sum(powers))
    return torch.stack(rows)


def _additive_weights_cases() -> list[tuple[Tensor, ...]]:
    draw = make_normal_sampler(5)
    shapes = ((1, 2, 1, 1, 1), (1, 3, 2, 1, 1), (2, 1, 1, 2, 2), (2, 2, 1, 1, 2), (2, 3, 3, 2, 4))
    return [
        tuple(
            each.round(decimals=1)
            for each in (
                draw(batch, size),
                draw(batch, src_len, width),
                draw(size, inner),
                2 * draw(width, inner),
                2 * draw(inner),
            )
        )
        for batch, src_len, size, width, inner in shapes
    ]


_ONE_BY_ONE_MATRIX = tensor([[1.0]])
additive_weights = Exercise(
    my_additive_weights,
    lesson_wording,
    worked=[
        # Two places alike; then tanh(1) and tanh(0), whose powers are 2.142 and 1.
        (
            (
                _ONE_BY_ONE_MATRIX,
                tensor([[[3.0], [3.0]]]),
                _ONE_BY_ONE_MATRIX,
                _ONE_BY_ONE_MATRIX,
                _ONE_BY_ONE_MATRIX[0],
            ),
            tensor([[0.5, 0.5]]),
        ),
        (
            (
                _ONE_BY_ONE_MATRIX,
                tensor([[[0.0], [-1.0]]]),
                _ONE_BY_ONE_MATRIX,
                _ONE_BY_ONE_MATRIX,
                _ONE_BY_ONE_MATRIX[0],
            ),
            tensor([[0.681700, 0.318300]]),
        ),
    ],
    cases=_additive_weights_cases(),
    expected=_additive_weights_pair_by_pair,
)


def my_decoder_fault(decode: Any, src: Tensor, tgt_in: Tensor) -> str:
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


def _decoder_fault_case_token_ids() -> list[tuple[Tensor, ...]]:
    """Sources and targets of one token and more, none of them padding."""
    generator = seeded_generator(0)
    lengths = ((1, 2), (2, 2), (3, 1), (2, 3), (5, 7))
    pairs = [
        tuple(torch.randint(1, 9, (n,), generator=generator) for n in pair) for pair in lengths
    ]
    return [*pairs, (tensor([4]), tensor([8, 1]))]


decoder_fault = Exercise(
    my_decoder_fault,
    lesson_wording,
    worked=[
        ((DecoderWithFault("none", 0), tensor([5]), tensor([2, 4])), "none"),
        (
            (DecoderWithFault("deaf to the source", 0), tensor([5]), tensor([2])),
            "deaf to the source",
        ),
    ],
    cases=[
        (DecoderWithFault(spot, seed), src, tgt_in)
        for spot in DECODER_FAULT_NAMES
        for seed in range(2)
        for src, tgt_in in _decoder_fault_case_token_ids()
        if spot != "sees the future" or len(tgt_in) > 1
    ],
    expected=lambda decode, src, tgt_in: decode.spot,
    properties={"the answer is one of the four": lambda value, *_: value in DECODER_FAULT_NAMES},
)
