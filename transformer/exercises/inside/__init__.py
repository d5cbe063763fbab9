"""The exercises of lesson 09, in its order."""

from transformer.exercises.inside.alignment import error_rate, links
from transformer.exercises.inside.entropy import spread
from transformer.exercises.inside.heads import prune

__all__ = [
    "spread",
    "prune",
    "links",
    "error_rate",
]
