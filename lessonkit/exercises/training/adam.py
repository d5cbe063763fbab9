"""An exercise of lesson 05: a step of Adam."""

import torch
from torch import Tensor, nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("05")

State = tuple[Tensor, Tensor, Tensor]


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


def _moments(
    grad: Tensor, m: Tensor, v: Tensor, beta1: float = 0.9, beta2: float = 0.98
) -> tuple[Tensor, Tensor]:
    return beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad**2


def _move(weight: Tensor, m_hat: Tensor, v_hat: Tensor, rate: float) -> Tensor:
    return weight - rate * m_hat / (v_hat.sqrt() + 1e-9)


def no_correction(
    weight: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float
) -> State:
    """Use the moments as they stand."""
    m, v = _moments(grad, m, v)
    return _move(weight, m, v, rate), m, v


def keeps_the_corrected(
    weight: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float
) -> State:
    """Hand the corrected moments on to the next step."""
    weight, m, v = my_adam_step(weight, grad, m, v, step, rate)
    return weight, m / (1 - 0.9**step), v / (1 - 0.98**step)


def epsilon_under_the_root(
    weight: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float
) -> State:
    """Add epsilon before the root is taken."""
    m, v = _moments(grad, m, v)
    m_hat, v_hat = m / (1 - 0.9**step), v / (1 - 0.98**step)
    return weight - rate * m_hat / (v_hat + 1e-9).sqrt(), m, v


def betas_swapped(
    weight: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float
) -> State:
    """Give each moment the other's memory."""
    m, v = _moments(grad, m, v, 0.98, 0.9)
    return _move(weight, m / (1 - 0.98**step), v / (1 - 0.9**step), rate), m, v


def no_root(weight: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float) -> State:
    """Divide by the second moment itself."""
    m, v = _moments(grad, m, v)
    m_hat, v_hat = m / (1 - 0.9**step), v / (1 - 0.98**step)
    return weight - rate * m_hat / (v_hat + 1e-9), m, v


def uphill(weight: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float) -> State:
    """Go where the loss grows."""
    moved, m, v = my_adam_step(weight, grad, m, v, step, rate)
    return 2 * weight - moved, m, v


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
        (
            # the first step: m_hat is the gradient, v_hat its square, so it moves by the rate
            (
                torch.tensor([1.0]),
                torch.tensor([4.0]),
                torch.zeros(1),
                torch.zeros(1),
                1,
                0.25,
            ),
            (torch.tensor([0.75]), torch.tensor([0.4]), torch.tensor([0.32])),
        )
    ],
    cases=_updates(),
    expected=_by_torch,
    wrong={
        "no_correction": no_correction,
        "keeps_the_corrected": keeps_the_corrected,
        "epsilon_under_the_root": epsilon_under_the_root,
        "betas_swapped": betas_swapped,
        "no_root": no_root,
        "uphill": uphill,
    },
)
