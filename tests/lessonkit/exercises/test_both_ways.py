"""Lesson 08: wrong answers that have passed, and right ones that must."""

from functools import partial

from lessonkit.analysis.scores import measure_leak
from tests.helpers.exercise_walk import ALL, status
from transformer.data.tatoeba import group_pairs


def leaked(train, test, make=str):
    firsts, seconds = ({make(pair[side]) for pair in train} for side in (0, 1))
    return sum(make(a) in firsts or make(b) in seconds for a, b in test) / len(test)


def part_of_a_text(train, test):
    sides = [" ".join(pair[side] for pair in train) for side in (0, 1)]
    return sum(a in sides[0] or b in sides[1] for a, b in test) / len(test)


LEAKS = {
    "lower case": partial(leaked, make=str.lower),
    "no mark": partial(leaked, make=lambda text: text.rstrip(" .!?")),
    "no blank": partial(leaked, make=str.strip),
    "first word": partial(leaked, make=lambda text: text.split()[0]),
    "part of a text": part_of_a_text,
    "the package's, either side in either": lambda train, test: measure_leak(train, test).either,
}


def test_each_side_is_looked_for_in_its_own_place_whole_and_as_it_stands():
    assert status("leaked", leaked) == "passed"
    for name, answer in LEAKS.items():
        assert status("leaked", answer) == "wrong", name


def groups_by_hand(pairs):
    """The loop of lesson 08 as it stands there, its groups sorted."""
    found = []
    for pair in pairs:
        near = [g for g in found if any(set(pair) & set(p) for p in g)]
        rest = [g for g in found if g not in near]
        found = [*rest, [p for g in near for p in g] + [pair]]
    return sorted(map(sorted, found))


def test_groups_are_not_those_of_the_lesson():
    for answer in (groups_by_hand, lambda pairs: sorted(map(sorted, group_pairs(pairs)))):
        verdict = ALL["groups"].check(answer)
        assert verdict.status == "wrong"
        assert ".hint() gives" not in repr(verdict)


def in_hops(pairs, hops=99):
    groups, left = [], list(pairs)
    while left:
        group = [left.pop(0)]
        for _ in range(hops):
            near = [p for p in left if any(p[0] == a or p[1] == b for a, b in group)]
            group += near
            left = [p for p in left if p not in near]
        groups.append(sorted(group))
    return sorted(groups)


def test_a_chain_may_be_long():
    assert status("groups", in_hops) == "passed"
    for hops in (1, 2, 3):
        assert status("groups", partial(in_hops, hops=hops)) == "wrong", hops


def fault_by_norms(trainer, pause=1, limit=1.8):
    weights = trainer.state_dict()
    way, losses, last = [], [], {name: weight.clone() for name, weight in weights.items()}
    for _ in range(1 + pause):
        losses.append(trainer.step())
        way.append({name: float((weights[name] - last[name]).norm()) for name in weights})
        last = {name: weight.clone() for name, weight in weights.items()}
    still = [name for name, far in way[0].items() if far == 0]
    if still:
        return "nothing moves" if len(still) == len(weights) else "some weights stay"
    if losses[-1] > losses[0]:
        return "uphill"
    return "gradients add up" if sum(way[-1].values()) > limit * sum(way[0].values()) else "none"


def fault_by_loss(trainer):
    first, second = trainer.step(), trainer.step()
    return "uphill" if second > first else "none" if second < first else "nothing moves"


def test_a_fault_may_be_found_in_many_steps_and_not_by_the_loss_alone():
    for pause in (1, 2, 5):
        assert status("fault", partial(fault_by_norms, pause=pause)) == "passed"
    for answer in (partial(fault_by_norms, limit=3.0), fault_by_loss):
        assert status("fault", answer) == "wrong"
