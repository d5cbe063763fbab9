"""Two exercises of lesson 01: padding with a shift, and batches of a token budget."""

import itertools

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from lessonkit.exercises.check import Exercise, Property, Wrong
from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID

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
    minutes=10,
    difficulty="medium",
    hints=(
        "Make both rows of one sentence first, then care about their lengths.",
        "The decoder reads [2, *ids] and shall say [*ids, 3]: both are one longer than ids.",
        "Fill up with zeros to max(len(ids) for ids in sentences) + 1, then torch.tensor(rows).",
    ),
    worked=[
        (([[5]],), (torch.tensor([[2, 5]]), torch.tensor([[5, 3]]))),
        (
            ([[5, 6], [7]],),
            (torch.tensor([[2, 5, 6], [2, 7, 0]]), torch.tensor([[5, 6, 3], [7, 3, 0]])),
        ),
    ],
    cases=_sentences(),
    expected=_by_torch,
    wrong=[
        Wrong(
            slices_one_tensor,
            "Your short rows of tgt_in still hold the eos (3): you padded first and cut off "
            "the last column, which is padding there. The loss does not see it, but "
            "the decoder reads it. Make the two rows before you pad.",
        ),
        Wrong(
            never_ends,
            "The eos (3) is nowhere, and the longest sentence loses its last token: a model "
            "trained with it never learns to stop. Both rows are one longer than the sentence.",
        ),
        Wrong(
            whole_twice,
            "Both are the whole sentence with both marks, so that the decoder only has to copy "
            "what it reads. tgt_in has no eos (3), and tgt_out has no bos (2).",
        ),
        Wrong(
            does_not_shift,
            "The decoder reads the very token that it is to say, and would learn to "
            "copy. tgt_in begins with the bos (2) and has no eos.",
        ),
        Wrong(
            pads_on_the_left,
            "The padding stands before the sentences. Put it behind them: the first token "
            "has position 0 in every row.",
        ),
        Wrong(
            end_after_padding,
            "The eos stands behind the padding. The sentence ends where its tokens end.",
        ),
        Wrong(swaps_the_two, "Right rows in the wrong order: give tgt_in first."),
    ],
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
    minutes=20,
    difficulty="hard",
    hints=(
        "A batch is a rectangle: number of rows times the longest row, padding included.",
        "Sort the positions 0, 1, 2 ... by length. Then each sentence is the longest so far, and "
        "the rectangle with it has (rows + 1) * its length positions.",
        "Go through the sorted positions; where that number is over the budget, begin a new "
        "batch; then put the position in. Keep the last batch too.",
    ),
    worked=[
        (([2, 2], 4), [[0, 1]]),
        (([3, 1], 3), [[1], [0]]),
        (([4, 1, 2, 1], 4), [[1, 3], [2], [0]]),
    ],
    cases=_lengths_and_budgets(),
    expected=_by_largest_first_piece,
    wrong=[
        Wrong(
            counts_tokens_only,
            "You add up the tokens. Padding takes room as well: the budget holds for rows "
            "times the longest row.",
        ),
        Wrong(
            does_not_sort,
            "Your batches keep to the budget, but take the sentences as they come. "
            "Sorted by length first, they waste less on padding.",
        ),
        Wrong(
            stays_below_budget,
            "A batch of exactly `budget` positions is allowed: at most, not less than.",
        ),
        Wrong(
            looks_too_late,
            "One sentence too many: you see that a batch is too large when it is. Ask "
            "before you put the sentence in.",
        ),
        Wrong(
            loses_the_last,
            "The last batch is missing. A loop that hands over a batch when the next one "
            "begins still holds one at its end.",
        ),
        Wrong(
            gives_lengths,
            "These are lengths. Give the places of the sentences in the list, so that one can "
            "fetch them.",
        ),
    ],
    properties=[
        Property(
            "every sentence stands in one batch, once",
            lambda value, lengths, budget: (
                sorted(i for batch in value for i in batch) == list(range(len(lengths)))
            ),
        ),
        Property(
            "no batch is over the budget",
            lambda value, lengths, budget: all(
                len(batch) * max(lengths[i] for i in batch) <= budget for batch in value
            ),
        ),
    ],
)
