"""How much of a test set stands in training, and what a memory of the training text scores on it.

Not in the paper. `python -m experiments leaks` measures Tatoeba, once split at random as system 3
did and once by groups as `transformer.data.grouping` does.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from attention_laws.laws.leakage import measure_leaked_test_pair_shares
from transformer.data import corpora
from transformer.data.grouping import Pair, split_pairs
from transformer.evaluation.scores import bleu
from transformer.evaluation.translation_memory import translate_from_memory
from transformer.support.files import write_json
from transformer.support.provenance import provenance

SPLIT_SEED = 1
NUM_TEST_PAIRS = 1000  # the last of the shuffled list, as in system 3


def record_split_leaks(file: Path) -> None:
    """Measure the leak of both splits of Tatoeba, and what memory alone scores on their tests.

    The record has for "random" and "grouped": train and test (pairs), leak (as `Leak`, the first
    side English) and bleu (of `translate_from_memory`, French to English, once for each
    French sentence, which may match any of its translations in the test set).
    """
    pairs = corpora.read_unsplit_pairs("tatoeba")
    grouped = split_pairs(pairs)
    figures = {
        "random": measure_split(*random_split(pairs, NUM_TEST_PAIRS)),
        "grouped": measure_split(grouped["train"], grouped["test"]),
    }
    about = {"seed": SPLIT_SEED, "pairs": len(pairs), "figures": figures}
    write_json(file, provenance(torch.device("cpu")) | about)


def random_split(pairs: Sequence[Pair], test_pairs: int) -> tuple[list[Pair], list[Pair]]:
    """Shuffle pairs and cut off the last for the test: the split that leaks."""
    shuffled = list(pairs)
    random.Random(SPLIT_SEED).shuffle(shuffled)
    return shuffled[:-test_pairs], shuffled[-test_pairs:]


def measure_split(train: Sequence[Pair], test: Sequence[Pair]) -> dict[str, Any]:
    """Measure one split (see `record_split_leaks` for what comes back)."""
    accepted: dict[str, list[str]] = {}
    for english, french in test:
        accepted.setdefault(french, []).append(english)
    translations = translate_from_memory(
        [french for _, french in train], [english for english, _ in train], list(accepted)
    )
    leak = {
        name: round(share, 4)
        for name, share in measure_leaked_test_pair_shares(train, test)._asdict().items()
    }
    return {
        "train": len(train),
        "test": len(test),
        "leak": leak,
        "bleu": bleu(translations, list(accepted.values())),
    }
