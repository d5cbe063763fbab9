"""Two exercises of lesson 04: the feed-forward network (§3.3) and layer normalisation."""

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("04")


def my_feed_forward(
    hidden: torch.Tensor,
    inner: torch.Tensor,
    inner_bias: torch.Tensor,
    outer: torch.Tensor,
    outer_bias: torch.Tensor,
) -> torch.Tensor:
    """(length, d_model) -> (length, d_model): Eq. 2."""
    active = (hidden @ inner + inner_bias).clamp(min=0)
    return active @ outer + outer_bias


def never_bends(
    hidden: Tensor, inner: Tensor, inner_bias: Tensor, outer: Tensor, outer_bias: Tensor
) -> Tensor:
    """Leave the maximum out."""
    return (hidden @ inner + inner_bias) @ outer + outer_bias


def bends_at_the_end(
    hidden: Tensor, inner: Tensor, inner_bias: Tensor, outer: Tensor, outer_bias: Tensor
) -> Tensor:
    """Take the maximum after both maps."""
    return never_bends(hidden, inner, inner_bias, outer, outer_bias).relu()


def bends_twice(
    hidden: Tensor, inner: Tensor, inner_bias: Tensor, outer: Tensor, outer_bias: Tensor
) -> Tensor:
    """Take the maximum after each map."""
    return my_feed_forward(hidden, inner, inner_bias, outer, outer_bias).relu()


def bias_too_late(
    hidden: Tensor, inner: Tensor, inner_bias: Tensor, outer: Tensor, outer_bias: Tensor
) -> Tensor:
    """Add the first bias after the maximum."""
    return ((hidden @ inner).relu() + inner_bias) @ outer + outer_bias


def _by_convolution(
    hidden: Tensor, inner: Tensor, inner_bias: Tensor, outer: Tensor, outer_bias: Tensor
) -> Tensor:
    """Do it as two convolutions with kernel size 1."""
    active = F.conv1d(hidden.T[None], inner.T[..., None], inner_bias).relu()
    return F.conv1d(active, outer.T[..., None], outer_bias)[0].T


def _to_feed() -> list[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(4)
    cases = []
    for length, d_model, d_ff in ((1, 2, 3), (2, 3, 5), (5, 2, 7)):
        shapes = ((length, d_model), (d_model, d_ff), (d_ff,), (d_ff, d_model), (d_model,))
        made = [torch.randn(*shape, generator=generator) for shape in shapes]
        cases.append((made[0], made[1], made[2], made[3], made[4]))
    return cases


feed_forward = Exercise(
    my_feed_forward,
    words,
    worked=[
        (
            (
                torch.tensor([[1.0], [-1.0]]),
                torch.tensor([[1.0, -2.0]]),
                torch.tensor([0.0, 1.0]),
                torch.tensor([[1.0], [1.0]]),
                torch.tensor([0.5]),
            ),
            torch.tensor([[1.5], [3.5]]),  # max(0, 1) + max(0, -1) + .5; max(0, -1) + 3 + .5
        )
    ],
    cases=_to_feed(),
    expected=_by_convolution,
    wrong={
        "never_bends": never_bends,
        "bends_at_the_end": bends_at_the_end,
        "bends_twice": bends_twice,
        "bias_too_late": bias_too_late,
    },
)


def my_layer_norm(hidden: torch.Tensor, gain: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Bring each position to mean 0 and variance 1; then scale and shift."""
    mean = hidden.mean(dim=-1, keepdim=True)
    variance = ((hidden - mean) ** 2).mean(dim=-1, keepdim=True)
    return (hidden - mean) / torch.sqrt(variance + 1e-5) * gain + bias


def over_positions(hidden: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Take mean and variance over the positions."""
    mean = hidden.mean(dim=-2, keepdim=True)
    variance = hidden.var(dim=-2, keepdim=True, unbiased=False)
    return (hidden - mean) / torch.sqrt(variance + 1e-5) * gain + bias


def over_everything(hidden: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Take one mean and one variance for the whole tensor."""
    variance = hidden.var(unbiased=False)
    return (hidden - hidden.mean()) / torch.sqrt(variance + 1e-5) * gain + bias


def sample_variance(hidden: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Divide by one less than the width."""
    variance = hidden.var(dim=-1, keepdim=True)
    return (hidden - hidden.mean(dim=-1, keepdim=True)) / torch.sqrt(variance + 1e-5) * gain + bias


def std_of_torch(hidden: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Divide by torch's standard deviation, and add the small number to that."""
    centred = hidden - hidden.mean(dim=-1, keepdim=True)
    return centred / (hidden.std(dim=-1, keepdim=True) + 1e-5) * gain + bias


def by_variance(hidden: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Divide by the variance, not its root."""
    variance = hidden.var(dim=-1, keepdim=True, unbiased=False)
    return (hidden - hidden.mean(dim=-1, keepdim=True)) / (variance + 1e-5) * gain + bias


def epsilon_outside(hidden: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Add the small number to the root, not under it."""
    centred = hidden - hidden.mean(dim=-1, keepdim=True)
    return centred / (hidden.std(dim=-1, keepdim=True, unbiased=False) + 1e-5) * gain + bias


def not_centred(hidden: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Divide by the root of the mean square, as RMSNorm does (Zhang and Sennrich, 2019)."""
    return hidden / torch.sqrt((hidden**2).mean(dim=-1, keepdim=True) + 1e-5) * gain + bias


def no_gain(hidden: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Leave out what is learnt."""
    return my_layer_norm(hidden, torch.ones_like(gain), torch.zeros_like(bias))


def _by_torch(hidden: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(hidden, hidden.shape[-1:], gain, bias)


def _to_normalise() -> list[tuple[Tensor, Tensor, Tensor]]:
    """Positions of several widths and sizes."""
    generator = torch.Generator().manual_seed(3)
    cases = []
    for length, width in ((1, 2), (2, 3), (3, 5), (5, 7)):
        hidden = 4 * torch.rand(length, width, generator=generator) + 1
        gain = torch.rand(width, generator=generator) + 0.5
        cases.append((hidden, gain, torch.rand(width, generator=generator)))
    return cases


layer_norm = Exercise(
    my_layer_norm,
    words,
    worked=[
        (
            (torch.tensor([[1.0, 3.0]]), torch.ones(2), torch.zeros(2)),
            torch.tensor([[-1.0, 1.0]]) / (1 + 1e-5) ** 0.5,
        ),
        (
            (torch.tensor([[2.0, 2.0]]), torch.ones(2), torch.tensor([5.0, 6.0])),
            torch.tensor([[5.0, 6.0]]),
        ),
        (  # the variance is as small as what is added to it
            (torch.tensor([[-1.0, 1.0]]) * 1e-5**0.5, torch.ones(2), torch.zeros(2)),
            torch.tensor([[-1.0, 1.0]]) / 2**0.5,
        ),
    ],
    cases=_to_normalise(),
    expected=_by_torch,
    wrong={
        "over_positions": over_positions,
        "over_everything": over_everything,
        "sample_variance": sample_variance,
        "std_of_torch": std_of_torch,
        "by_variance": by_variance,
        "epsilon_outside": epsilon_outside,
        "not_centred": not_centred,
        "no_gain": no_gain,
    },
)
