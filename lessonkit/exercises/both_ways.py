"""The exercises of lesson 08, in its order. `Trainer` is its toy.

Which fault a step of training has, what leaks from training, and groups of pairs that do not.
"""

import itertools
import re
from typing import Any

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import FAULTS, Trainer

Pair = tuple[str, str]

words = read_words("08")
globals().update(asked(words))  # recall and the predictions


def my_fault(trainer: Any) -> str:
    """Name the fault of a training, or "none"."""
    states, losses = [], []
    for _ in range(3):
        state = trainer.state_dict()
        states.append({name: weight.clone() for name, weight in state.items()})
        losses.append(trainer.step())
    one, other = (
        [(after[name] - before[name]).norm() for name in before]
        for before, after in itertools.pairwise(states)
    )
    if not any(one):
        return "nothing moves"
    if not all(one):
        return "some weights stay"
    if losses[1] > losses[0]:
        return "uphill"
    return "gradients add up" if sum(other) > 1.5 * sum(one) else "none"


fault = Exercise(
    my_fault,
    words,
    worked=[
        ((Trainer("none", 0),), "none"),
        ((Trainer("uphill", 0),), "uphill"),
    ],
    cases=[(Trainer(each, seed),) for each in FAULTS for seed in range(7)],
    expected=lambda trainer: trainer.fault,
    wrong={
        "nothing_copied": ("weight.clone()", "weight"),
        "overlooks_small_steps": (
            ".norm()",
            ".norm() * (not before[name].allclose(after[name]))",
        ),
        "one_number_is_enough": (".norm()", ".abs().min()"),
        "one_step_only": (
            '"gradients add up" if sum(other) > 1.5 * sum(one) else "none"',
            '"none"',
        ),
        "never_reads_the_loss": ('"uphill"', '"none"'),
        "all_or_none": ('"some weights stay"', '"nothing moves"'),
        "satisfied_if_all_moves": ("losses[1] > losses[0]", "True", '"uphill"', '"none"'),
    },
    properties={"the answer is one of the five": lambda value, _: value in FAULTS},
)


def my_leaked(train: list[Pair], test: list[Pair]) -> float:
    """Give the share of the test pairs that have a side in training."""
    firsts = {first for first, _ in train}
    seconds = {second for _, second in train}
    seen = [first in firsts or second in seconds for first, second in test]
    return sum(seen) / len(test)


def _by_pairs(train: list[Pair], test: list[Pair]) -> float:
    """Compare each test pair with each training pair."""
    seen = [any(a == x or b == y for x, y in train) for a, b in test]
    return seen.count(True) / len(seen)


def _bare(pairs: list[Pair]) -> list[Pair]:
    """Leave out of every text what a reader would not hear."""
    first, second = (
        [" ".join(re.findall(r"\w+", text.lower())) for text in side]
        for side in zip(*pairs, strict=True)
    )
    return list(zip(first, second, strict=True))


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


def _splits() -> list[tuple[list[Pair], list[Pair]]]:
    pairs = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z")]
    trains = [list(each) for n in (1, 2, 3) for each in itertools.combinations(pairs, n)]
    tests = [list(each) for n in (1, 2) for each in itertools.combinations(pairs, n)]
    cases = list(itertools.product(trains, tests))
    return cases + [([known], [asked]) for known, asked in _NEARLY]


leaked = Exercise(
    my_leaked,
    words,
    worked=[(([("go", "va")], [("go", "allez"), ("stop", "arrête")]), 0.5)],
    cases=_splits(),
    expected=_by_pairs,
    wrong={
        "whole_pairs": ("first in firsts or second in seconds", "(first, second) in train"),
        "both_sides": (" or ", " and "),
        "first_side": (" or second in seconds", ""),
        "second_side": ("first in firsts or ", ""),
        "either_side": (
            "{first for first, _ in train}",
            "{text for pair in train for text in pair}",
            "{second for _, second in train}",
            "firsts",
        ),
        "words_alone": lambda train, test: my_leaked(_bare(train), _bare(test)),
        "of_training": lambda train, test: my_leaked(test, train),
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


def _by_their_words(pairs: list[Pair]) -> list[list[Pair]]:
    """Compare the words, not the text, as the package does."""
    bare = dict(zip(_bare(pairs), pairs, strict=True))
    return sorted(sorted(bare[pair] for pair in group) for group in my_groups(list(bare)))


def _lists() -> list[tuple[list[Pair]]]:
    every = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z"), ("c", "y")]
    cases = [each for n in (1, 2, 3) for each in itertools.permutations(every, n)]
    chain = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"), ("c", "z")]  # each hangs on the next
    cases += itertools.permutations(chain[:4])
    cases += list(itertools.permutations(chain))[::7]
    return [(list(each),) for each in [*cases, *_NEARLY]]


groups = Exercise(
    my_groups,
    words,
    worked=[
        (([("a", "x"), ("b", "y"), ("a", "y")],), [[("a", "x"), ("a", "y"), ("b", "y")]]),
        (([("b", "y"), ("a", "x")],), [[("a", "x")], [("b", "y")]]),
    ],
    cases=_lists(),
    expected=_by_spreading,
    wrong={
        "by_first_side": (" or pair[1] == b", ""),
        "by_second_side": ("pair[0] == a or ", ""),
        "first_group_that_fits": (
            "joined += group\n            else:\n                apart.append(group)\n"
            "        found = [*apart, joined]",
            "group += joined\n                break\n"
            "        else:\n            found.append(joined)",
        ),
        "neighbours_of_each": lambda pairs: sorted(
            map(list, {tuple(sorted(p for p in pairs if p[0] == a or p[1] == b)) for a, b in pairs})
        ),
        "by_any_word": ("pair[0] == a or pair[1] == b", "{a, b} & set(pair)"),
        "by_their_words": _by_their_words,
        "each_alone": ("if fits", "if False"),
    },
)
