"""Batches: text to ids, and hand-worked padding."""

import numpy as np
import pytest
import torch

from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.data.batches import (
    Example,
    LeftOut,
    collate,
    collate_rows,
    collate_sources,
    encode_and_count_pairs,
    encode_pairs,
    padding_share,
)
from transformer.data.examples import example_arrays
from transformer.data.parallel import ParallelText
from transformer.data.tokenizers import BPETokenizer, WordTokenizer
from transformer.support.errors import UserError

PAIRS = [Example([5, 7, 11], [13, 17]), Example([19], [23, 29, 31])]


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


def test_rows_that_are_not_there_are_refused() -> None:
    arrays = example_arrays(PAIRS)
    assert collate_rows(arrays, np.array([1])).src.tolist() == [[19, EOS_ID]]
    for rows in ([], [2], [-1]):
        with pytest.raises(UserError, match="0 to 1"):
            collate_rows(arrays, np.array(rows, dtype=np.int64))


def test_what_are_no_pairs_of_ids_is_refused() -> None:
    for examples in ([], [[5, 5]], [([5], 3)], [([5], [5], [5])], [5]):
        with pytest.raises(UserError, match=r"give (one or more|an Example)"):
            collate(examples)


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
