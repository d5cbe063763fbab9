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
