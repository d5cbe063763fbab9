"""Batching rules, and the waste of each as real batches have it."""

import pytest

from lessonkit.analysis.padding import BATCHING_RULES, measure_padding, plan_batches_by_each_rule
from transformer.data.batches import Example, collate, padding_share
from transformer.support.errors import UserError

HAND = [Example([5, 7, 11], [13, 17]), Example([19], [23, 29, 31])]


def mixed(number: int = 211) -> list[Example]:
    """Examples of 1 to 13 source and 1 to 17 target tokens, in an order without a pattern."""
    return [Example([5] * (1 + i * 31 % 13), [5] * (1 + i * 37 % 17)) for i in range(number)]


def test_every_rule_takes_every_example_once() -> None:
    made = plan_batches_by_each_rule(mixed(), 97)
    assert tuple(made) == BATCHING_RULES
    for rule, plan in made.items():
        assert sorted(index for batch in plan for index in batch) == list(range(211)), rule
    numbers = [len(plan) for plan in made.values()]
    assert max(numbers) - min(numbers) <= 2


def test_measured_as_real_batches_are_padded() -> None:
    examples = mixed()
    for plan in plan_batches_by_each_rule(examples, 97).values():
        batches = [collate([examples[index] for index in batch]) for batch in plan]
        sizes = [batch.src.numel() + batch.tgt_out.numel() for batch in batches]
        assert measure_padding(examples, plan) == {
            "batches": len(batches),
            "padding": pytest.approx(padding_share(batches)),
            "largest": max(sizes),
            "mean": pytest.approx(sum(sizes) / len(sizes)),
        }


def test_only_the_budget_bounds_the_largest_batch_and_sorted_goes_by_the_longer_side() -> None:
    examples = mixed(1009)
    figures = {
        rule: measure_padding(examples, plan)
        for rule, plan in plan_batches_by_each_rule(examples, 97).items()
    }
    assert figures["token budget"]["largest"] <= 2 * 97 < figures["sorted"]["largest"]
    assert figures["random"]["padding"] > 2 * figures["sorted"]["padding"]
    order = [
        index for batch in plan_batches_by_each_rule(examples, 97)["sorted"] for index in batch
    ]
    lengths = [max(len(side) for side in examples[index]) for index in order]
    assert lengths == sorted(lengths)
    assert lengths != [len(examples[index].src) for index in order]


def test_refusals() -> None:
    with pytest.raises(UserError, match="batch_tokens is 3, and the longest sentence has 4"):
        plan_batches_by_each_rule(HAND, 3)
