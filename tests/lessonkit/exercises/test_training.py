"""Lesson 05: wrong answers that have passed, and right ones that must."""

import pytest
import torch
import torch.nn.functional as F

from tests.helpers.exercise_walk import status


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


def train(model, batches, warmup_steps, clip_norm, smoothing=0.0, keeps=True, reduction="mean"):
    """A training whose rate comes from PyTorch's own schedule."""
    model.train()

    def rate(done):
        return model.d_model**-0.5 * min((done + 1) ** -0.5, (done + 1) * warmup_steps**-1.5)

    adam = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, rate)
    losses = []
    for src, tgt_in, tgt_out in batches:
        if not keeps:
            adam = torch.optim.Adam(model.parameters(), rate(len(losses)), (0.9, 0.98), 1e-9)
        logits, targets = model(src, tgt_in).flatten(0, 1), tgt_out.flatten()
        loss = F.cross_entropy(
            logits[targets > 0],
            targets[targets > 0],
            label_smoothing=smoothing,
            reduction=reduction,
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        adam.step()
        schedule.step()
        model.zero_grad()
        losses.append(loss.item())
    return losses


def measured_after_the_step(model, batches, *rest):
    losses = train(model, batches, *rest)
    return [*losses[1:], train(model, batches[-1:], *rest)[0]]


TRAININGS = {
    "smoothed": lambda *case: train(*case, smoothing=0.1),
    "a new Adam each step": lambda *case: train(*case, keeps=False),
    "sums": lambda *case: train(*case, reduction="sum"),
    "measured after the step": measured_after_the_step,
}


@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
def test_a_training_is_refused(name):
    assert status("train", TRAININGS[name]) == "wrong"


def test_a_training_may_take_its_rate_from_a_schedule():
    assert status("train", train) == "passed"
