"""The gaps and exercises of lesson 01: a merge, padding with a shift, a vocabulary, batches."""

import itertools

import torch
from torch import Tensor, tensor
from torch.nn.utils.rnn import pad_sequence

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.without_torch.text import IntegerRows, lesson_wording
from lessonkit.exercises.without_torch.text import frequent_types as frequent_types
from lessonkit.exercises.without_torch.text import most_frequent_pair as most_frequent_pair
from lessonkit.exercises.without_torch.text import token_batches as token_batches
from transformer.config import BOS_ID, EOS_ID, UNK_ID

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
first_merge = lesson_wording.prediction("first_merge")
unknown_german_share = lesson_wording.prediction("unknown_german_share")
padding_share_when_shuffled = lesson_wording.prediction("padding_share_when_shuffled")
TensorPair = tuple[Tensor, Tensor]


def my_pad_and_shift(sentences: IntegerRows) -> TensorPair:
    """Return what the decoder reads and what it is to write, padded."""
    pad_id, bos_id, eos_id = 0, 2, 3
    longest = max(len(ids) for ids in sentences) + 1
    tgt_in, tgt_out = [], []
    for ids in sentences:
        padding = [pad_id] * (longest - len(ids) - 1)
        tgt_in.append([bos_id, *ids, *padding])
        tgt_out.append([*ids, eos_id, *padding])
    return torch.tensor(tgt_in), torch.tensor(tgt_out)


def _pad_and_shift_cases() -> list[tuple[IntegerRows]]:
    ids = iter(itertools.cycle(range(5, 60)))
    cases = []
    for number in (1, 2, 3):
        for lengths in itertools.product((1, 2, 3), repeat=number):
            cases.append(([[next(ids) for _ in range(length)] for length in lengths],))
    again = [[7, 7]], [[UNK_ID, 6], [8]], [[9, 8, 9], [9]]  # a word twice, a word unknown
    return [*cases, *((sentences,) for sentences in again)]


pad_and_shift = Exercise(
    my_pad_and_shift,
    lesson_wording,
    worked=[
        (([[5]],), (tensor([[2, 5]]), tensor([[5, 3]]))),
        (([[5, 6], [7]],), (tensor([[2, 5, 6], [2, 7, 0]]), tensor([[5, 6, 3], [7, 3, 0]]))),
    ],
    cases=_pad_and_shift_cases(),
    expected=lambda sentences: tuple(
        pad_sequence([tensor([*start, *ids, *end]) for ids in sentences], batch_first=True)
        for start, end in (([BOS_ID], []), ([], [EOS_ID]))
    ),
)
