"""Lesson 07: wrong answers that have passed, and right ones that must."""

from collections import Counter
from functools import partial

import pytest

from tests.helpers.exercise_walk import ALL, status


def precision(hypotheses, references, n, gram=tuple, least=0):
    matches = total = 0
    for sides in zip(hypotheses, references, strict=True):
        counts = [
            Counter(gram(words[i : i + n]) for i in range(len(words) - n + 1)) for words in sides
        ]
        matches += (counts[0] & counts[1]).total()
        total += max(least, len(sides[0]) - n + 1)
    return matches / total if total > 0 else 0.0


PRECISIONS = {
    "joined": partial(precision, gram="".join),
    "ends": partial(precision, gram=lambda words: (words[0], words[-1])),
    "lower case": partial(precision, gram=lambda words: tuple(word.lower() for word in words)),
    "as a set": partial(precision, gram=frozenset),
    "two words at most": lambda hyps, refs, n: precision(hyps, refs, min(n, 2)),
    "less than none of a short sentence": partial(precision, least=-99),
}


def test_an_n_gram_is_all_of_its_words():
    assert status("clipped_precision", precision) == "passed"
    for name, answer in PRECISIONS.items():
        assert status("clipped_precision", answer) == "wrong", name


def ranked(score):
    def answer(hypotheses, alpha):
        scores = [score(log_prob, length, alpha) for log_prob, length in hypotheses]
        return scores.index(max(scores))

    return answer


def test_the_five_of_the_penalty_counts_and_a_factor_does_not():
    for number in (4, 6):
        answer = ranked(lambda p, n, alpha, five=number: p / ((five + n) / (five + 1)) ** alpha)
        assert status("best_hypothesis", answer) == "wrong"
    assert status("best_hypothesis", ranked(lambda p, n, alpha: p / (5 + n) ** alpha)) == "passed"


ADVICE = {
    "long sentences further down": lambda p, n, alpha: p / (6 / (5 + n)) ** alpha,
    "Is it the length that is divided by 6": lambda p, n, alpha: p / (5 + n / 6) ** alpha,
    "the same at every alpha": lambda p, n, alpha: p / ((5 + n) / 6),
    "which of the two numbers is divided by the other": lambda p, n, alpha: (
        ((5 + n) / 6) ** alpha / p
    ),
}


@pytest.mark.parametrize("says", ADVICE)
def test_advice_names_the_mistake(says):
    assert says in " ".join(repr(ALL["best_hypothesis"].check(ranked(ADVICE[says]))).split())
