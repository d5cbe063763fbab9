"""Lesson 09: wrong answers that have passed."""

import math

import torch

from tests.helpers.exercise_walk import status


def as_if_square(weight, head, d_v):
    keep = torch.ones(weight.shape[0])
    keep[(head - 1) * d_v : head * d_v] = 0
    return weight * keep


def strong_ones(weights):
    found = []
    for tgt, row in enumerate(weights.tolist()):
        src = row.index(max(row))
        if src < len(row) - 1 and row[src] >= 0.3:
            found.append((src, tgt))
    return found


def without_small_weights(weights):
    return -sum(w * math.log(w) for w in weights if w > 0.01)


def test_refused():
    assert status("prune", as_if_square) == "wrong"
    assert status("links", strong_ones) == "wrong"
    assert status("spread", without_small_weights) == "wrong"
