"""Four exercises of lesson 04: two sub-layers, the tied table (§3.4), and a count."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.analysis.table_3 import expected_parameters
from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from transformer.config import ModelConfig

words = read_words("04")


def my_feed_forward(
    hidden: Tensor, inner: Tensor, inner_bias: Tensor, outer: Tensor, outer_bias: Tensor
) -> Tensor:
    """(length, d_model) -> (length, d_model): Eq. 2."""
    active = (hidden @ inner + inner_bias).clamp(min=0)
    return active @ outer + outer_bias


def _by_convolution(
    hidden: Tensor, inner: Tensor, inner_bias: Tensor, outer: Tensor, outer_bias: Tensor
) -> Tensor:
    """Do it as two convolutions with kernel size 1."""
    active = F.conv1d(hidden.T[None], inner.T[..., None], inner_bias).relu()
    return F.conv1d(active, outer.T[..., None], outer_bias)[0].T


def _to_feed() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(4)
    cases = []
    for length, d_model, d_ff in ((1, 2, 3), (2, 3, 5), (5, 2, 7)):
        shapes = ((length, d_model), (d_model, d_ff), (d_ff,), (d_ff, d_model), (d_model,))
        cases.append(tuple(torch.randn(*shape, generator=generator) for shape in shapes))
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
        "never_bends": (".clamp(min=0)", ""),
        "bends_at_the_end": (
            *(".clamp(min=0)", ""),
            *("active @ outer + outer_bias", "(active @ outer + outer_bias).relu()"),
        ),
        "bends_twice": ("active @ outer + outer_bias", "(active @ outer + outer_bias).relu()"),
        "bias_too_late": (" + inner_bias).clamp(min=0)", ").clamp(min=0) + inner_bias"),
    },
)


def my_layer_norm(hidden: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Bring each position to mean 0 and variance 1; then scale and shift."""
    mean = hidden.mean(dim=-1, keepdim=True)
    variance = ((hidden - mean) ** 2).mean(dim=-1, keepdim=True)
    return (hidden - mean) / torch.sqrt(variance + 1e-5) * gain + bias


def _to_normalise() -> list[tuple[Tensor, Tensor, Tensor]]:
    """Positions of several widths and sizes."""
    generator = torch.Generator().manual_seed(3)
    cases = []
    for length, width in ((1, 2), (2, 3), (3, 5), (5, 7)):
        hidden = 4 * torch.rand(length, width, generator=generator) + 1
        gain = torch.rand(width, generator=generator) + 0.5
        cases.append((hidden, gain, torch.rand(width, generator=generator)))
    return cases


_MEAN, _VARIANCE = "hidden.mean(dim=-1, keepdim=True)", "2).mean(dim=-1, keepdim=True)"
_DEVIATION = "torch.sqrt(variance + 1e-5)"

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
    expected=lambda hidden, *affine: F.layer_norm(hidden, hidden.shape[-1:], *affine),
    wrong={
        "over_positions": (
            *(_MEAN, "hidden.mean(dim=-2, keepdim=True)"),
            *(_VARIANCE, "2).mean(dim=-2, keepdim=True)"),
        ),
        "over_everything": (_MEAN, "hidden.mean()", _VARIANCE, "2).mean()"),
        "sample_variance": (f"((hidden - mean) ** {_VARIANCE}", "hidden.var(dim=-1, keepdim=True)"),
        "std_of_torch": (_DEVIATION, "(hidden.std(dim=-1, keepdim=True) + 1e-5)"),
        "by_variance": (_DEVIATION, "(variance + 1e-5)"),
        "epsilon_outside": (_DEVIATION, "(torch.sqrt(variance) + 1e-5)"),
        "not_centred": (_MEAN, "0"),
        "no_gain": (" * gain + bias", ""),
    },
)


def my_tied(
    ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor
) -> tuple[Tensor, Tensor]:
    """Embed the ids, and make the logits of what was decoded."""
    scale = math.sqrt(table.shape[1])
    embedded = scale * table[ids] + positions[: ids.shape[1]]
    logits = decoded @ table.T
    return embedded, logits


def _by_modules(
    ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor
) -> tuple[Tensor, Tensor]:
    """Pick rows by products with 0 and 1; let PyTorch's linear map make the logits."""
    chosen = F.one_hot(ids, len(table)).to(table.dtype)
    rows = F.linear(chosen, table.T * table.shape[1] ** 0.5)
    places = torch.arange(ids.shape[1]).expand_as(ids)
    return rows + F.embedding(places, positions), F.linear(decoded, table)


def _to_embed() -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """One token, one sentence and more; a table of positions that is longer than they are."""
    generator = torch.Generator().manual_seed(0)
    cases = []
    for batch, length, d_model, types in ((1, 1, 2, 3), (1, 2, 3, 3), (2, 2, 3, 5), (2, 3, 5, 7)):
        decoded = torch.randn(batch, length, d_model, generator=generator).round(decimals=1)
        table = torch.randn(types, d_model, generator=generator).round(decimals=1)
        positions = torch.randn(5, d_model, generator=generator).round(decimals=1)
        ids = torch.randint(0, types, (batch, length), generator=generator)
        cases.append((ids, decoded, table, positions))
    return cases


tied = Exercise(
    my_tied,
    words,
    worked=[
        (  # the root of 4 is 2: twice the second row, and its position
            (
                torch.tensor([[1]]),
                torch.ones(1, 1, 4),
                torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.0]]),
                torch.full((1, 4), 0.5),
            ),
            (torch.tensor([[[0.5, 2.5, 4.5, 0.5]]]), torch.tensor([[[1.0, 3.0]]])),
        )
    ],
    cases=_to_embed(),
    expected=_by_modules,
    wrong={
        "without_the_factor": ("scale * table", "table"),
        "factor_without_root": ("math.sqrt(table.shape[1])", "table.shape[1]"),
        "positions_enlarged_too": ("+ positions", "+ scale * positions"),
        "logits_enlarged_too": ("decoded @", "scale * decoded @"),
        "no_positions": (" + positions[: ids.shape[1]]", ""),
        "position_of_its_id": ("positions[: ids.shape[1]]", "positions[ids % len(positions)]"),
        "position_of_its_sentence": ("positions[: ids.shape[1]]", "positions[: len(ids), None]"),
        "probabilities": ("decoded @ table.T", "(decoded @ table.T).softmax(dim=-1)"),
    },
)


def my_vocabulary(parameters: int, d_model: int, d_ff: int, num_layers: int) -> int:
    """Find how many types a tied model has, from its number of parameters."""
    attention = 4 * d_model * d_model
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    stacks = num_layers * (encoder_layer + decoder_layer)
    return (parameters - stacks) // d_model


def _count(types: int, d_model: int, d_ff: int, num_layers: int) -> int:
    config = ModelConfig(d_model=d_model, d_ff=d_ff, num_layers=num_layers, num_heads=1)
    return expected_parameters(config, types, types)


def _searched(parameters: int, *sizes: int) -> int:
    """Try vocabularies until the count fits."""
    low, high = 1, parameters
    while low < high:
        middle = (low + high + 1) // 2
        fits = _count(middle, *sizes) <= parameters
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


vocabulary = Exercise(
    my_vocabulary,
    words,
    worked=[((63_045_632, 512, 2048, 6), 37_000)],
    cases=[
        (_count(types, *sizes), *sizes)
        for *sizes, types in (
            (2, 3, 2, 7),
            (2, 5, 3, 11),
            (4, 2, 2, 13),
            (6, 7, 3, 101),
            (512, 2048, 6, 37_000),
        )
    ],
    expected=_searched,
    wrong={
        "three_matrices": ("// d_model", "// (3 * d_model)"),
        "one_stack": ("(encoder_layer + decoder_layer)", "decoder_layer"),
        "one_layer_each": ("num_layers * (", "1 * ("),
        "biases_in_attention": ("4 * d_model * d_model", "4 * d_model * (d_model + 1)"),
        "three_projections": ("4 * d_model", "3 * d_model"),
        "no_norms": ("norm = 2 * d_model", "norm = 0"),
        "not_divided": (" // d_model", ""),
    },
    properties={"a vocabulary is a whole number": lambda value, *sizes: value == int(value)},
)
