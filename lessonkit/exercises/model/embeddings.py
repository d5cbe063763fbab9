"""An exercise of lesson 04: one matrix that embeds and makes the logits (§3.4)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("04")

Pair = tuple[Tensor, Tensor]


def my_tied(ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor) -> Pair:
    """Embed the ids, and make the logits of what was decoded."""
    scale = math.sqrt(table.shape[1])
    embedded = scale * table[ids] + positions[: ids.shape[1]]
    logits = decoded @ table.T
    return embedded, logits


def without_the_factor(ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor) -> Pair:
    """Leave the words as small as the rows are."""
    _, logits = my_tied(ids, decoded, table, positions)
    return table[ids] + positions[: ids.shape[1]], logits


def factor_without_root(ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor) -> Pair:
    """Multiply by the width itself."""
    _, logits = my_tied(ids, decoded, table, positions)
    return table.shape[1] * table[ids] + positions[: ids.shape[1]], logits


def positions_enlarged_too(ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor) -> Pair:
    """Multiply the sum."""
    return my_tied(ids, decoded, table, positions * math.sqrt(table.shape[1]))


def logits_enlarged_too(ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor) -> Pair:
    """Use the enlarged rows on the way out as well."""
    return my_tied(ids, decoded * math.sqrt(table.shape[1]), table, positions)


def no_positions(ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor) -> Pair:
    """Forget where a token stands."""
    return my_tied(ids, decoded, table, torch.zeros_like(positions))


def position_of_its_id(ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor) -> Pair:
    """Look the position up by the id, as the word is."""
    _, logits = my_tied(ids, decoded, table, positions)
    return math.sqrt(table.shape[1]) * table[ids] + positions[ids % len(positions)], logits


def position_of_its_sentence(
    ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor
) -> Pair:
    """Give every token of a sentence the same position."""
    _, logits = my_tied(ids, decoded, table, positions)
    return math.sqrt(table.shape[1]) * table[ids] + positions[: len(ids), None], logits


def probabilities(ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor) -> Pair:
    """Apply the softmax too."""
    embedded, logits = my_tied(ids, decoded, table, positions)
    return embedded, logits.softmax(dim=-1)


def _by_modules(ids: Tensor, decoded: Tensor, table: Tensor, positions: Tensor) -> Pair:
    """Pick rows by products with 0 and 1; let PyTorch's linear map make the logits."""
    chosen = F.one_hot(ids, len(table)).to(table.dtype)
    words = F.linear(chosen, table.T * table.shape[1] ** 0.5)
    places = torch.arange(ids.shape[1]).expand_as(ids)
    return words + F.embedding(places, positions), F.linear(decoded, table)


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
        "without_the_factor": without_the_factor,
        "factor_without_root": factor_without_root,
        "positions_enlarged_too": positions_enlarged_too,
        "logits_enlarged_too": logits_enlarged_too,
        "no_positions": no_positions,
        "position_of_its_id": position_of_its_id,
        "position_of_its_sentence": position_of_its_sentence,
        "probabilities": probabilities,
    },
)
