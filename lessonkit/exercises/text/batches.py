"""Two exercises of lesson 01: padding with a shift, and batches of a token budget."""

import itertools

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID

words = read_words("01")

Rows = list[list[int]]
Pair = tuple[Tensor, Tensor]


def my_pad_and_shift(sentences: Rows) -> Pair:
    """Give what the decoder reads and what it shall say, padded."""
    pad_id, bos_id, eos_id = 0, 2, 3
    longest = max(len(ids) for ids in sentences) + 1
    tgt_in, tgt_out = [], []
    for ids in sentences:
        padding = [pad_id] * (longest - len(ids) - 1)
        tgt_in.append([bos_id, *ids, *padding])
        tgt_out.append([*ids, eos_id, *padding])
    return torch.tensor(tgt_in), torch.tensor(tgt_out)


def _whole(sentences: Rows) -> Tensor:
    """Pad the sentences with both marks."""
    longest = max(map(len, sentences))
    rows = [[BOS_ID, *ids, EOS_ID, *[PAD_ID] * (longest - len(ids))] for ids in sentences]
    return torch.tensor(rows)


def slices_one_tensor(sentences: Rows) -> Pair:
    """Pad first and cut the columns off, as torchtext's users do."""
    whole = _whole(sentences)
    return whole[:, :-1], whole[:, 1:]


def never_ends(sentences: Rows) -> Pair:
    """Write no eos, and cut both rows from what is left."""
    whole = torch.where(_whole(sentences) == EOS_ID, PAD_ID, _whole(sentences))[:, :-1]
    return whole[:, :-1], whole[:, 1:]


def whole_twice(sentences: Rows) -> Pair:
    """Give the whole sentence, with both marks, on both sides."""
    return _whole(sentences), _whole(sentences)


def does_not_shift(sentences: Rows) -> Pair:
    """Show the decoder the very token that it is to say."""
    _, tgt_out = my_pad_and_shift(sentences)
    return tgt_out, tgt_out


def pads_on_the_left(sentences: Rows) -> Pair:
    """Push the sentences to the right."""
    longest = max(map(len, sentences))
    padding = [[PAD_ID] * (longest - len(ids)) for ids in sentences]
    pairs = list(zip(padding, sentences, strict=True))
    return (
        torch.tensor([[*pad, BOS_ID, *ids] for pad, ids in pairs]),
        torch.tensor([[*pad, *ids, EOS_ID] for pad, ids in pairs]),
    )


def end_after_padding(sentences: Rows) -> Pair:
    """Put the eos at the end of the row instead of the sentence."""
    longest = max(map(len, sentences))
    tgt_in, _ = my_pad_and_shift(sentences)
    rows = [[*ids, *[PAD_ID] * (longest - len(ids)), EOS_ID] for ids in sentences]
    return tgt_in, torch.tensor(rows)


def swaps_the_two(sentences: Rows) -> Pair:
    """Give them in the wrong order."""
    tgt_in, tgt_out = my_pad_and_shift(sentences)
    return tgt_out, tgt_in


def _by_torch(sentences: Rows) -> Pair:
    """Let PyTorch pad."""
    sides = (
        [torch.tensor([BOS_ID, *ids]) for ids in sentences],
        [torch.tensor([*ids, EOS_ID]) for ids in sentences],
    )
    tgt_in, tgt_out = (pad_sequence(side, batch_first=True, padding_value=0) for side in sides)
    return tgt_in, tgt_out


def _sentences() -> list[tuple[Rows]]:
    """One to three sentences of one to three tokens, most of them different."""
    ids = iter(itertools.cycle(range(5, 60)))
    cases = []
    for number in (1, 2, 3):
        for lengths in itertools.product((1, 2, 3), repeat=number):
            cases.append(([[next(ids) for _ in range(length)] for length in lengths],))
    again = [[7, 7]], [[UNK_ID, 6], [8]], [[9, 8, 9], [9]]  # a word twice, a word unknown
    return [*cases, *((sentences,) for sentences in again)]


pad_and_shift = Exercise(
    my_pad_and_shift,
    words,
    worked=[
        (([[5]],), (torch.tensor([[2, 5]]), torch.tensor([[5, 3]]))),
        (
            ([[5, 6], [7]],),
            (torch.tensor([[2, 5, 6], [2, 7, 0]]), torch.tensor([[5, 6, 3], [7, 3, 0]])),
        ),
    ],
    cases=_sentences(),
    expected=_by_torch,
    wrong={
        "slices_one_tensor": slices_one_tensor,
        "never_ends": never_ends,
        "whole_twice": whole_twice,
        "does_not_shift": does_not_shift,
        "pads_on_the_left": pads_on_the_left,
        "end_after_padding": end_after_padding,
        "swaps_the_two": swaps_the_two,
    },
)


def my_token_batches(lengths: list[int], budget: int) -> Rows:
    """Cut sentences, shortest first, into batches that keep the budget."""
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches: list[list[int]] = [[]]
    for i in order:
        if (len(batches[-1]) + 1) * lengths[i] > budget:
            batches.append([])
        batches[-1].append(i)
    return batches


def counts_tokens_only(lengths: list[int], budget: int) -> Rows:
    """Add up the tokens, and forget that padding takes room too."""
    batches: Rows = [[]]
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if sum(lengths[j] for j in batches[-1]) + lengths[i] > budget:
            batches.append([])
        batches[-1].append(i)
    return batches


def does_not_sort(lengths: list[int], budget: int) -> Rows:
    """Take the sentences as they come."""
    batches: Rows = [[]]
    for i in range(len(lengths)):
        rows = [lengths[j] for j in (*batches[-1], i)]
        if len(rows) * max(rows) > budget:
            batches.append([])
        batches[-1].append(i)
    return batches


def stays_below_budget(lengths: list[int], budget: int) -> Rows:
    """Close a batch that would be exactly full."""
    batches: Rows = [[]]
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batches[-1] and (len(batches[-1]) + 1) * lengths[i] >= budget:
            batches.append([])
        batches[-1].append(i)
    return batches


def looks_too_late(lengths: list[int], budget: int) -> Rows:
    """Close a batch after it has become too large."""
    batches: Rows = [[]]
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batches[-1] and len(batches[-1]) * max(lengths[j] for j in batches[-1]) > budget:
            batches.append([])
        batches[-1].append(i)
    return batches


def loses_the_last(lengths: list[int], budget: int) -> Rows:
    """Hand over only the batches that were closed."""
    return my_token_batches(lengths, budget)[:-1]


def gives_lengths(lengths: list[int], budget: int) -> Rows:
    """Give the lengths where the positions of the sentences are wanted."""
    return [[lengths[i] for i in batch] for batch in my_token_batches(lengths, budget)]


def _by_largest_first_piece(lengths: list[int], budget: int) -> Rows:
    """Cut off the longest beginning that fits, again and again."""
    rest = sorted((length, i) for i, length in enumerate(lengths))
    batches = []
    while rest:
        fitting = [n for n in range(1, len(rest) + 1) if n * rest[n - 1][0] <= budget]
        batches.append([i for _, i in rest[: max(fitting)]])
        rest = rest[max(fitting) :]
    return batches


def _lengths_and_budgets() -> list[tuple[list[int], int]]:
    cases = [
        (list(lengths), budget)
        for number in (1, 2, 3, 4)
        for lengths in itertools.product((1, 2, 3), repeat=number)
        for budget in (3, 4, 6)
    ]
    return [*cases[::3], ([2, 2, 2, 2], 4), ([3, 1, 1, 3, 1], 6)]  # two batches of several


token_batches = Exercise(
    my_token_batches,
    words,
    worked=[
        (([2, 2], 4), [[0, 1]]),
        (([3, 1], 3), [[1], [0]]),
        (([4, 1, 2, 1], 4), [[1, 3], [2], [0]]),
    ],
    cases=_lengths_and_budgets(),
    expected=_by_largest_first_piece,
    wrong={
        "counts_tokens_only": counts_tokens_only,
        "does_not_sort": does_not_sort,
        "stays_below_budget": stays_below_budget,
        "looks_too_late": looks_too_late,
        "loses_the_last": loses_the_last,
        "gives_lengths": gives_lengths,
    },
    properties={
        "every sentence stands in one batch, once": lambda value, lengths, budget: (
            sorted(i for batch in value for i in batch) == list(range(len(lengths)))
        ),
        "no batch is over the budget": lambda value, lengths, budget: all(
            len(batch) * max(lengths[i] for i in batch) <= budget for batch in value
        ),
    },
)
