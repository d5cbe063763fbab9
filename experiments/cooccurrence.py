"""Initial weights from counts of which types stand near each other in sentence pairs.

Not in the paper, which draws all weights at random. Counting takes seconds and finds much of what
the first epoch learns: a word, its translations, and the words it goes with. The counts become
pointwise mutual information, whose strongest directions are the embeddings (as in Levy and Goldberg
2014, but with windows that reach into both sentences of a pair and fade with the distance).
Cross-attention begins by looking for the source words whose vectors are most like the decoder's,
and passes on what it finds. If source, target and softmax have a table each, a word's embedding in
the decoder begins as what follows the word. A bias before the softmax begins as the logarithm of
how frequent each word is.
"""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, EOS_ID
from transformer.data.batches import Example
from transformer.layers import DecoderLayer
from transformer.model import Transformer
from transformer.support.errors import UserError

MAX_TOTAL_VOCAB_SIZE = 12_000  # on both sides: a table of 576 MB
# The length of embeddings that are only read, so that positions and layers count for more.
INPUT_EMBEDDING_NORM = 0.5
DISTANCE_DECAY_TOKENS = 3.0  # tokens; two at this distance count 1 / e of what neighbours count
# The subspace iteration keeps some more directions than are wanted.
EXTRA_DIRECTIONS, ITERATIONS = 16, 5


@torch.no_grad()
def initialize_from_cooccurrence(model: Transformer, examples: Sequence[Example]) -> None:
    """Set the vector of each type that occurs, and make cross-attention look for similar vectors.

    The untrained model's embeddings, softmax (with its bias, if it has one) and cross-attentions
    are changed in place. Each new vector has length 1, as a drawn embedding has on average; a type
    that does not occur keeps what was drawn. Tables that are only read are then multiplied by
    `INPUT_EMBEDDING_NORM`.

    Raises:
        UserError: The types are too many for the table of their pairs, or fewer than the numbers of
            a vector.
    """
    src, tgt = model.src_embedding.token.weight, model.tgt_embedding.token.weight
    first = 0 if src is tgt else len(src)  # target types come after source types, or are the same
    types = first + len(tgt)
    if types > MAX_TOTAL_VOCAB_SIZE:
        raise UserError(
            f"cooccurrence_start counts pairs of {types:,} types: give a vocab_size that "
            f"leaves {MAX_TOTAL_VOCAB_SIZE:,} or fewer on both sides"
        )
    if (width := src.shape[1]) > types:
        raise UserError(
            f"cooccurrence_start finds one direction for each of {types:,} types at the most, and "
            f"an embedding has {width:,} numbers: give a smaller d_model, or leave it out"
        )
    information, seen = mutual_information_and_occurring_types(examples, first, types)
    vectors = low_rank_unit_vectors(information, width)
    for weight, begin in ((src, 0), (tgt, first)):
        own = slice(begin, begin + len(weight))
        weight[seen[own]] = vectors[own][seen[own]].to(weight)
    output = model.output.weight
    if src is not tgt and output is not tgt and output.shape == tgt.shape:  # a table each
        output.copy_(tgt)
        follows = next_token_associations([example.tgt for example in examples], len(tgt)).to(tgt)
        has_next = follows.any(dim=1)
        tgt[has_next] = normalize(follows @ output, dim=1)[has_next]
        src.mul_(INPUT_EMBEDDING_NORM)
        tgt.mul_(INPUT_EMBEDDING_NORM)
    if model.output.bias is not None:
        model.output.bias.copy_(
            smoothed_token_frequencies([example.tgt for example in examples], len(tgt)).log()
        )
    for module in model.modules():
        if isinstance(module, DecoderLayer):
            initialize_attention_to_similar(module.cross_attention)


@torch.no_grad()
def initialize_attention_to_similar(attention: MultiHeadAttention) -> None:
    """Make an attention begin by looking for what is similar to its query, and passing it on.

    With one projection for queries and keys, the more alike two vectors are, the larger is their
    score. With the transpose of the values' projection for the output's, what goes through both
    comes out as it was, on average over drawn weights. Training is free to part them.
    """
    attention.key_projection.weight.copy_(attention.query_projection.weight)
    attention.output_projection.weight.copy_(attention.value_projection.weight.T)


def mutual_information_and_occurring_types(
    examples: Sequence[Example], first: int, types: int
) -> tuple[Tensor, Tensor]:
    """Count how much more often two types stand near each other than by chance.

    The two sentences of a pair are laid side by side, the shorter one stretched. Two tokens, of one
    sentence or of both, count exp(-distance / `DISTANCE_DECAY_TOKENS`). The target's type 0 is
    number `first`.

    Returns:
        Positive pointwise mutual information in nats, (types, types); which types occur, (types,).
    """
    together = torch.zeros(types * types)
    by_length = groupby(sorted(examples, key=_src_len_and_tgt_len), key=_src_len_and_tgt_len)
    for (src_len, tgt_len), same_lengths in by_length:
        ids = torch.tensor(
            [[*example.src, *(first + token for token in example.tgt)] for example in same_lengths]
        )
        middles = [(torch.arange(length) + 0.5) / length for length in (src_len, tgt_len)]
        positions = torch.cat(middles) * max(src_len, tgt_len)
        weights = (-(positions[:, None] - positions).abs() / DISTANCE_DECAY_TOKENS).exp()
        pairs = ids[:, :, None] * types + ids[:, None, :]
        together.index_add_(0, pairs.flatten(), weights.expand_as(pairs).flatten())
    table = together.view(types, types)
    occurs = table.sum(dim=1)
    by_chance = occurs[:, None] * occurs / occurs.sum()
    return table.div_(by_chance.clamp(min=1e-9)).clamp_(min=1).log_(), occurs > 0


def _src_len_and_tgt_len(example: Example) -> tuple[int, int]:
    return len(example.src), len(example.tgt)


def next_token_associations(sentences: Sequence[Sequence[int]], types: int) -> Tensor:
    """Count which type follows which in sentences given without marks.

    In a type's row each type has the probability that it comes next, times the logarithm of how
    many times as often that is as elsewhere, (types, types); 0 where not more often.
    """
    counts = np.zeros((types, types), dtype=np.float32)
    for ids in sentences:
        np.add.at(counts, ([BOS_ID, *ids], [*ids, EOS_ID]), 1)
    table = torch.from_numpy(counts)
    share = table / table.sum(dim=1, keepdim=True).clamp(min=1)
    by_chance = table.sum(dim=0) / table.sum()
    return share * (share / by_chance.clamp(min=1e-9)).clamp(min=1).log()


def smoothed_token_frequencies(sentences: Sequence[Sequence[int]], types: int) -> Tensor:
    """Return each type's relative frequency, end marks included; each count is one higher."""
    counts = np.bincount(np.concatenate([[*ids, EOS_ID] for ids in sentences]), minlength=types)
    return torch.from_numpy((counts + 1) / (counts + 1).sum())


def low_rank_unit_vectors(table: Tensor, width: int) -> Tensor:
    """Return rows of length 1, (types, width), whose inner products approximate a symmetric table.

    They are the eigenvectors of the largest eigenvalues times their roots, turned at random, so
    that no component is larger than another on average.
    """
    generator = torch.Generator().manual_seed(0)
    basis = torch.randn(len(table), min(width + EXTRA_DIRECTIONS, len(table)), generator=generator)
    for _ in range(ITERATIONS):
        basis, _ = torch.linalg.qr(table @ basis)
    values, vectors = torch.linalg.eigh(basis.T @ table @ basis)
    rows = basis @ vectors[:, -width:] * values[-width:].clamp(min=0).sqrt()
    turn, _ = torch.linalg.qr(torch.randn(rows.shape[1], rows.shape[1], generator=generator))
    return normalize(rows @ turn, dim=1)
