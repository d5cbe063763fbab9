"""Scores of a self-attention in a sentence of equal words, by distance (not in the paper)."""

from typing import NamedTuple

import torch
from torch import Tensor

from attention_laws.attention_calls import AttentionCall, QueryAndKey

# Share of the largest number by which numbers of one distance may differ.
MAX_RELATIVE_SPREAD = 1e-3
# Positions at each end of a sentence that are not judged: a convolution of queries and keys, as in
# Primer, reads beyond the end there.
MARGIN = 3


class ScoresByDistance(NamedTuple):
    """The least and the largest score of each distance, (distances, heads)."""

    lowest: Tensor
    highest: Tensor
    size: float  # the largest score

    @property
    def spread(self) -> float:
        """How far scores of one distance are apart, as a share of the largest score."""
        return float((self.highest - self.lowest).max()) / self.size

    @property
    def depend_on_distance_alone(self) -> bool:
        """Whether scores of one distance are equal."""
        return self.spread <= MAX_RELATIVE_SPREAD

    @property
    def know_distance(self) -> bool:
        """Whether scores of unequal distances differ."""
        means = (self.highest + self.lowest) / 2
        return float((means - means[:1]).abs().max()) > MAX_RELATIVE_SPREAD * self.size

    @property
    def are_mirrored(self) -> bool:
        """Whether keys before and after a query have the same scores."""
        return float((self.highest - self.highest.flip(0)).abs().max()) <= (
            MAX_RELATIVE_SPREAD * self.size
        )


def by_distance(scores: Tensor, size: float | None = None) -> ScoresByDistance | None:
    """Return scores (heads, length, length) by distance; None if too few are numbers.

    Distances of which one score is NaN are left out; so are the ends of the sentence. `size` is
    what differences are compared with, by default the largest score.
    """
    inner = scores[:, MARGIN:-MARGIN, MARGIN:-MARGIN]
    length = inner.shape[-1]
    diagonals = [inner.diagonal(k, dim1=-2, dim2=-1) for k in range(1 - length, length)]
    seen = [diagonal for diagonal in diagonals if not bool(diagonal.isnan().any())]
    if len(seen) < 2:
        return None
    return ScoresByDistance(
        lowest=torch.stack([diagonal.amin(dim=-1) for diagonal in seen]),
        highest=torch.stack([diagonal.amax(dim=-1) for diagonal in seen]),
        size=max(float(inner.nan_to_num(0).abs().max()) if size is None else size, 1e-12),
    )


def visible_scores(attention: AttentionCall) -> Tensor:
    """Return scores (heads, length, length) of one sentence, NaN where a weight is 0."""
    scores = torch.as_tensor(attention.scores).detach().double()
    scores = scores.masked_fill(attention.weights.reshape(scores.shape) == 0, torch.nan)
    return scores.reshape(-1, *scores.shape[-2:])


def product_by_distance(query_and_key: QueryAndKey) -> ScoresByDistance | None:
    """Return queries times keys by distance, or those of unit length if these do not depend on it.

    A factor of the position, as a temperature that grows with the number of keys, turns no query.
    """
    query, key = (x.detach().double() for x in query_and_key)
    plain = by_distance(_flat_product(query, key))
    if plain is not None and plain.depend_on_distance_alone:
        return plain
    unit = by_distance(_flat_product(*(x / x.norm(dim=-1, keepdim=True) for x in (query, key))))
    return unit if unit is not None and unit.depend_on_distance_alone else plain


def added_to_product(first: AttentionCall, second: AttentionCall, number: int) -> Tensor | None:
    """Return what is added to a product of queries and keys, (heads, length, length).

    `first` and `second` are one attention in two sentences, `number` the product's place in
    `multiplied`. None if scores are no multiple of the product plus something that no word changes.
    """
    products = [
        _flat_product(*(x.detach().double() for x in a.multiplied[number])) for a in (first, second)
    ]
    scores = [visible_scores(a) for a in (first, second)]
    if products[0].shape != scores[0].shape:
        return None
    visible = ~scores[0].isnan()
    product_gap = (products[0] - products[1]).masked_fill(~visible, 0)
    score_gap = (scores[0] - scores[1]).masked_fill(~visible, 0)
    # Each query's own factor, by least squares.
    squares = product_gap.square().sum(dim=-1, keepdim=True)
    factor = (product_gap * score_gap).sum(dim=-1, keepdim=True) / squares.clamp(min=1e-30)
    rest = (score_gap - factor * product_gap).norm()
    if not float(rest) <= 1e-2 * max(float(score_gap.norm()), 1e-12):
        return None
    return scores[0] - factor * products[0]


def relative_to_query_itself(scores: Tensor) -> Tensor:
    """Return scores less that of the query itself as key, which makes the softmax no difference."""
    return scores - scores.diagonal(dim1=-2, dim2=-1)[..., None]


def depend_on_sum_of_positions(scores: Tensor, size: float) -> bool:
    """Return whether scores (heads, length, length) are equal where query and key sum to the same.

    `size` is what differences are compared with. False if all scores are equal.
    """
    length = scores.shape[-1]
    places = torch.arange(length)
    sums = (places[:, None] + places).flatten()
    flat = scores.flatten(start_dim=-2)
    spread = 0.0
    for number in range(2 * length - 1):
        of_sum = flat[:, sums == number]
        of_sum = of_sum[:, ~of_sum.isnan().any(dim=0)]
        if of_sum.shape[1] > 1:
            spread = max(spread, float((of_sum.amax(dim=-1) - of_sum.amin(dim=-1)).max()))
    visible = flat[:, ~flat.isnan().any(dim=0)]
    differ = float((visible.amax(dim=-1) - visible.amin(dim=-1)).max())
    return spread <= MAX_RELATIVE_SPREAD * size < differ


def positions_are_added(first: QueryAndKey, second: QueryAndKey) -> bool:
    """Return whether queries and keys of two words differ by the same vector at each position.

    So do those to which vectors of positions are added, and none that positions turn.
    """
    for one, other in zip(first, second, strict=True):
        inner = (one - other).detach()[..., MARGIN:-MARGIN, :]
        if float((inner - inner[..., :1, :]).abs().max()) > 1e-3 * float(inner.abs().max()):
            return False
    return True


def _flat_product(query: Tensor, key: Tensor) -> Tensor:
    """Return queries times keys, (heads, length, length)."""
    product = query @ key.transpose(-2, -1)
    return product.reshape(-1, *product.shape[-2:])
