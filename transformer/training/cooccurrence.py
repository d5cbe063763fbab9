"""Embeddings to begin with: types that occur in the same sentence pairs lie near each other.

Not in the paper, which draws them at random. Counting takes seconds and knows much of what the
first epoch learns: a word, its translations, and the words it goes with. The counts become
pointwise mutual information, whose strongest directions are the vectors (as in Levy and Goldberg
2014, with sentence pairs for windows).
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from transformer.data.batches import Example
from transformer.model import Transformer
from transformer.support.errors import UserError

MOST_TYPES = 12_000  # on both sides: a table of 576 MB
EXTRA, ROUNDS = 16, 5  # of the search for the strongest directions


@torch.no_grad()
def begin_with_cooccurrence(model: Transformer, examples: Sequence[Example]) -> None:
    """Give each type that occurs its vector; one that does not keeps the vector it was drawn.

    Args:
        model: Untrained; its token embeddings are changed in place. Each new vector has length
            1, as a drawn one has on average.
        examples: The training text.

    Raises:
        UserError: there are too many types for the table of their pairs.
    """
    src, tgt = model.src_embedding.token.weight, model.tgt_embedding.token.weight
    first = 0 if src is tgt else len(src)  # target types come after source types, or are the same
    types = first + len(tgt)
    if types > MOST_TYPES:
        raise UserError(
            f"cooccurrence_embeddings counts pairs of {types:,} types: give a vocab_size that "
            f"leaves {MOST_TYPES:,} or fewer on both sides"
        )
    pairs = [np.unique([*each.src, *(first + token for token in each.tgt)]) for each in examples]
    information, seen = mutual_information(pairs, types)
    vectors = strongest_directions(information, src.shape[1])
    for weight, begin in ((src, 0), (tgt, first)):
        own = slice(begin, begin + len(weight))
        weight[seen[own]] = vectors[own][seen[own]].to(weight)


def mutual_information(sets: Sequence[np.ndarray], types: int) -> tuple[Tensor, Tensor]:
    """Count in how many sets each type occurs, and each pair of types.

    Args:
        sets: Types, each at most once; one set for each sentence pair.
        types: How many there are.

    Returns:
        Positive pointwise mutual information in nats, (types, types): the logarithm of how many
        times as often two occur together as by chance, 0 where that is not more often; and
        which types occur, (types,).
    """
    together = np.zeros(types * types, dtype=np.float32)
    for start in range(0, len(sets), 4000):
        keys = [(ids[:, None] * types + ids).ravel() for ids in sets[start : start + 4000]]
        places, counts = np.unique(np.concatenate(keys), return_counts=True)
        together[places] += counts
    table = torch.from_numpy(together).view(types, types)
    occurs = table.diagonal().clone()  # a type occurs with itself wherever it occurs
    by_chance = occurs[:, None] * occurs / len(sets)
    return table.div_(by_chance.clamp(min=1e-9)).clamp_(min=1).log_(), occurs > 0


def strongest_directions(table: Tensor, width: int) -> Tensor:
    """Give rows whose inner products are nearest to a symmetric table, each of length 1.

    Args:
        table: (types, types), symmetric.
        width: Numbers in a row, fewer than there are types.

    Returns:
        (types, width): the eigenvectors of the largest eigenvalues times their roots, turned
        at random, so that no component is larger than another on average.
    """
    generator = torch.Generator().manual_seed(0)
    basis = torch.randn(len(table), min(width + EXTRA, len(table)), generator=generator)
    for _ in range(ROUNDS):  # subspace iteration
        basis, _ = torch.linalg.qr(table @ basis)
    values, vectors = torch.linalg.eigh(basis.T @ table @ basis)
    rows = basis @ vectors[:, -width:] * values[-width:].clamp(min=0).sqrt()
    turn, _ = torch.linalg.qr(torch.randn(rows.shape[1], rows.shape[1], generator=generator))
    return torch.nn.functional.normalize(rows @ turn, dim=1)
