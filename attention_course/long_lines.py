"""A warning of lines far longer than any that a model was trained on."""

import warnings
from collections.abc import Sequence

from transformer.models.translator import EncodedSource

# A source of more tokens than this share of the longest one of training is far longer.
FAR_LONGER = 1.5
MAX_NAMED_LINES = 5


def is_far_longer(source: EncodedSource, longest_source: int) -> bool:
    """Return whether a sentence is so long that its translation cannot be relied on.

    `longest_source` is the number of tokens of the longest source that the model was trained on.
    """
    return source.num_tokens > FAR_LONGER * longest_source


def warn_of_long_lines(
    sources: Sequence[EncodedSource], first_number: int, longest_source: int
) -> None:
    """Warn, once, of lines that are far longer; their numbers are from 1.

    What is too long for the model altogether is left to the warning that it is cut short.
    """
    lengths = {
        number: source.num_tokens
        for number, source in enumerate(sources, first_number)
        if is_far_longer(source, longest_source) and not source.is_cut_short
    }
    if not lengths:
        return
    long = list(lengths)
    named = ", ".join(map(str, long[:MAX_NAMED_LINES]))
    others = f" and {len(long) - MAX_NAMED_LINES:,} more" if len(long) > MAX_NAMED_LINES else ""
    most = max(lengths.values())
    plural, has = ("s", "have") if len(long) > 1 else ("", "has")
    warnings.warn(
        f"line{plural} {named}{others} {has} up to {most:,} tokens, and training none of over "
        f"{longest_source:,}: do not rely on what comes out; cut it into sentences",
        stacklevel=2,
    )
