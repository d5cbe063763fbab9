"""Three exercises of lesson 05: the rate (§5.3, Eq. 3), the target (§5.4), and Adam."""

import itertools
import math

import numpy as np
import torch
from torch import Tensor, nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("05")

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
    if step < warmup_steps:
        return peak * step / warmup_steps
    return peak * math.sqrt(warmup_steps / step)


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
    wrong={
        "counted_from_zero": lambda step, *sizes: my_warmup_rate(step + 1, *sizes),
        "never_falls": ("min(rising, falling)", "rising"),
        "never_rises": ("min(rising, falling)", "falling"),
        "larger_of_both": ("min(", "max("),
        "half_power": ("warmup_steps**-1.5", "warmup_steps**-0.5"),
        "wider_is_faster": ("d_model**-0.5", "d_model**0.5"),
    },
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


_NONE_ON_PADDING = "    target[pad_id] = 0.0\n"

smoothed_target = Exercise(
    my_smoothed_target,
    words,
    worked=[
        ((2, 5, 0.3, 0), [0.0, 0.1, 0.7, 0.1, 0.1]),
        ((0, 3, 0.1, 0), [0.0, 0.0, 0.0]),
    ],
    cases=[
        (true_id, vocab_size, smoothing, pad_id)
        for vocab_size in (3, 4, 7)
        for true_id in range(vocab_size)
        for smoothing in (0.0, 0.1, 0.4)
        for pad_id in (0, 2)
    ],
    expected=_by_mixing,
    wrong={
        "mass_on_padding": (_NONE_ON_PADDING, "", "vocab_size - 2", "vocab_size - 1"),
        "over_every_type": (
            *(_NONE_ON_PADDING, ""),
            *("(vocab_size - 2)", "vocab_size"),
            *("= 1 - smoothing", "+= 1 - smoothing"),
        ),
        "some_mass_lost": ("vocab_size - 2", "vocab_size - 1"),
        "padding_is_asked_for": ("true_id == pad_id", "False"),
        "all_or_nothing": lambda true_id, vocab_size, smoothing, pad_id: my_smoothed_target(
            true_id, vocab_size, 0.0, pad_id
        ),
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
    generator = torch.Generator().manual_seed(0)
    weight, grad, m, v = torch.randn(4, 2, 3, generator=generator).unbind()
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
    wrong={
        "no_correction": (" / (1 - 0.9**step)", "", " / (1 - 0.98**step)", ""),
        "keeps_the_corrected": ("return weight, m, v", "return weight, m_hat, v_hat"),
        "epsilon_under_the_root": ("(v_hat**0.5 + 1e-9)", "(v_hat + 1e-9) ** 0.5"),
        "betas_swapped": (
            *("0.9 * m + 0.1 * grad", "0.98 * m + 0.02 * grad"),
            *("0.98 * v + 0.02 * grad", "0.9 * v + 0.1 * grad"),
            *("m / (1 - 0.9**step)", "m / (1 - 0.98**step)"),
            *("v / (1 - 0.98**step)", "v / (1 - 0.9**step)"),
        ),
        "no_root": ("v_hat**0.5", "v_hat"),
        "uphill": ("weight - rate", "weight + rate"),
    },
)
