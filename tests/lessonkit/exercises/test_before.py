"""Lesson 10: wrong answers that have passed, and right ones that must."""

import math

import pytest
import torch

from tests.helpers.exercise_walk import ALL, status


def one_component(outputs, lengths):
    return outputs.gather(1, (lengths - 1)[:, None, None]).squeeze(1)


def all_components(outputs, lengths):
    places = (lengths - 1)[:, None, None].expand(-1, 1, outputs.shape[-1])
    return outputs.gather(1, places).squeeze(1)


def in_five_parts(gates, cell):
    enters, stays, new, leaves = gates.chunk(5)
    cell = stays.sigmoid() * cell + enters.sigmoid() * new.tanh()
    return [leaves.sigmoid() * cell.tanh(), cell]


def none_for_one(n, kernel):
    layers = 0
    while kernel**layers < n:
        layers += 1
    return layers


@pytest.mark.parametrize(
    ("name", "answer"),
    [("last_state", one_component), ("lstm_step", in_five_parts), ("reach", none_for_one)],
)
def test_refused(name, answer):
    assert status(name, answer) == "wrong"


def test_accepted():
    assert status("last_state", all_components) == "passed"
    assert (
        status(
            "last_state",
            lambda outputs, n: torch.stack(
                [row[int(i) - 1] for row, i in zip(outputs, n, strict=True)]
            ),
        )
        == "passed"
    )


@pytest.mark.parametrize(
    "logarithm", [lambda n, k: math.log(n, k), lambda n, k: math.log(n) / math.log(k)]
)
def test_a_rounded_logarithm_is_recognised(logarithm):
    text = repr(ALL["reach"].check(lambda n, k: max(1, math.ceil(logarithm(n, k)))))
    assert "math.log(125, 5)" in text


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


def test_sight_may_be_tested_by_cutting():
    """A prefix must be decoded as it is inside the whole."""
    found = {status("sight", lambda *case, n=n: sight_in_one_pass(*case, n)) for n in range(1, 9)}
    assert "passed" in found


def test_padding_stands_at_the_end():
    assert status("sight", lambda *case: sight_in_one_pass(*case, front=1)) == "wrong"
