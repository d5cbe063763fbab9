"""The token budget, and the order of an epoch."""

import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.data.batches import Example, collate
from transformer.data.token_budget import TokenBudgetBatches, length_sort_key
from transformer.support.errors import UserError

STEADY = settings(deadline=None, derandomize=True)


def examples_of(lengths: list[tuple[int, int]]) -> list[Example]:
    return [Example([5 + i] * src, [5 + i] * tgt) for i, (src, tgt) in enumerate(lengths)]


def mixed(number: int = 211) -> list[Example]:
    """Examples of 1 to 13 source and 1 to 17 target tokens, in an order without a pattern."""
    return examples_of([(1 + i * 31 % 13, 1 + i * 37 % 17) for i in range(number)])


def test_what_are_no_examples_is_refused() -> None:
    for examples in ([], [[5, 5]], [([5], 3)], [([5], [5], [5])], [5]):
        with pytest.raises(UserError, match=r"give (one or more|an Example)"):
            TokenBudgetBatches(examples, 9)


LENGTHS = st.lists(st.tuples(st.integers(1, 11), st.integers(1, 13)), min_size=1, max_size=60)


@STEADY
@given(LENGTHS, st.integers(14, 97), st.integers(1, 5), st.integers(0, 3))
def test_every_example_once_and_never_over_the_budget(
    lengths: list[tuple[int, int]], budget: int, pool_batches: int, epoch: int
) -> None:
    batches = TokenBudgetBatches(examples_of(lengths), budget, pool_batches=pool_batches)
    plan = batches.plan(epoch)
    assert sorted(index for batch in plan for index in batch) == list(range(len(lengths)))
    for batch in batches.epoch(epoch):
        assert batch.src.numel() <= budget
        assert batch.tgt_out.numel() <= budget


def test_packing_by_hand() -> None:
    # with end marks 2, 2, 2, 3 and 5 positions; the budget holds 2 rows of 2 or of 3
    batches = TokenBudgetBatches(examples_of([(1, 1), (4, 1), (1, 1), (1, 2), (1, 1)]), 6)
    plan = batches.plan(0)
    assert sorted(map(len, plan)) == [1, 1, 3]
    assert [1] in plan
    assert [3] in plan


def test_a_batch_has_a_bounded_number_of_sentences_too() -> None:
    for bound, sizes in ((None, [3, 5, 5, 5, 5]), (4, [3, 4, 4, 4, 4, 4]), (9, [3, 5, 5, 5, 5])):
        plan = TokenBudgetBatches(examples_of([(6, 6)] * 23), 7 * 5, bound).plan(0)
        assert sorted(map(len, plan)) == sizes


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    plan = TokenBudgetBatches(mixed(), 97, seed=3).plan(2)
    used = TokenBudgetBatches(mixed(), 97, seed=3)
    list(used.epoch(0))
    assert used.plan(2) == plan
    assert TokenBudgetBatches(mixed(), 97, seed=2).plan(3) != plan  # they do not change places
    crossed = [TokenBudgetBatches(mixed(), 97, seed=s).plan(e) for s, e in ((1, 11), (11, 1))]
    assert crossed[0] != crossed[1]
    first, second = ({frozenset(batch) for batch in used.plan(epoch)} for epoch in (2, 3))
    assert len(first & second) < len(first) / 2  # other neighbours, not only another order


def test_short_sentences_do_not_come_first() -> None:
    whole_epoch_in_one_pool = TokenBudgetBatches(mixed(), 97, pool_batches=1009)
    longest = [max(b.src.shape[1], b.tgt_in.shape[1]) for b in whole_epoch_in_one_pool.epoch(0)]
    assert longest != sorted(longest)


def test_a_pool_holds_about_its_number_of_batches() -> None:
    examples = examples_of([(6, 6)] * 900)
    for sentences in (None, 4):
        batches = TokenBudgetBatches(examples, 7 * 16, sentences, pool_batches=9)
        pools = [*batches._cut_into_pools(np.arange(len(examples)))][:-1]
        assert {len([*batches._pack(pool)]) for pool in pools} == {9}


def test_of_pairs_as_long_those_with_like_targets_stand_together() -> None:
    pairs = examples_of([(7, 2), (7, 5), (3, 7), (7, 2)])
    assert [length_sort_key(pair) for pair in pairs] == [(8, 2), (8, 5), (8, 7), (8, 2)]


def planned_one_by_one(
    examples: list[Example], budget: int, most: int, pool_batches: int, epoch: int
) -> list[list[int]]:
    """The plan in plain loops, example by example, as runs of before had it."""
    keys = [length_sort_key(example) for example in examples]
    generator = random.Random(f"1 {epoch}")
    order = list(range(len(examples)))
    generator.shuffle(order)
    pools: list[list[int]] = [[]]
    for index in order:
        pool = pools[-1]
        tokens = sum(keys[other][0] for other in pool)
        if max(tokens / budget, len(pool) / most) >= pool_batches:
            pools.append(pool := [])
        pool.append(index)
    batches: list[list[int]] = []
    for pool in pools:
        batches.append([])
        for index in sorted(pool, key=lambda index: keys[index]):
            rows = len(batches[-1]) + 1
            if rows * keys[index][0] > budget or rows > most:
                batches.append([])
            batches[-1].append(index)
    generator.shuffle(batches)
    return batches


@STEADY
@given(LENGTHS, st.integers(14, 97), st.integers(1, 7), st.integers(1, 5), st.integers(0, 3))
def test_a_plan_is_that_of_plain_loops(
    lengths: list[tuple[int, int]], budget: int, most: int, pool_batches: int, epoch: int
) -> None:
    examples = examples_of(lengths)
    batches = TokenBudgetBatches(examples, budget, most, pool_batches=pool_batches)
    plan = planned_one_by_one(examples, budget, most, pool_batches, epoch)
    assert batches.plan(epoch) == plan
    for batch, rows in zip(batches.epoch(epoch, start=1), plan[1:], strict=True):
        expected = collate([examples[row] for row in rows])
        for name in ("src", "tgt_in", "tgt_out"):
            assert torch.equal(getattr(batch, name), getattr(expected, name))
