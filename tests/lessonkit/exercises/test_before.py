"""Lesson 10: wrong answers that have passed, and right ones that must."""

import math
from functools import partial

import torch

from tests.helpers.exercise_walk import ALL, status


def gathered(outputs, lengths, size=None):
    places = (lengths - 1)[:, None, None].expand(-1, 1, size or outputs.shape[-1])
    return outputs.gather(1, places).squeeze(1)


def in_five_parts(gates, cell):
    enters, stays, new, leaves = gates.chunk(5)
    cell = stays.sigmoid() * cell + enters.sigmoid() * new.tanh()
    return [leaves.sigmoid() * cell.tanh(), cell]


def test_a_state_is_all_of_its_components_and_a_gate_a_fourth():
    assert status("last_state", gathered) == "passed"
    assert status("last_state", partial(gathered, size=1)) == "wrong"
    assert status("lstm_step", in_five_parts) == "wrong"


def test_a_rounded_logarithm_is_recognised():
    for logarithm in (math.log, lambda n, k: math.log(n) / math.log(k)):
        answer = lambda n, k, log=logarithm: max(1, math.ceil(log(n, k)))  # noqa: E731
        assert "math.log(125, 5)" in repr(ALL["reach"].check(answer))


def sight_in_one_pass(decode, src, tgt_in, other=1, front=0):
    logits = decode(src, tgt_in)
    for length in range(1, len(tgt_in)):
        if not torch.allclose(decode(src, tgt_in[:length]), logits[:length]):
            return "sees the future"
    padded = torch.nn.functional.pad(src, (front, 3 - front))
    if not torch.allclose(decode(padded, tgt_in), logits):
        return "sees padding"
    other = decode(torch.full_like(src, other), tgt_in)
    return "deaf to the source" if torch.allclose(other, logits) else "none"


def test_sight_may_be_tested_by_cutting_and_padding_stands_at_the_end():
    """A prefix must be decoded as it is inside the whole."""
    found = {status("sight", partial(sight_in_one_pass, other=n)) for n in range(1, 9)}
    assert "passed" in found
    assert status("sight", partial(sight_in_one_pass, front=1)) == "wrong"
