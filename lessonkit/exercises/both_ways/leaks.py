"""Two exercises of lesson 08: what leaks from training, and groups that do not."""

import itertools
import re

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("08")

Pair = tuple[str, str]


def my_leaked(train: list[Pair], test: list[Pair]) -> float:
    """Give the share of the test pairs that have a side in training."""
    firsts = {first for first, _ in train}
    seconds = {second for _, second in train}
    seen = [first in firsts or second in seconds for first, second in test]
    return sum(seen) / len(test)


def whole_pairs(train: list[Pair], test: list[Pair]) -> float:
    """Look for the pair as it stands."""
    return sum(pair in train for pair in test) / len(test)


def both_sides(train: list[Pair], test: list[Pair]) -> float:
    """Ask for both sides."""
    firsts, seconds = ({pair[side] for pair in train} for side in (0, 1))
    return sum(a in firsts and b in seconds for a, b in test) / len(test)


def first_side(train: list[Pair], test: list[Pair]) -> float:
    """Look at the first side alone."""
    return sum(a in {first for first, _ in train} for a, _ in test) / len(test)


def second_side(train: list[Pair], test: list[Pair]) -> float:
    """Look at the second side alone."""
    return sum(b in {second for _, second in train} for _, b in test) / len(test)


def of_training(train: list[Pair], test: list[Pair]) -> float:
    """Count the training pairs that stand in the test set."""
    return my_leaked(test, train)


def either_side(train: list[Pair], test: list[Pair]) -> float:
    """Throw both sides into one set."""
    seen = {text for pair in train for text in pair}
    return sum(a in seen or b in seen for a, b in test) / len(test)


def _bare(pairs: list[Pair]) -> list[Pair]:
    """Leave out of every text what a reader would not hear."""
    return [(_words(a), _words(b)) for a, b in pairs]


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def words_alone(train: list[Pair], test: list[Pair]) -> float:
    """Compare the words, not the text."""
    return my_leaked(_bare(train), _bare(test))


def _by_pairs(train: list[Pair], test: list[Pair]) -> float:
    """Compare each test pair with each training pair."""
    seen = [any(a == x or b == y for x, y in train) for a, b in test]
    return seen.count(True) / len(seen)


def _splits() -> list[tuple[list[Pair], list[Pair]]]:
    pairs = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z")]
    trains = [list(each) for n in (1, 2, 3) for each in itertools.combinations(pairs, n)]
    tests = [list(each) for n in (1, 2) for each in itertools.combinations(pairs, n)]
    cases = [(train, test) for train in trains for test in tests]
    return cases + [([known], [asked]) for known, asked in _NEARLY]


_NEARLY = [  # none of these shares a side as it stands
    (("a", "x"), ("x", "y")),  # a word on both sides, here and there
    (("a", "x"), ("b", "a")),
    (("Go", "x"), ("go", "y")),
    (("a", "Va"), ("b", "va")),
    (("go.", "x"), ("go", "y")),
    (("a", "va !"), ("b", "va")),
    (("go ", "x"), ("go", "y")),
    (("going", "x"), ("go", "y")),
    (("a", "il va"), ("b", "va")),
]


leaked = Exercise(
    my_leaked,
    words,
    worked=[
        (([("go", "va")], [("go", "allez"), ("stop", "arrête")]), 0.5),
    ],
    cases=_splits(),
    expected=_by_pairs,
    wrong={
        "whole_pairs": whole_pairs,
        "both_sides": both_sides,
        "first_side": first_side,
        "second_side": second_side,
        "either_side": either_side,
        "words_alone": words_alone,
        "of_training": of_training,
    },
)


def my_groups(pairs: list[Pair]) -> list[list[Pair]]:
    """Gather pairs that share a side, directly or by way of others."""
    found: list[list[Pair]] = []
    for pair in pairs:
        joined = [pair]
        apart = []
        for group in found:
            fits = any(pair[0] == a or pair[1] == b for a, b in group)
            if fits:
                joined += group
            else:
                apart.append(group)
        found = [*apart, joined]
    return sorted(sorted(group) for group in found)


def by_first_side(pairs: list[Pair]) -> list[list[Pair]]:
    """Put together what has the same first side only."""
    firsts = {a for a, _ in pairs}
    return sorted(sorted(pair for pair in pairs if pair[0] == first) for first in firsts)


def by_second_side(pairs: list[Pair]) -> list[list[Pair]]:
    """Put together what has the same second side only."""
    seconds = {b for _, b in pairs}
    return sorted(sorted(pair for pair in pairs if pair[1] == second) for second in seconds)


def first_group_that_fits(pairs: list[Pair]) -> list[list[Pair]]:
    """Join the first group that fits, and leave the others that would fit alone."""
    found: list[list[Pair]] = []
    for pair in pairs:
        for group in found:
            if any(pair[0] == a or pair[1] == b for a, b in group):
                group.append(pair)
                break
        else:
            found.append([pair])
    return sorted(sorted(group) for group in found)


def neighbours_of_each(pairs: list[Pair]) -> list[list[Pair]]:
    """Give every pair's direct neighbours, so that a pair may stand in several groups."""
    near = {tuple(sorted(p for p in pairs if p[0] == a or p[1] == b)) for a, b in pairs}
    return sorted(list(group) for group in near)


def by_any_word(pairs: list[Pair]) -> list[list[Pair]]:
    """Join pairs that have a text in common on whichever sides, as the lesson's loop does."""
    found: list[list[Pair]] = []
    for pair in pairs:
        near = [group for group in found if any(set(pair) & set(each) for each in group)]
        apart = [group for group in found if group not in near]
        found = [*apart, [pair, *itertools.chain(*near)]]
    return sorted(sorted(group) for group in found)


def by_their_words(pairs: list[Pair]) -> list[list[Pair]]:
    """Compare the words, not the text, as the package does."""
    bare = dict(zip(_bare(pairs), pairs, strict=True))
    return sorted(sorted(bare[pair] for pair in group) for group in my_groups(list(bare)))


def each_alone(pairs: list[Pair]) -> list[list[Pair]]:
    """Gather nothing."""
    return [[pair] for pair in sorted(pairs)]


def _by_spreading(pairs: list[Pair]) -> list[list[Pair]]:
    """Give each pair a number, and let the smallest spread until nothing changes."""
    number = list(range(len(pairs)))
    for _ in pairs:
        for i, j in itertools.product(range(len(pairs)), repeat=2):
            if pairs[i][0] == pairs[j][0] or pairs[i][1] == pairs[j][1]:
                number[i] = number[j] = min(number[i], number[j])
    return sorted(
        sorted(p for p, n in zip(pairs, number, strict=True) if n == each) for each in set(number)
    )


def _lists() -> list[tuple[list[Pair]]]:
    every = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z"), ("c", "y")]
    cases = [list(each) for n in (1, 2, 3) for each in itertools.permutations(every, n)]
    chain = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"), ("c", "z")]  # each hangs on the next
    cases += [list(each) for each in itertools.permutations(chain[:4])]
    cases += [list(each) for each in itertools.permutations(chain)][::7]
    return [(each,) for each in [*cases, *map(list, _NEARLY)]]


groups = Exercise(
    my_groups,
    words,
    worked=[
        (
            ([("a", "x"), ("b", "y"), ("a", "y")],),
            [[("a", "x"), ("a", "y"), ("b", "y")]],
        ),
        (([("b", "y"), ("a", "x")],), [[("a", "x")], [("b", "y")]]),
    ],
    cases=_lists(),
    expected=_by_spreading,
    wrong={
        "by_first_side": by_first_side,
        "by_second_side": by_second_side,
        "first_group_that_fits": first_group_that_fits,
        "neighbours_of_each": neighbours_of_each,
        "by_any_word": by_any_word,
        "by_their_words": by_their_words,
        "each_alone": each_alone,
    },
)
