"""The exercises of lesson 05, in its order: the rate, the target, Adam, a loop, several batches.

`Parrot` is its toy (§5.3, §5.4).
"""

import itertools
import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import Parrot, drawing

words = read_words("05")
globals().update(asked(words))  # recall and the predictions

State = tuple[Tensor, Tensor, Tensor]
Batch = tuple[Tensor, Tensor, Tensor]


def my_warmup_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """Give the learning rate of a step, counted from 1."""
    rising = step * warmup_steps**-1.5
    falling = step**-0.5
    return d_model**-0.5 * min(rising, falling)


def _by_peak(step: int, d_model: int, warmup_steps: int) -> float:
    """Start from the peak: a straight line up to it, one over the root after it."""
    peak = 1 / math.sqrt(d_model * warmup_steps)
    return peak * min(step / warmup_steps, math.sqrt(warmup_steps / step))


warmup_rate = Exercise(
    my_warmup_rate,
    words,
    worked=[
        ((4, 16, 4), 0.125),  # the peak: one over the root of 64
        ((1, 16, 4), 0.03125),  # a quarter of the way up
        ((16, 16, 4), 0.0625),  # four times as late, half as high
    ],
    cases=list(itertools.product((1, 2, 3, 9, 50), (1, 4, 36), (1, 2, 9))),
    expected=_by_peak,
    wrong={"counted_from_zero": lambda step, *sizes: my_warmup_rate(step + 1, *sizes)},
    properties={"a rate is above 0": lambda value, *_: value > 0},
)


def my_smoothed_target(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Give the probability asked for of every type; nothing for padding."""
    if true_id == pad_id:
        return [0.0] * vocab_size
    target = [smoothing / (vocab_size - 2)] * vocab_size
    target[pad_id] = 0.0
    target[true_id] = 1 - smoothing
    return target


def _by_mixing(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Mix two distributions: the truth alone, and an even one over what is neither."""
    ids = np.arange(vocab_size)
    truth = (ids == true_id).astype(float)
    rest = ((ids != true_id) & (ids != pad_id)).astype(float)
    mixed = (1 - smoothing) * truth + smoothing * rest / rest.sum()
    return [float(share) for share in mixed * (true_id != pad_id)]


smoothed_target = Exercise(
    my_smoothed_target,
    words,
    worked=[((2, 5, 0.3, 0), [0.0, 0.1, 0.7, 0.1, 0.1]), ((0, 3, 0.1, 0), [0.0, 0.0, 0.0])],
    cases=[
        (true_id, vocab_size, smoothing, pad_id)
        for vocab_size in (3, 4, 7)
        for true_id in range(vocab_size)
        for smoothing in (0.0, 0.1, 0.4)
        for pad_id in (0, 2)
    ],
    expected=_by_mixing,
    wrong={
        "all_or_nothing": lambda true_id, vocab_size, smoothing, pad_id: my_smoothed_target(
            true_id, vocab_size, 0.0, pad_id
        )
    },
    properties={
        "a target sums to 1, or to 0 at padding": lambda value, true_id, *sizes: math.isclose(
            sum(value), true_id != sizes[-1], abs_tol=1e-6
        )
    },
)


def my_adam_step(
    weight: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float
) -> State:
    """Make one update; give the new weight and both new moments."""
    m = 0.9 * m + 0.1 * grad
    v = 0.98 * v + 0.02 * grad**2
    m_hat = m / (1 - 0.9**step)
    v_hat = v / (1 - 0.98**step)
    weight = weight - rate * m_hat / (v_hat**0.5 + 1e-9)
    return weight, m, v


def _by_torch(weight: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float) -> State:
    """Let PyTorch's Adam make the step, put where the arguments say it stands."""
    parameter = nn.Parameter(weight.clone())
    parameter.grad = grad.clone()
    optimizer = torch.optim.Adam([parameter], lr=rate, betas=(0.9, 0.98), eps=1e-9)
    optimizer.state[parameter] = {
        "step": torch.tensor(float(step - 1)),
        "exp_avg": m.clone(),
        "exp_avg_sq": v.clone(),
    }
    optimizer.step()
    state = optimizer.state[parameter]
    return parameter.detach(), state["exp_avg"], state["exp_avg_sq"]


def _updates() -> list[tuple[Tensor, Tensor, Tensor, Tensor, int, float]]:
    """Single numbers at the first step and later, a small gradient, then a matrix."""

    def case(*numbers: float, step: int, rate: float) -> tuple[*State, Tensor, int, float]:
        weight, grad, m, v = (torch.tensor([number]) for number in numbers)
        return weight, grad, m, v, step, rate

    cases = [
        case(1.0, 2.0, 0.0, 0.0, step=1, rate=0.5),
        case(1.0, -2.0, 0.5, 1.0, step=2, rate=0.5),
        case(0.0, 1e-4, 0.0, 0.0, step=1, rate=1.0),  # here epsilon's place shows
        case(0.0, 1e-8, 0.0, 0.0, step=1, rate=1.0),  # here its size
        case(2.0, 0.0, 0.0, 0.0, step=1, rate=0.5),  # here that it is needed
        case(3.0, 0.0, 1.0, 4.0, step=9, rate=0.1),
    ]
    weight, grad, m, v = drawing(0)(4, 2, 3).unbind()
    return [*cases, (weight, grad, m, v.abs(), 5, 0.1)]


adam_step = Exercise(
    my_adam_step,
    words,
    worked=[
        (  # the first step: m_hat is the gradient, v_hat its square, so it moves by the rate
            (torch.tensor([1.0]), torch.tensor([4.0]), torch.zeros(1), torch.zeros(1), 1, 0.25),
            (torch.tensor([0.75]), torch.tensor([0.4]), torch.tensor([0.32])),
        )
    ],
    cases=_updates(),
    expected=_by_torch,
)


def my_train(model: Any, batches: list[Batch], warmup_steps: int, clip_norm: float) -> list[float]:
    """Make a step on each batch; give the loss before each step."""
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    model.train()
    losses = []
    for step, (src, tgt_in, tgt_out) in enumerate(batches, start=1):
        logits = model(src, tgt_in)
        loss = F.cross_entropy(logits.mT, tgt_out, ignore_index=0)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        rate = min(step**-0.5, step * warmup_steps**-1.5)
        adam.param_groups[0]["lr"] = model.d_model**-0.5 * rate
        adam.step()
        losses.append(loss.item())
    return losses


def _by_formula(
    model: Parrot, batches: list[Batch], warmup_steps: int, clip_norm: float
) -> list[float]:
    """Do it with no optimizer: gradients by `autograd.grad`, clip and Adam by their formulas."""
    model.train()
    weights, losses = list(model.parameters()), []
    moments = [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in weights]
    for step, (src, tgt_in, tgt_out) in enumerate(batches, start=1):
        log_probs = model(src, tgt_in).log_softmax(dim=-1)
        real = (tgt_out != 0).float()
        nll = -log_probs.gather(-1, tgt_out[..., None])[..., 0]
        loss = (nll * real).sum() / real.sum()
        grads = torch.autograd.grad(loss, weights)
        norm = math.sqrt(sum(float((grad**2).sum()) for grad in grads))
        shrink = clip_norm / norm if norm > clip_norm else 1.0
        moments = [
            (0.9 * m + 0.1 * shrink * grad, 0.98 * v + 0.02 * (shrink * grad) ** 2)
            for (m, v), grad in zip(moments, grads, strict=True)
        ]
        rate = _by_peak(step, model.d_model, warmup_steps)
        with torch.no_grad():
            for weight, (m, v) in zip(weights, moments, strict=True):
                typical = (v / (1 - 0.98**step)).sqrt() + 1e-9
                weight.sub_(rate * m / (1 - 0.9**step) / typical)
        losses.append(loss.item())
    return losses


def _batch(src: list[int], *sentences: list[int]) -> Batch:
    """Pad and shift, with the same source for each."""
    longest = max(map(len, sentences))
    tgt = torch.tensor([[2, *ids, 3] + [0] * (longest - len(ids)) for ids in sentences])
    return torch.tensor([src] * len(sentences)), tgt[:, :-1].contiguous(), tgt[:, 1:].contiguous()


def _trainings() -> list[tuple[Parrot, list[Batch], int, float]]:
    """One step and several, up to the peak and past it, below the limit and above."""
    some = [
        _batch([4, 3], [5]),
        _batch([5, 3], [4, 5], [5]),
        _batch([6, 3], [6, 4, 4]),
        _batch([4, 5, 3], [4], [5, 6, 4]),
        _batch([5, 3], [6]),
    ]
    cases = []
    for seed, (steps, warmup_steps, clip_norm) in enumerate(
        ((1, 1, 9.0), (1, 4, 0.1), (2, 2, 9.0), (2, 1, 0.1), (3, 2, 0.5), (5, 3, 1.0), (5, 9, 99.0))
    ):
        cases.append((Parrot(7, (2, 3)[seed % 2], seed), some[:steps], warmup_steps, clip_norm))
    cases.append((Parrot(7, 2, 0), some[:3], 1, 1e-7))  # so short that epsilon's size shows
    return cases


train = Exercise(
    my_train,
    words,
    worked=[
        # nothing but zeros: seven types are equally likely, and every gradient is 0
        ((Parrot(7, 2), 2 * [_batch([4, 3], [5])], 4, 1.0), [math.log(7), math.log(7)])
    ],
    cases=_trainings(),
    expected=_by_formula,
)


def my_accumulated_gradient(grads: list[Tensor], tokens: list[int], clip_norm: float) -> Tensor:
    """Give the gradient of the mean over all tokens, clipped."""
    total = torch.zeros_like(grads[0])
    for grad, count in zip(grads, tokens, strict=True):
        total = total + count * grad
    mean = total / sum(tokens)
    norm = mean.norm()
    if norm > clip_norm:
        mean = mean * clip_norm / norm
    return mean


def _by_autograd(grads: list[Tensor], tokens: list[int], clip_norm: float) -> Tensor:
    """Make losses that have these gradients; differentiate their mean over all tokens."""
    weight = nn.Parameter(torch.zeros_like(grads[0]))
    per_token = [
        (grad * weight).sum()
        for grad, count in zip(grads, tokens, strict=True)
        for _ in range(count)
    ]
    torch.stack(per_token).mean().backward()
    nn.utils.clip_grad_norm_([weight], clip_norm)
    assert weight.grad is not None
    return weight.grad


def _gradients() -> list[tuple[list[Tensor], list[int], float]]:
    """One batch, two and three, below the limit and above it."""
    short, long = torch.tensor([0.5, 0.0]), torch.tensor([3.0, 4.0])
    cases = [
        ([short], [2], 1.0),
        ([torch.zeros(2)], [2], 1.0),
        ([long, -3 * long], [3, 1], 1.0),  # they cancel: nothing is left
        ([long], [2], 1.0),
        ([short, long], [1, 1], 9.0),
        ([short, long], [3, 1], 9.0),
        ([short, long], [3, 1], 1.0),
        ([long, -short], [1, 4], 2.0),
    ]
    large = list(drawing(0)(3, 2, 3).unbind())
    return [*cases, (large, [7, 2, 5], 9.0), (large, [7, 2, 5], 0.5)]


accumulated_gradient = Exercise(
    my_accumulated_gradient,
    words,
    worked=[
        # (3 * 2 + 1 * 6) / 4 is 3, below the limit
        (([torch.tensor([2.0]), torch.tensor([6.0])], [3, 1], 5.0), torch.tensor([3.0])),
        # the same, above it
        (([torch.tensor([2.0]), torch.tensor([6.0])], [3, 1], 1.5), torch.tensor([1.5])),
    ],
    cases=_gradients(),
    expected=_by_autograd,
    properties={
        "the norm is at most clip_norm": lambda value, grads, tokens, clip_norm: (
            float(value.norm()) <= clip_norm * 1.001
        )
    },
)
