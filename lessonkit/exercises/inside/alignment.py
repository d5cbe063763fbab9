"""Two exercises of lesson 09: links from attention weights, and how wrong they are."""

import itertools

import torch
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("09")

Pairs = list[tuple[int, int]]  # a sentence's links, (source, target)


def my_links(weights: Tensor) -> list[tuple[int, int]]:
    """Link each target word to its strongest source word: (source, target)."""
    strongest = weights.argmax(dim=1).tolist()
    eos = weights.shape[1] - 1
    return [(src, tgt) for tgt, src in enumerate(strongest) if src != eos]


def end_as_a_word(weights: Tensor) -> list[tuple[int, int]]:
    """Link to "<eos>" too."""
    return [(src, tgt) for tgt, src in enumerate(weights.argmax(dim=1).tolist())]


def end_cut_off(weights: Tensor) -> list[tuple[int, int]]:
    """Leave "<eos>" out before choosing, so that every word gets a link."""
    return [(src, tgt) for tgt, src in enumerate(weights[:, :-1].argmax(dim=1).tolist())]


def the_other_way(weights: Tensor) -> list[tuple[int, int]]:
    """Choose for each source word."""
    return [(src, tgt) for src, tgt in enumerate(weights[:, :-1].argmax(dim=0).tolist())]


def swapped_pair(weights: Tensor) -> list[tuple[int, int]]:
    """Write the target first."""
    return [(tgt, src) for src, tgt in my_links(weights)]


def _search(weights: Tensor) -> list[tuple[int, int]]:
    """Look for the highest by comparing each with all others of its row."""
    rows = weights.tolist()
    pairs = itertools.product(range(len(rows)), range(weights.shape[1] - 1))
    return [(src, tgt) for tgt, src in pairs if rows[tgt][src] == max(rows[tgt])]


def _tables() -> list[tuple[Tensor]]:
    chance = torch.Generator().manual_seed(3)
    shapes = ((1, 2), (2, 2), (2, 3), (3, 3), (3, 4), (2, 5), (4, 3))
    drawn = [
        (2 * torch.randn(shape, generator=chance)).softmax(1) for shape in shapes for _ in range(4)
    ]
    return [((100 * each).round() / 100,) for each in drawn]


links = Exercise(
    my_links,
    words,
    worked=[
        ((torch.tensor([[0.1, 0.7, 0.2], [0.2, 0.3, 0.5]]),), [(1, 0)]),
        ((torch.tensor([[0.1, 0.9]]),), []),
        ((torch.tensor([[0.2, 0.28, 0.26, 0.26]]),), [(1, 0)]),  # strongest, and not strong
    ],
    cases=_tables(),
    expected=_search,
    wrong={
        "end_as_a_word": end_as_a_word,
        "end_cut_off": end_cut_off,
        "the_other_way": the_other_way,
        "swapped_pair": swapped_pair,
    },
)


def my_error_rate(found: list[Pairs], gold: list[Pairs]) -> float:
    """Give the alignment error rate of all sentences together."""
    right = total = 0
    for mine, true in zip(found, gold, strict=True):
        right += len(set(mine) & set(true))
        total += len(mine) + len(true)
    return 1 - 2 * right / total


def mean_of_sentences(found: list[Pairs], gold: list[Pairs]) -> float:
    """Average the sentences' own rates."""
    rates = [my_error_rate([mine], [true]) for mine, true in zip(found, gold, strict=True)]
    return sum(rates) / len(rates)


def one_heap(found: list[Pairs], gold: list[Pairs]) -> float:
    """Throw the links of all sentences together, as if they were one."""
    mine, true = ({link for each in side for link in each} for side in (found, gold))
    return 1 - 2 * len(mine & true) / (len(mine) + len(true))


def share_missed(found: list[Pairs], gold: list[Pairs]) -> float:
    """Count only what was not found: 1 - recall."""
    right = sum(len(set(mine) & set(true)) for mine, true in zip(found, gold, strict=True))
    return 1 - right / sum(map(len, gold))


def of_all_links(found: list[Pairs], gold: list[Pairs]) -> float:
    """Divide by the links of either, each counted once."""
    sides = [(set(mine), set(true)) for mine, true in zip(found, gold, strict=True)]
    right = sum(len(mine & true) for mine, true in sides)
    return 1 - right / sum(len(mine | true) for mine, true in sides)


def how_right(found: list[Pairs], gold: list[Pairs]) -> float:
    """Give the F1 score itself."""
    return 1 - my_error_rate(found, gold)


def _harmonic(found: list[Pairs], gold: list[Pairs]) -> float:
    """1 less the harmonic mean of precision and recall, over links that know their sentence."""
    numbered = [
        [(i, *link) for i, each in enumerate(side) for link in each] for side in (found, gold)
    ]
    right = sum(link in numbered[1] for link in numbered[0])
    if right == 0:
        return 1.0
    precision, recall = right / len(numbered[0]), right / len(numbered[1])
    return 1 - 2 / (1 / precision + 1 / recall)


def _texts() -> list[tuple[list[Pairs], list[Pairs]]]:
    """Texts of one sentence and of two; in the second a sentence may have no link found."""
    every = list(itertools.product(range(2), range(2)))
    sets = [list(each) for n in (1, 2, 3) for each in itertools.combinations(every, n)]
    alone = [([mine], [true]) for mine in sets for true in sets]
    chosen = sets[::3]
    pairs = [
        ([a, b], [c, d]) for a, b, c, d in itertools.product(chosen, [[], *chosen], chosen, chosen)
    ]
    return alone + pairs


error_rate = Exercise(
    my_error_rate,
    words,
    worked=[
        (([[(0, 0), (1, 1)]], [[(0, 0), (1, 0)]]), 0.5),
        (([[(0, 0)], [(1, 1)]], [[(0, 0)], [(0, 0), (1, 0)]]), 0.6),
    ],
    cases=_texts(),
    expected=_harmonic,
    wrong={
        "mean_of_sentences": mean_of_sentences,
        "one_heap": one_heap,
        "share_missed": share_missed,
        "of_all_links": of_all_links,
        "how_right": how_right,
    },
)
