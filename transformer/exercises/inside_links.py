"""The later exercises of lesson 09: links from attention weights, and how wrong they are."""

import itertools

import torch
from torch import Tensor

from transformer.exercises.check import Exercise, Wrong


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
    torch.manual_seed(3)
    shapes = ((1, 2), (2, 2), (2, 3), (3, 3), (3, 4), (2, 5), (4, 3))
    drawn = [(2 * torch.randn(shape)).softmax(1) for shape in shapes for _ in range(4)]
    return [((100 * each).round() / 100,) for each in drawn]


links = Exercise(
    my_links,
    minutes=10,
    difficulty="medium",
    hints=(
        "Each row of the weights is a target word, each column but the last a source word.",
        "weights.argmax(dim=1) gives the strongest column of each row.",
        "Go through enumerate(strongest.tolist()), and keep (src, tgt) where src is not the "
        "last column.",
    ),
    worked=[
        ((torch.tensor([[0.1, 0.7, 0.2], [0.2, 0.3, 0.5]]),), [(1, 0)]),
    ],
    cases=_tables(),
    expected=_search,
    wrong=[
        Wrong(
            end_as_a_word,
            'The last column is "<eos>", no word: who attends most to it has no link.',
        ),
        Wrong(
            end_cut_off,
            'You cut "<eos>" off before choosing. Then a word that looks at the end of the '
            "sentence is linked to some word all the same.",
        ),
        Wrong(
            the_other_way,
            "You chose a target word for each source word. The rows sum to 1, not the columns: "
            "choose within a row.",
        ),
        Wrong(swapped_pair, "A link is (source, target), in this order."),
    ],
)


def my_error_rate(found: list[tuple[int, int]], gold: list[tuple[int, int]]) -> float:
    """Give the alignment error rate of one sentence's links."""
    right = len(set(found) & set(gold))
    return 1 - 2 * right / (len(found) + len(gold))


def share_missed(found: list[tuple[int, int]], gold: list[tuple[int, int]]) -> float:
    """Count only what was not found: 1 - recall."""
    return 1 - len(set(found) & set(gold)) / len(gold)


def share_wrong(found: list[tuple[int, int]], gold: list[tuple[int, int]]) -> float:
    """Count only what was found wrongly: 1 - precision."""
    return 1 - len(set(found) & set(gold)) / len(found)


def of_all_links(found: list[tuple[int, int]], gold: list[tuple[int, int]]) -> float:
    """Divide by the links of either, each counted once."""
    return 1 - len(set(found) & set(gold)) / len(set(found) | set(gold))


def how_right(found: list[tuple[int, int]], gold: list[tuple[int, int]]) -> float:
    """Give the F1 score itself."""
    return 2 * len(set(found) & set(gold)) / (len(found) + len(gold))


def _harmonic(found: list[tuple[int, int]], gold: list[tuple[int, int]]) -> float:
    """1 less the harmonic mean of precision and recall."""
    right = sum(link in gold for link in found)
    if right == 0:
        return 1.0
    precision, recall = right / len(found), right / len(gold)
    return 1 - 2 / (1 / precision + 1 / recall)


def _pairs_of_links() -> list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    every = list(itertools.product(range(2), range(2)))
    sets = [list(each) for n in (1, 2, 3) for each in itertools.combinations(every, n)]
    return [(found, gold) for found in sets for gold in sets]


error_rate = Exercise(
    my_error_rate,
    minutes=10,
    difficulty="hard",
    hints=(
        "Count the links that are in both lists; sets make that easy.",
        "Missing links and wrong ones count alike: divide by the links of both lists together.",
        "1 - 2 * right / (len(found) + len(gold)).",
    ),
    worked=[
        (([(0, 0)], [(0, 0)]), 0.0),
        (([(0, 0), (1, 1)], [(0, 0), (1, 0)]), 0.5),
    ],
    cases=_pairs_of_links(),
    expected=_harmonic,
    wrong=[
        Wrong(
            share_missed,
            "This forgives links that should not be there: link everything to everything, and "
            "it is 0.",
        ),
        Wrong(
            share_wrong,
            "This forgives links that are missing: one safe link, and it is 0.",
        ),
        Wrong(
            of_all_links,
            "This divides by the links of either list, each once (Jaccard). Here a right link "
            "counts in both lists: twice above, and twice below.",
        ),
        Wrong(how_right, "This is how right the links are. The error is what is missing to 1."),
    ],
)
