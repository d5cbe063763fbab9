"""A user's own text as it was read, before any of it is dropped: its pairs, and their origin.

Not in the paper.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from transformer.data.grouping import Pair

UNKNOWN_LICENCE = "not known"
MISSING_TRANSLATION_REASON = "untranslated"  # of entries that are no pairs


@dataclass(frozen=True, kw_only=True)
class PairsWithOrigin:
    """The pairs of files, source first, and what the card of a corpus says of them."""

    pairs: Sequence[Pair]
    files: Sequence[str]
    packages: Sequence[str] = ()  # that installed these files, as far as known
    licence: str = UNKNOWN_LICENCE
    # Entries of the files that are no pairs, by reason, as "fuzzy".
    left_out: Mapping[str, int] = field(default_factory=dict)
