"""A histogram in text: how long the sentences of a corpus are."""

from collections.abc import Sequence
from itertools import pairwise

MAX_BAR_CHARACTERS = 24
# In bytes; each bin ends before the next begins, and the last has all that is longer.
BIN_STARTS = (1, 10, 20, 40, 80, 160, 320, 640)


def format_byte_length_histogram(
    lengths: Sequence[tuple[int, int]], languages: Sequence[str]
) -> list[str]:
    """Return the lines of a histogram of the lengths in bytes of both sides of pairs, in columns.

    Bins without a sentence at either end are left out.
    """
    ends = [*BIN_STARTS[1:], float("inf")]
    counts = [
        [sum(start <= pair[side] < end for pair in lengths) for side in (0, 1)]
        for start, end in zip(BIN_STARTS, ends, strict=True)
    ]
    filled = [number for number, pair in enumerate(counts) if any(pair)]
    most = max(max(pair) for pair in counts)
    names = [f"{start}-{end - 1}" for start, end in pairwise(BIN_STARTS)]
    names.append(f"{BIN_STARTS[-1]} or more")
    width = max(map(len, names))
    lines = [f"  {'bytes':>{width}}  {languages[0]:{MAX_BAR_CHARACTERS + 8}}  {languages[1]}"]
    for number in range(filled[0], filled[-1] + 1):
        columns = [f"{_bar(count, most)} {count:,}" for count in counts[number]]
        padded = f"{columns[0]:{MAX_BAR_CHARACTERS + 8}}  {columns[1]}"
        lines.append(f"  {names[number]:>{width}}  {padded}".rstrip())
    return lines


def _bar(count: int, most: int) -> str:
    """Return a bar of up to `MAX_BAR_CHARACTERS`; none alone for no sentence at all."""
    return "█" * (max(1, round(MAX_BAR_CHARACTERS * count / most)) if count else 0)
