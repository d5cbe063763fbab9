"""An exercise of lesson 05: one step from several batches, with a clipped gradient."""

import math

import torch
from torch import Tensor, nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("05")


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


def _clipped(grad: Tensor, clip_norm: float) -> Tensor:
    return grad * min(1.0, clip_norm / max(float(grad.norm()), 1e-12))


def _mean_by_tokens(grads: list[Tensor], tokens: list[int]) -> Tensor:
    weighted = [count * grad for grad, count in zip(grads, tokens, strict=True)]
    return torch.stack(weighted).sum(0) / sum(tokens)


def batches_count_alike(grads: list[Tensor], tokens: list[int], clip_norm: float) -> Tensor:
    """Average over the batches, whatever their size."""
    return my_accumulated_gradient(grads, [1] * len(grads), clip_norm)


def sum_of_means(grads: list[Tensor], tokens: list[int], clip_norm: float) -> Tensor:
    """Add up the gradients as they are."""
    return _clipped(torch.stack(grads).sum(0), clip_norm)


def clipped_one_by_one(grads: list[Tensor], tokens: list[int], clip_norm: float) -> Tensor:
    """Clip every batch's gradient before they are joined."""
    return my_accumulated_gradient([_clipped(each, clip_norm) for each in grads], tokens, math.inf)


def always_rescaled(grads: list[Tensor], tokens: list[int], clip_norm: float) -> Tensor:
    """Bring a short gradient up to the limit too."""
    mean = _mean_by_tokens(grads, tokens)
    return mean * clip_norm / mean.norm()


def number_by_number(grads: list[Tensor], tokens: list[int], clip_norm: float) -> Tensor:
    """Limit each number for itself, which turns the gradient."""
    return _mean_by_tokens(grads, tokens).clamp(-clip_norm, clip_norm)


def never_clipped(grads: list[Tensor], tokens: list[int], clip_norm: float) -> Tensor:
    """Leave the limit out."""
    return my_accumulated_gradient(grads, tokens, math.inf)


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
    generator = torch.Generator().manual_seed(0)
    large = list(torch.randn(3, 2, 3, generator=generator).unbind())
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
    wrong={
        "batches_count_alike": batches_count_alike,
        "sum_of_means": sum_of_means,
        "clipped_one_by_one": clipped_one_by_one,
        "always_rescaled": always_rescaled,
        "number_by_number": number_by_number,
        "never_clipped": never_clipped,
    },
    properties={
        "the norm is at most clip_norm": lambda value, grads, tokens, clip_norm: (
            float(value.norm()) <= clip_norm * 1.001
        ),
    },
)
