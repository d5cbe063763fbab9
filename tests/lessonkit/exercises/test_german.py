"""Lesson 07: wrong answers that have passed, and right ones that must."""

from collections import Counter

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


GRAMS = {
    "joined": lambda words: "".join(words),
    "ends": lambda words: (words[0], words[-1]),
    "lower case": lambda words: tuple(word.lower() for word in words),
    "as a set": frozenset,
}


@pytest.mark.parametrize("name", GRAMS)
def test_an_n_gram_is_all_of_its_words(name):
    answer = lambda hyps, refs, n: precision(hyps, refs, n, GRAMS[name])  # noqa: E731
    assert status("clipped_precision", answer) == "wrong"


def test_an_n_gram_may_be_long():
    answer = lambda hyps, refs, n: precision(hyps, refs, min(n, 2))  # noqa: E731
    assert status("clipped_precision", answer) == "wrong"


def test_a_sentence_may_be_shorter_than_an_n_gram():
    answer = lambda hyps, refs, n: precision(hyps, refs, n, least=-99)  # noqa: E731
    assert status("clipped_precision", answer) == "wrong"
    assert status("clipped_precision", precision) == "passed"


def ranked(penalty):
    def answer(hypotheses, alpha):
        scores = [log_prob / penalty(length, alpha) for log_prob, length in hypotheses]
        return scores.index(max(scores))

    return answer


@pytest.mark.parametrize("number", [4, 6])
def test_the_five_of_the_penalty_counts(number):
    answer = ranked(lambda length, alpha: ((number + length) / (number + 1)) ** alpha)
    assert status("best_hypothesis", answer) == "wrong"
    right = ranked(lambda length, alpha: (5 + length) ** alpha)  # a factor changes no rank
    assert status("best_hypothesis", right) == "passed"


ADVICE = {
    "long sentences further down": lambda length, alpha: (6 / (5 + length)) ** alpha,
    "is it the length that is divided by 6": lambda length, alpha: (5 + length / 6) ** alpha,
    "the same at every alpha": lambda length, alpha: (5 + length) / 6,
}


@pytest.mark.parametrize("says", ADVICE)
def test_advice_names_the_mistake(says):
    text = " ".join(repr(ALL["best_hypothesis"].check(ranked(ADVICE[says]))).split())
    assert says in text.replace("Is it", "is it")


def upside_down(hypotheses, alpha):
    scores = [((5 + length) / 6) ** alpha / log_prob for log_prob, length in hypotheses]
    return scores.index(max(scores))


def test_the_advice_for_the_worst_fits_a_fraction_upside_down():
    text = " ".join(repr(ALL["best_hypothesis"].check(upside_down)).split())
    assert "which of the two numbers is divided by the other" in text
