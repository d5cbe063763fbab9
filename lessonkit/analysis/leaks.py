"""How much of a test set stands in the training set already, and what that is worth.

Not in the paper. `python -m experiments leaks` measures Tatoeba, once split at random as
system 3 did and once by groups as `transformer.data.parallel` does, and writes
`data/results/leaks/tatoeba.json`.
"""

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from attention_laws.leaks import Leak, measure_leak
from transformer.data.parallel import Pair, key, split_pairs
from transformer.evaluation.scores import bleu
from transformer.support.errors import UserError

__all__ = ["Leak", "from_memory", "measure_leak", "measure_splits", "random_split"]

RECORD = "leaks/tatoeba.json"  # in data/results
SEED = 1
TEST_PAIRS = 1000  # the last of the shuffled list, as in system 3


def random_split(
    pairs: Sequence[Pair], test_pairs: int = TEST_PAIRS, seed: int = SEED
) -> tuple[list[Pair], list[Pair]]:
    """Shuffle pairs and cut off the last: the split that leaks.

    Args:
        pairs: All pairs.
        test_pairs: How many to cut off.
        seed: Of the shuffle.

    Returns:
        The training pairs and the test pairs.

    Raises:
        UserError: one of the two would be empty.
    """
    if not 0 < test_pairs < len(pairs):
        raise UserError(
            f"{test_pairs} test pairs of {len(pairs)}: give a number from 1 to {len(pairs) - 1}"
        )
    shuffled = list(pairs)
    random.Random(seed).shuffle(shuffled)
    return shuffled[:-test_pairs], shuffled[-test_pairs:]


def from_memory(train: Sequence[Pair], sources: Sequence[str]) -> list[str]:
    """Translate without a model, from second side to first: say what the likest sentence means.

    Likeness is Dice's: twice the weight of the words in common over the weight of both
    sentences' words; a word weighs the logarithm of how rare it is.

    Args:
        train: The pairs to remember; of equally like ones the first is taken.
        sources: Sentences of the second side.
    """
    remembered = [_words(second) for _, second in train]
    places: dict[str, list[int]] = {}
    for place, words in enumerate(remembered):
        for word in words:
            places.setdefault(word, []).append(place)
    holding = {word: np.array(found) for word, found in places.items()}
    weight = {word: math.log(1 + len(train) / len(found)) for word, found in places.items()}
    sizes = np.array([sum(weight[word] for word in words) for words in remembered])
    unknown = math.log(1 + len(train))
    said = []
    for source in sources:
        words = _words(source)
        shared = np.zeros(len(train))
        for word in words:
            if word in holding:
                shared[holding[word]] += weight[word]
        size = sum(weight.get(word, unknown) for word in words)
        likeness = 2 * shared / np.maximum(sizes + size, 1.0)  # under 1 nothing is shared
        said.append(train[int(likeness.round(9).argmax())][0])
    return said


def _words(sentence: str) -> list[str]:
    """Give a sentence's different words in one order, so that sums over them are the same."""
    return sorted(set(key(sentence).split()))


def measure_splits(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Measure the leak of both splits, and what memory alone scores on their test sets.

    Args:
        pairs: English, French.

    Returns:
        For "random" and "grouped": train and test (pairs), leak (as `Leak`, the first side
        English) and bleu (of what `from_memory` says, French to English, once for each French
        sentence, which may match any of its translations in the test set).
    """
    grouped = split_pairs(pairs)
    return {
        "random": measure_pairs(*random_split(pairs)),
        "grouped": measure_pairs(grouped["train"], grouped["test"]),
    }


def measure_pairs(train: Sequence[Pair], test: Sequence[Pair]) -> dict[str, Any]:
    """Measure one split (see `measure_splits` for what comes back)."""
    accepted: dict[str, list[str]] = {}
    for english, french in test:
        accepted.setdefault(french, []).append(english)
    said = from_memory(train, list(accepted))
    leak = {name: round(share, 4) for name, share in measure_leak(train, test)._asdict().items()}
    return {
        "train": len(train),
        "test": len(test),
        "leak": leak,
        "bleu": bleu(said, list(accepted.values())),
    }
