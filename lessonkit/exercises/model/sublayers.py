"""Two exercises of lesson 04: the feed-forward network (§3.3) and layer normalisation."""

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.check import Exercise, Wrong


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
    minutes=5,
    difficulty="easy",
    hints=(
        "Eq. 2 from the inside to the outside: a linear map, the maximum with 0, a linear map.",
        "hidden @ inner + inner_bias is the first map, from d_model to d_ff components.",
        "x.clamp(min=0), or x.relu(), is max(0, x).",
    ),
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
    wrong=[
        Wrong(
            never_bends,
            "Two linear maps in a row are one linear map. What stands between them in Eq. 2?",
        ),
        Wrong(
            bends_at_the_end,
            "The maximum stands at the end here: nothing negative could ever be added to the "
            "residual. It belongs between the maps.",
        ),
        Wrong(bends_twice, "Only the first map is followed by a maximum."),
        Wrong(bias_too_late, "The first bias belongs inside the maximum: max(0, xW1 + b1)."),
    ],
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
    minutes=10,
    difficulty="medium",
    hints=(
        "Each position is treated alone: mean and variance run over its components, dim=-1.",
        "keepdim=True keeps the shape such that the mean can be subtracted from every component.",
        "The variance is the mean of the squares of (hidden - mean). Divide by the root of "
        "(variance + 1e-5), then multiply by gain and add bias.",
    ),
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
    wrong=[
        Wrong(
            over_positions,
            "Your mean runs over the positions. Then a sentence's length, and its padding, would "
            "change every token. Which axis holds the components of one position?",
        ),
        Wrong(
            over_everything,
            "One mean and one variance for the whole tensor: the positions depend on each "
            "other. Each needs its own.",
        ),
        Wrong(
            sample_variance,
            "Very near. You divide by width - 1 (torch's var does unless told otherwise); layer "
            "normalisation divides by the width.",
        ),
        Wrong(
            std_of_torch,
            "Near, but for two things: torch's std divides by width - 1 unless told otherwise, and "
            "the 1e-5 belongs under the root, with the variance.",
        ),
        Wrong(by_variance, "Divide by the standard deviation: the root of the variance."),
        Wrong(
            epsilon_outside,
            "Very near. The 1e-5 stands under the root, with the variance. Where a position hardly "
            "varies, the place of it makes a great difference.",
        ),
        Wrong(
            not_centred,
            "This is RMSNorm, which newer models use. Layer normalisation takes the mean away "
            "first.",
        ),
        Wrong(
            no_gain,
            "The gain and the bias are missing. They let training undo the normalisation where "
            "it harms.",
        ),
    ],
)
