"""The toys of exercises refuse what no right answer does."""

import pytest
import torch

from lessonkit.exercises.rules import BrokenRuleError
from lessonkit.exercises.toy_models import (
    MAX_SENTENCE_LENGTH,
    EncodeOnceTransformer,
    PositionReader,
    ReadOnceKeyValueBlocks,
)
from lessonkit.exercises.without_torch.probability_table import MAX_TABLE_CALLS, ProbabilityTable
from tests.helpers.exercise_walk import ALL
from transformer.config import BOS_ID, EOS_ID


def test_a_toy_ends_a_loop_that_has_no_end() -> None:
    def endless(next_scores, limit):
        while True:
            next_scores([BOS_ID])

    assert f"asked {MAX_TABLE_CALLS} times" in repr(ALL["most_probable_sentence"].check(endless))
    with pytest.raises(ValueError, match="bos first"):
        ProbabilityTable({BOS_ID: {EOS_ID: 1.0}})([4])


def test_blocks_are_read_as_a_list_is_but_once() -> None:
    blocks, other = ReadOnceKeyValueBlocks(3, 5), ReadOnceKeyValueBlocks(3, 5)
    assert (repr(blocks), len(blocks)) == ("ex.ReadOnceKeyValueBlocks(3, 5)", 3)
    assert blocks[0][1].shape == blocks[-1][1].shape == (5, 1)  # looks at a shape
    assert torch.equal(other[-1][0], blocks[2][0]), "the same numbers each time"
    assert [(key.shape, value.shape) for key, value in blocks] == [((5, 2), (5, 1))] * 3
    assert len(other[1:]) == 2
    for again in (lambda: list(blocks), lambda: other[1:]):
        with pytest.raises(BrokenRuleError, match="a second time"):
            again()


def test_a_reader_reads_once_and_scores_what_follows_each_token() -> None:
    src, mask = torch.tensor([[5, 4, 3]]), torch.ones(1, 1, 1, 3, dtype=torch.bool)
    copier, reader = EncodeOnceTransformer(None), EncodeOnceTransformer(3)
    memory = copier.encode(src, mask)
    for given in ([[4]], [[]]):
        with pytest.raises(BrokenRuleError, match="do not begin with the bos"):
            copier.decode(torch.tensor(given), memory, mask)
    for given in (torch.tensor([2]), torch.tensor([[[2, 5]]]), torch.tensor([[2], [2]]), [[2]]):
        with pytest.raises(BrokenRuleError, match=r"not a tensor \(1, number of ids\)"):
            copier.decode(given, memory, mask)
    with pytest.raises(BrokenRuleError, match="does your loop end"):
        copier.decode(torch.tensor([[2] * (MAX_SENTENCE_LENGTH + 1)]), memory, mask)
    with pytest.raises(ValueError, match="no mask"):
        copier.decode(torch.tensor([[2]]), memory, src)
    with pytest.raises(BrokenRuleError, match="it reads the source a second time"):
        copier.encode(src, mask)
    written = torch.tensor([[2, 5, 4]])
    assert copier.decode(written, memory, mask).argmax(dim=-1).tolist() == src.tolist()
    logits = reader.decode(written, reader.encode(src, mask), mask)
    assert logits.shape == (1, 3, 7)
    assert logits[0, :, [0, 2]].isinf().all(), "no pad, no bos"
    assert torch.equal(logits[:, :2], reader.decode(written[:, :2], memory, mask))
    other = reader.decode(torch.tensor([[2, 6, 4]]), memory, mask)
    assert not torch.allclose(logits[0, 2, 3:], other[0, 2, 3:]), "earlier tokens count"


def test_a_position_reader_reads_the_positions_of_its_rows_and_tells_pairs_of_types_apart() -> None:
    logits_of = PositionReader(("100", "011", "111"), 5)
    before = logits_of([4, 2, 6])
    assert before.shape == (3, 7)
    assert torch.equal(logits_of([5, 3, 6]), before), "types of one pair have the same vector"
    moved = [(logits_of(ids) != before).any(dim=1).tolist() for ids in ([6, 2, 6], [4, 6, 6])]
    assert moved == [[True, False, True], [False, True, True]]
    with pytest.raises(ValueError, match="2 ids: give 3"):
        logits_of([4, 2])
