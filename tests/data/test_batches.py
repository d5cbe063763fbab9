"""Batches: hand-worked padding, the token budget, the order of an epoch."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.data.batches import (
    Example,
    LeftOut,
    TokenBudgetBatches,
    collate,
    collate_sources,
    encode_and_count_pairs,
    encode_pairs,
    length_sort_key,
    padding_share,
)
from transformer.data.parallel import ParallelText
from transformer.data.tokenizers import BPETokenizer, WordTokenizer
from transformer.support.errors import UserError

STEADY = settings(deadline=None, derandomize=True)
PAIRS = [Example([5, 7, 11], [13, 17]), Example([19], [23, 29, 31])]


def examples_of(lengths: list[tuple[int, int]]) -> list[Example]:
    return [Example([5 + i] * src, [5 + i] * tgt) for i, (src, tgt) in enumerate(lengths)]


def mixed(number: int = 211) -> list[Example]:
    """Examples of 1 to 13 source and 1 to 17 target tokens, in an order without a pattern."""
    return examples_of([(1 + i * 31 % 13, 1 + i * 37 % 17) for i in range(number)])


# --- one batch ------------------------------------------------------------------------


def test_collate_by_hand() -> None:
    batch = collate(PAIRS)
    assert batch.src.tolist() == [[5, 7, 11, EOS_ID], [19, EOS_ID, PAD_ID, PAD_ID]]
    assert batch.tgt_in.tolist() == [[BOS_ID, 13, 17, PAD_ID], [BOS_ID, 23, 29, 31]]
    assert batch.tgt_out.tolist() == [[13, 17, EOS_ID, PAD_ID], [23, 29, 31, EOS_ID]]
    assert {t.dtype for t in (batch.src, batch.tgt_in, batch.tgt_out)} == {torch.int64}
    assert batch.num_tgt_tokens == 3 + 4  # with end marks, without padding
    assert collate_sources([pair.src for pair in PAIRS]).tolist() == batch.src.tolist()
    assert collate_sources([[]]).tolist() == [[EOS_ID]]
    moved = batch.to("meta")
    assert {t.device.type for t in (moved.src, moved.tgt_in, moved.tgt_out)} == {"meta"}


def test_what_are_no_pairs_of_ids_is_refused() -> None:
    for examples in ([], [[5, 5]], [([5], 3)], [([5], [5], [5])], [5]):
        for function in (collate, lambda pairs: TokenBudgetBatches(pairs, 9)):
            with pytest.raises(UserError, match=r"give (one or more|an Example)"):
                function(examples)


def test_padding_share_by_hand() -> None:
    # source: 2 of 8 positions are padding; target: 1 of 8
    assert padding_share([collate(PAIRS)]) == pytest.approx(3 / 16)
    # a second batch of one pair, 2 + 3 positions, without padding
    assert padding_share([collate(PAIRS), collate([Example([5], [5, 5])])]) == pytest.approx(3 / 21)


# --- text to ids ----------------------------------------------------------------------


def test_encode_pairs_drops_what_is_empty_or_too_long_on_either_side() -> None:
    letters = BPETokenizer([])  # n letters and the blank before them: n + 1 tokens
    pairs = ParallelText("de", "en", ["ab", "abc", "ab", "a"], ["abc", "ab", "ab", "x"])
    examples = encode_pairs(letters, letters, pairs, max_tokens=3)
    assert examples == [tuple(map(letters.encode, pair)) for pair in (["ab", "ab"], "ax")]
    assert len(encode_pairs(letters, letters, pairs)) == 4
    counted = encode_and_count_pairs(letters, letters, pairs, max_tokens=3)
    assert counted == (examples, LeftOut(too_long=len(pairs) - len(examples)))
    src_words, tgt_words = WordTokenizer("de", ["Hund", "ja"]), WordTokenizer("en", ["yes", "dog"])
    pairs = ParallelText("de", "en", ["Hund", "", "ja"], ["dog", "dog", ""])
    assert encode_and_count_pairs(src_words, tgt_words, pairs) == (
        [Example([4], [5])],
        LeftOut(empty=2),
    )
    pairs = ParallelText("de", "en", ["abc", ""], ["", "abc"])
    for tokenizer, max_tokens, allowed in ((src_words, None, "1 or more"), (letters, 2, "1 to 2")):
        with pytest.raises(UserError, match=f"none of the 2 pairs has {allowed} tokens.*max_train"):
            encode_pairs(tokenizer, tokenizer, pairs, max_tokens)


# --- an epoch -------------------------------------------------------------------------

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
        pools = [*batches._cut_into_pools(range(len(examples)))][:-1]
        assert {len([*batches._pack(pool)]) for pool in pools} == {9}


def test_of_pairs_as_long_those_with_like_targets_stand_together() -> None:
    pairs = examples_of([(7, 2), (7, 5), (3, 7), (7, 2)])
    assert [length_sort_key(pair) for pair in pairs] == [(8, 2), (8, 5), (8, 7), (8, 2)]
