"""The laws, the cheapest first."""

from transformer.diagnostics.law import Law
from transformer.diagnostics.laws import future, modes, padding, reach, weights

LAWS: tuple[Law, ...] = (
    *modes.LAWS,
    *future.LAWS,
    *padding.LAWS,
    *reach.LAWS,
    *weights.LAWS,
)
