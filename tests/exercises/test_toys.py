"""The toys of exercises refuse what no right answer does."""

import pytest
import torch

from tests.helpers.exercise_walk import ALL
from transformer.config import BOS_ID, EOS_ID
from transformer.exercises.rules import BrokenRuleError
from transformer.exercises.toys import MAX_CALLS, Blocks, Script, Table


def test_a_toy_ends_a_loop_that_has_no_end() -> None:
    def endless(next_scores, limit):
        while True:
            next_scores([BOS_ID])

    assert f"asked {MAX_CALLS} times" in repr(ALL["greedy"].check(endless))
    assert f"asked {MAX_CALLS} times" in repr(ALL["most_probable"].check(endless))


def test_a_script_refuses_a_prefix_that_it_did_not_write() -> None:
    script = Script([4, EOS_ID])
    assert script([BOS_ID, 4])[EOS_ID] == max(script([BOS_ID, 4]))
    for prefix in ([4], [], [BOS_ID, 5]):
        with pytest.raises(ValueError, match="give all tokens so far, bos first"):
            script(prefix)
    with pytest.raises(ValueError, match="bos first"):
        Table({BOS_ID: {EOS_ID: 1.0}})([4])


def test_blocks_are_read_as_a_list_is_but_once() -> None:
    blocks = Blocks(3, 5)
    assert repr(blocks) == "ex.Blocks(3, 5)"
    assert len(blocks) == 3
    assert blocks[0][1].shape == blocks[-1][1].shape == (5, 1)  # looks at a shape
    assert [(key.shape, value.shape) for key, value in blocks] == [((5, 2), (5, 1))] * 3
    with pytest.raises(BrokenRuleError, match="a second time"):
        list(blocks)
    other = Blocks(3, 5)
    assert torch.equal(other[-1][0], Blocks(3, 5)[2][0]), "the same numbers each time"
    assert len(other[1:]) == 2
    with pytest.raises(BrokenRuleError, match="a second time"):
        other[1:]
