"""Lesson 06: wrong answers that have passed, and right ones that must."""

from collections import Counter

import pytest

from tests.helpers.exercise_walk import ALL, status


def by(gram):
    """Clipped matches of whatever `gram` makes of n words in a row."""

    def answer(hypothesis, reference, n):
        sides = [
            Counter(gram(words[i : i + n]) for i in range(len(words) - n + 1))
            for words in (hypothesis, reference)
        ]
        return (sides[0] & sides[1]).total()

    return answer


def pairs_at_most(hypothesis, reference, n):
    return by(tuple)(hypothesis, reference, min(n, 2))


GRAMS = {
    "joined": lambda words: "".join(words),
    "ends": lambda words: (words[0], words[-1]),
    "lower case": lambda words: tuple(word.lower() for word in words),
    "as a set": frozenset,
}


@pytest.mark.parametrize("name", GRAMS)
def test_an_n_gram_is_all_of_its_words_in_order(name):
    assert status("matches", by(GRAMS[name])) == "wrong"


def test_an_n_gram_may_be_long():
    assert status("matches", pairs_at_most) == "wrong"
    assert status("matches", by(tuple)) == "passed"


def beam(next_probs, limit, beam_size, stop=""):
    """Beam search, which may end early or let an end take a place of the beam."""
    best, best_prob, finished = [], 0.0, 0
    living = [([2], 1.0)]
    for _ in range(limit):
        longer = [
            ([*written, token], prob * share)
            for written, prob in living
            for token, share in next_probs(written).items()
        ]
        longer.sort(key=lambda each: -each[1])
        if stop == "ends take a place":
            longer = longer[:beam_size]
        for written, prob in longer:
            if written[-1] == 3:
                finished += prob > 0
                if prob > best_prob:
                    best, best_prob = written[1:-1], prob
        living = [each for each in longer if each[0][-1] != 3][:beam_size]
        enough = {"first": 1, "beam full": beam_size}.get(stop, 999)
        nothing_better = not living or best_prob >= living[0][1]
        if finished >= enough or (stop == "nothing better" and nothing_better):
            break
    return best


@pytest.mark.parametrize("stop", ["first", "beam full", "ends take a place"])
def test_a_beam_that_ends_early_is_refused_with_advice(stop):
    verdict = ALL["beam"].check(lambda probs, limit, size: beam(probs, limit, size, stop))
    assert verdict.status == "wrong"
    assert ".hint() gives" not in repr(verdict)


def test_a_beam_may_stop_where_nothing_better_can_come():
    answer = lambda probs, limit, size: beam(probs, limit, size, "nothing better")  # noqa: E731
    assert status("beam", answer) == "passed"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_beam_is_as_wide_as_it_is_told(size):
    assert status("beam", lambda probs, limit, _: beam(probs, limit, size)) == "wrong"
    assert status("beam", beam) == "passed"
