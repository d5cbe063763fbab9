"""Lesson 05: wrong answers that have passed, and right ones that must."""

import pytest
import torch

from tests.helpers.exercise_walk import status


def losses_above_zero(batches, pad_id):
    all_losses = torch.cat([(losses * (ids != pad_id)).flatten() for losses, ids in batches])
    return float(all_losses[all_losses > 0].mean())


def adam(weight, grad, m, v, step, rate, epsilon=1e-9):
    m, v = 0.9 * m + 0.1 * grad, 0.98 * v + 0.02 * grad**2
    m_hat, v_hat = m / (1 - 0.9**step), v / (1 - 0.98**step)
    return weight - rate * m_hat / (v_hat.sqrt() + epsilon), m, v


def without_epsilon(*args):
    return adam(*args, epsilon=0)


def epsilon_too_large(*args):
    return adam(*args, epsilon=1e-8)


def mean_of(grads, tokens):
    return sum(grad * count for grad, count in zip(grads, tokens, strict=True)) / sum(tokens)


def by_its_direction(grads, tokens, clip_norm):
    mean = mean_of(grads, tokens)
    return mean / mean.norm() * min(clip_norm, float(mean.norm()))


def by_a_factor(grads, tokens, clip_norm):
    mean = mean_of(grads, tokens)
    return mean * torch.clamp(clip_norm / mean.norm(), max=1)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("loss_per_token", losses_above_zero),
        ("adam_step", without_epsilon),
        ("adam_step", epsilon_too_large),
        ("accumulated_gradient", by_its_direction),
    ],
)
def test_refused(name, answer):
    assert status(name, answer) == "wrong"


@pytest.mark.parametrize(
    ("name", "answer"), [("adam_step", adam), ("accumulated_gradient", by_a_factor)]
)
def test_accepted(name, answer):
    assert status(name, answer) == "passed"
