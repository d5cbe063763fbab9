"""The laws, the cheapest first."""

from transformer.diagnostics.law import Law
from transformer.diagnostics.laws import cache, future, half, modes, padding, reach, search, weights

LAWS: tuple[Law, ...] = (
    *modes.LAWS,
    *future.LAWS,
    *padding.LAWS,
    *reach.LAWS,
    *weights.LAWS,
    *half.LAWS,
    *cache.LAWS,
    *search.LAWS,
)
