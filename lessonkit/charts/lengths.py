"""The lengths of sentence pairs: of each side, and of both together. Not in the paper."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from lessonkit.charts.style import (
    PAPER_COLOUR,
    SOURCE_COLOUR,
    TARGET_COLOUR,
    add_legend,
    finish_axes,
)
from transformer.data.cleaning import MAX_LENGTH_RATIO, SHORTER_SIDE_FLOOR_BYTES
from transformer.support.checks import MAX_COUNT, check_number
from transformer.support.errors import require
from transformer.support.signatures import check_argument_types

NUM_BINS = 30
PLAIN_NUMBER_FORMATTER = FuncFormatter(lambda number, _: f"{number:,.0f}")
BYTE_LENGTH_LABEL = "length (bytes of UTF-8)"


@check_argument_types
def draw_side_lengths(
    lengths: Sequence[tuple[int, int]], languages: tuple[str, str], ax: Axes, title: str = ""
) -> Axes:
    """Draw how many pairs have a side of each length, on a logarithmic axis.

    `lengths` are those of the two sides of each pair, in bytes.
    """
    sides = _lengths_by_side(lengths)
    bins = list(np.geomspace(1, max(2, sides.max()), NUM_BINS + 1))
    for side, lang, colour in zip(sides, languages, (SOURCE_COLOUR, TARGET_COLOUR), strict=True):
        ax.hist(side, bins=bins, histtype="step", color=colour, linewidth=1.6, label=lang)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(PLAIN_NUMBER_FORMATTER)
    add_legend(ax, frameon=False)
    return finish_axes(ax, title, BYTE_LENGTH_LABEL, "sentence pairs")


@check_argument_types
def draw_length_pairs(
    lengths: Sequence[tuple[int, int]], languages: tuple[str, str], ax: Axes, title: str = ""
) -> Axes:
    """Draw the two lengths of each pair against each other, and where pairs are dropped.

    `lengths` are those of the two sides of each pair, in bytes.
    """
    first, second = _lengths_by_side(lengths)
    longest = max(2, first.max(), second.max())
    ax.hexbin(first, second, gridsize=NUM_BINS, xscale="log", yscale="log", bins="log", mincnt=1)
    # The longest side that a pair may have beside one of each length.
    shorter = np.array([1, SHORTER_SIDE_FLOOR_BYTES, longest])
    limit = MAX_LENGTH_RATIO * np.maximum(shorter, SHORTER_SIDE_FLOOR_BYTES)
    for line in ((shorter, limit), (limit, shorter)):
        ax.plot(*line, "--", color=PAPER_COLOUR, linewidth=1)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PLAIN_NUMBER_FORMATTER)
    ax.set(xlim=(1, longest), ylim=(1, longest))
    xlabel, ylabel = (f"{lang}: {BYTE_LENGTH_LABEL}" for lang in languages)
    return finish_axes(ax, title, xlabel, ylabel)


@check_argument_types
def sentence_lengths_png(
    name: str, lengths: Sequence[tuple[int, int]], languages: tuple[str, str]
) -> bytes:
    """Return a picture (PNG) of the lengths of a corpus's pairs, in bytes."""
    figure = Figure(figsize=(9, 4.3), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2)
    draw_side_lengths(lengths, languages, left, f"{name}: how long each side is")
    draw_length_pairs(lengths, languages, right, "Both sides of a pair")
    figure.supxlabel(
        "A token has about four bytes. Pairs that translate each other lie along a line, most where"
        " it is yellow.\nBeyond the dashes one side is too long beside the other: such a pair is "
        "dropped.",
        fontsize=9,
    )
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=120)
    return drawn.getvalue()


def _lengths_by_side(lengths: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return the lengths of each side as a row; a UserError where there is no pair."""
    require(len(lengths) > 0, "no sentence pair: give the lengths of one at least")
    for number in (min(map(min, lengths)), max(map(max, lengths))):
        check_number("a side's length", number, 1, MAX_COUNT, integer=True)
    return np.array(lengths).T
