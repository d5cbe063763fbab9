"""Lesson 08: wrong answers that have passed, and right ones that must."""

import pytest

from lessonkit.analysis.scores import measure_leak
from tests.helpers.exercise_walk import ALL, status
from transformer.data.tatoeba import group_pairs


def leaked_by(make):
    def answer(train, test):
        firsts, seconds = ({make(pair[side]) for pair in train} for side in (0, 1))
        return sum(make(a) in firsts or make(b) in seconds for a, b in test) / len(test)

    return answer


MAKE = {
    "lower case": str.lower,
    "no mark": lambda text: text.rstrip(" .!?"),
    "no blank": str.strip,
    "first word": lambda text: text.split()[0],
}


@pytest.mark.parametrize("name", MAKE)
def test_a_text_is_compared_as_it_stands(name):
    assert status("leaked", leaked_by(MAKE[name])) == "wrong"
    assert status("leaked", leaked_by(str)) == "passed"


def one_set(train, test):
    seen = {text for pair in train for text in pair}
    return sum(a in seen or b in seen for a, b in test) / len(test)


def part_of_a_text(train, test):
    sides = [" ".join(pair[side] for pair in train) for side in (0, 1)]
    return sum(a in sides[0] or b in sides[1] for a, b in test) / len(test)


def of_the_package(train, test):
    return measure_leak(train, test).either


@pytest.mark.parametrize("answer", [one_set, part_of_a_text, of_the_package])
def test_each_side_is_looked_for_in_its_own_place_and_whole(answer):
    assert status("leaked", answer) == "wrong"


def groups_by_hand(pairs):
    """The loop of lesson 08 as it stands there, its groups sorted."""
    found = []
    for pair in pairs:
        near = [g for g in found if any(set(pair) & set(p) for p in g)]
        rest = [g for g in found if g not in near]
        found = [*rest, [p for g in near for p in g] + [pair]]
    return sorted(map(sorted, found))


def groups_of_the_package(pairs):
    return sorted(map(sorted, group_pairs(pairs)))


def in_hops(pairs, hops):
    groups, left = [], list(pairs)
    while left:
        group = [left.pop(0)]
        for _ in range(hops):
            near = [p for p in left if any(p[0] == a or p[1] == b for a, b in group)]
            group += near
            left = [p for p in left if p not in near]
        groups.append(sorted(group))
    return sorted(groups)


def test_groups_are_not_those_of_the_lesson():
    for answer in (groups_by_hand, groups_of_the_package):
        verdict = ALL["groups"].check(answer)
        assert verdict.status == "wrong"
        assert ".hint() gives" not in repr(verdict)


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_a_chain_may_be_longer(hops):
    assert status("groups", lambda pairs: in_hops(pairs, hops)) == "wrong"
    assert status("groups", lambda pairs: in_hops(pairs, 99)) == "passed"


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


def test_a_fault_may_be_found_in_many_steps():
    for pause in (1, 2, 5):
        assert status("fault", lambda trainer, n=pause: fault_by_norms(trainer, n)) == "passed"
    assert status("fault", lambda trainer: fault_by_norms(trainer, limit=3.0)) == "wrong"


def test_a_fault_is_no_matter_of_the_loss_alone():
    def by_loss(trainer):
        first, second = trainer.step(), trainer.step()
        return "uphill" if second > first else "none" if second < first else "nothing moves"

    assert status("fault", by_loss) == "wrong"
