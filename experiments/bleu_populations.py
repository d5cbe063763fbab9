"""Pairs of translation systems whose BLEU on a large text is known: simulated, and shipped ones.

Not in the paper. Test sets are drawn from such a population, to try tests of a difference on them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lessonkit.analysis.bleu_comparison import (
    BleuCounts,
    bleu_from_counts,
    sentence_bleu_counts,
)
from transformer.data import corpora
from transformer.models.translator import Translator

NUM_POPULATION_SENTENCES = 10_000  # of a simulated population
SIMULATED_LEAD = 4.0  # points of BLEU, where one simulated system is better
SIMULATION_SEED = 53
# The translators of Multi30k's captions, all into English, and their beams.
REAL_SYSTEMS = {
    "de-en, beam 4": ("de-en", 4),
    "de-en, greedy": ("de-en", 1),
    "fr-en, beam 4": ("fr-en", 4),
}
REAL_PAIRS = (("de-en, greedy", "de-en, beam 4"), ("de-en, beam 4", "fr-en, beam 4"))


class Population(NamedTuple):
    """Two systems' `sentence_bleu_counts` on one large text."""

    first: BleuCounts
    second: BleuCounts
    is_exchanged: bool = False  # a coin deals out each sentence's translations: equal systems

    def scores(self) -> tuple[float, float]:
        """Return the BLEU of both, in points."""
        first, second = self.first.sum(0), self.second.sum(0)
        if self.is_exchanged:
            first = second = first + second
        return float(bleu_from_counts(first)), float(bleu_from_counts(second))

    def draw_test_set(
        self, sentences: int, rng: np.random.Generator
    ) -> tuple[BleuCounts, BleuCounts]:
        """Draw sentences with replacement; return both systems' counts on them."""
        rows = rng.integers(len(self.first), size=sentences)
        first, second = self.first[rows], self.second[rows]
        if self.is_exchanged:
            coins = rng.integers(2, size=(sentences, 1), dtype=bool)
            return np.where(coins, second, first), np.where(coins, first, second)
        return first, second


def simulated_populations(sentences: int = NUM_POPULATION_SENTENCES) -> dict[str, Population]:
    """Return pairs of systems that copy so many English sentences with mistakes.

    All differ in what they get wrong. "alike" errs as often as the first system does, "uneven" is
    better on some sentences and worse on the others; both have its BLEU. "ahead" is better.
    """
    references = corpora.load("embedded", "train", "fr", "en").tgt[:sentences]
    rng = np.random.default_rng(SIMULATION_SEED)
    difficulties = rng.normal(0, 0.1, len(references))  # shared: what is hard is hard for all
    base, alike, better, worse = (
        sentence_bleu_counts(
            noisy_sentence_copies(references, share + difficulties, rng),
            [[each] for each in references],
        )
        for share in (0.8, 0.8, 0.88, 0.7)
    )
    level = float(bleu_from_counts(base.sum(0)))
    others = {
        "alike": spliced_system_bleu_counts(
            better if _is_bleu_below(alike, level) else worse, alike, level
        ),
        "uneven": spliced_system_bleu_counts(better, worse, level),
        "ahead": spliced_system_bleu_counts(better, alike, level + SIMULATED_LEAD),
    }
    return {name: Population(base, other) for name, other in others.items()}


def _is_bleu_below(counts: BleuCounts, level: float) -> bool:
    return bool(bleu_from_counts(counts.sum(0)) < level)


def noisy_sentence_copies(
    references: Sequence[str], shares_right: NDArray[np.float64], rng: np.random.Generator
) -> list[str]:
    """Copy sentences, each word with a probability; of the others half are lost, half replaced."""
    vocabulary = sorted({word for reference in references for word in reference.split()})
    copies = []
    for reference, share in zip(references, np.clip(shares_right, 0, 1), strict=True):
        words = []
        for word in reference.split():
            chance = rng.random()
            if chance < share:
                words.append(word)
            elif chance < (1 + share) / 2:
                words.append(vocabulary[rng.integers(len(vocabulary))])
        copies.append(" ".join(words))
    return copies


def spliced_system_bleu_counts(one: BleuCounts, other: BleuCounts, level: float) -> BleuCounts:
    """Return the first rows of one and the others of the other, cut where BLEU comes closest."""
    sums = other.sum(0) + np.cumsum(one - other, axis=0)
    cut = int(np.abs(bleu_from_counts(sums) - level).argmin()) + 1
    return np.concatenate((one[:cut], other[cut:]))


def real_populations() -> dict[str, Population]:
    """Return pairs of shipped models on a test set of captions, as they are and exchanged."""
    counts = {}
    for name, (model, beam_size) in REAL_SYSTEMS.items():
        translator = Translator.load(model)
        data = translator.recipe.data
        split = corpora.default_test_split(data.corpus)
        text = corpora.load(data.corpus, split, data.src_lang, data.tgt_lang)
        translations = translator.translate(text.src, beam_size=beam_size)
        counts[name] = sentence_bleu_counts(translations, [[each] for each in text.tgt])
    populations = {}
    for first, second in REAL_PAIRS:
        pair = f"{first} and {second}"
        populations[pair] = Population(counts[first], counts[second])
        populations[f"{pair}, exchanged"] = Population(counts[first], counts[second], True)
    return populations
