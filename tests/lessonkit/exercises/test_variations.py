"""Lesson 11: wrong answers that have passed, and right ones that must."""

from collections import Counter

from tests.helpers.exercise_walk import status


def names_once(tokens):
    waiting = {}
    for token in tokens:
        if token.startswith("("):
            waiting[token[1:]] = True
        elif token.startswith(")"):
            waiting.pop(token[1:])
    return [f"){label}" for label in reversed(waiting)]


def names_that_never_close(tokens):
    closed = {token[1:] for token in tokens if token.startswith(")")}
    opened = [token[1:] for token in tokens if token.startswith("(")]
    return [f"){label}" for label in reversed(opened) if label not in closed]


def gathered_by_name(tokens):
    waiting = Counter(token[1:] for token in tokens if token.startswith("("))
    waiting.subtract(token[1:] for token in tokens if token.startswith(")"))
    return [f"){label}" for label in reversed(list(waiting)) for _ in range(waiting[label])]


def test_brackets_of_one_name_may_be_open_at_once():
    for answer in (names_once, names_that_never_close, gathered_by_name):
        assert status("closing", answer) == "wrong", answer.__name__


def shared_by(part):
    def answer(said, right):
        sides = [Counter(map(part, phrases)) for phrases in (said, right)]
        return 2 * (sides[0] & sides[1]).total() / (len(said) + len(right))

    return answer


def test_a_phrase_has_two_ends():
    assert status("shared", shared_by(tuple)) == "passed"
    for place in (1, 2):
        answer = shared_by(lambda phrase, end=place: (phrase[0], phrase[end]))
        assert status("shared", answer) == "wrong", place
