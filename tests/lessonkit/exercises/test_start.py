"""Lesson 00: wrong answers that have passed, and right ones that must."""

import pytest

from tests.helpers.exercise_walk import ALL, status


def stops_at(*ends):
    """A greedy search that takes each of these ids for an end."""

    def answer(next_scores, limit):
        written = [2]
        while len(written) <= limit:
            scores = next_scores(written)
            best = scores.index(max(scores))
            if best in ends:
                break
            written.append(best)
        return written[1:]

    return answer


def never_unknown(next_scores, limit):
    written = [2]
    while len(written) <= limit:
        scores = next_scores(written)
        best = scores.index(max(scores[2:]))
        if best == 3:
            break
        written.append(best)
    return written[1:]


@pytest.mark.parametrize("answer", [stops_at(0, 3), stops_at(1, 3), stops_at(2), never_unknown])
def test_only_the_eos_ends_a_greedy_search(answer):
    assert status("greedy", answer) == "wrong"
    assert status("greedy", stops_at(3)) == "passed"


def last_dropped(next_scores, limit):
    written = [2]
    while len(written) <= limit and written[-1] != 3:
        scores = next_scores(written)
        written.append(scores.index(max(scores)))
    return written[1:-1]


def test_the_advice_for_a_lost_token_fits_both_ways_to_lose_it():
    assert "as if it were always the eos" in " ".join(
        repr(ALL["greedy"].check(last_dropped)).split()
    )


def search(next_probs, limit, width=999, stops=False):
    """The most probable sentence; of each round's prefixes so many live on."""
    best, best_prob = [], 0.0
    living = [([2], 1.0)]
    for _ in range(limit):
        longer = []
        for written, prob in living:
            for token, share in next_probs(written).items():
                if token != 3:
                    longer.append(([*written, token], prob * share))
                elif prob * share > best_prob:
                    best, best_prob = written[1:], prob * share
        if stops and best_prob > 0:
            break
        living = sorted(longer, key=lambda each: -each[1])[:width]
    return best


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6])
def test_a_beam_is_no_search_through_all_sentences(width):
    def answer(next_probs, limit):
        return search(next_probs, limit, width)

    assert status("most_probable", answer) == "wrong"
    assert status("most_probable", search) == "passed"


def test_the_advice_for_a_search_that_stops_at_the_first_end_says_so():
    text = repr(ALL["most_probable"].check(lambda probs, limit: search(probs, limit, stops=True)))
    assert "the first sentence that ends" in " ".join(text.split())
