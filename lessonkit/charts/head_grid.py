"""The size of a picture of attention heads side by side: how large a cell is, what is labelled.

Not in the paper. A sentence of any length fits: first fewer tokens are labelled, then the last
tokens are left out.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from lessonkit.charts.labels import label_width_points, shorten_label

LABEL_FONT_POINTS = 8
LABEL_LINE_INCHES = 0.16
MIN_HEAD_PANEL_INCHES = 1.7
PAGE_WIDTH_INCHES = 10.0  # that the heads of a row share where cells have room for labels
MAX_HEADS_PER_ROW = 4  # on such a page
MAX_FIGURE_INCHES = 20.0  # of either side: 3,000 pixels at 150 to an inch
MIN_CELL_INCHES = 0.008  # a little more than a pixel
COLOUR_SCALE_INCHES, TITLE_INCHES = 1.5, 0.8  # beside and above the heads
GAP_INCHES, HEAD_TITLE_INCHES = 0.2, 0.4  # between heads, and above each


class HeadGridLayout(NamedTuple):
    """How heads are arranged; queries go down and keys across, `tokens_drawn` of each at most."""

    rows: int
    columns: int
    cell_inches: float
    label_every: int  # 1: each token is labelled
    tokens_drawn: int
    figure_inches: tuple[float, float]  # width, height


def plan_head_grid(num_heads: int, queries: Sequence[str], keys: Sequence[str]) -> HeadGridLayout:
    """Plan a figure of every head of a layer, no side of which is over `MAX_FIGURE_INCHES`."""
    longest = max(len(queries), len(keys))
    cell = max(LABEL_LINE_INCHES, MIN_HEAD_PANEL_INCHES / longest)
    max_columns = max(1, min(MAX_HEADS_PER_ROW, int(PAGE_WIDTH_INCHES / (cell * len(keys)))))
    rows = -(-num_heads // max_columns)
    columns = -(-num_heads // rows)  # as many in each row as can be
    room = _inches_left_for_cells(rows, columns, queries, keys)
    if cell * columns * len(keys) > room[0] or cell * rows * len(queries) > room[1]:
        rows, columns, cell = _grid_with_largest_cells(num_heads, queries, keys)
        room = _inches_left_for_cells(rows, columns, queries, keys)
    tokens_drawn = longest
    if cell < MIN_CELL_INCHES:
        cell = MIN_CELL_INCHES
        tokens_drawn = max(1, int(min(room[0] / columns, room[1] / rows) / cell))
    k_len, q_len = min(len(keys), tokens_drawn), min(len(queries), tokens_drawn)
    beside, above = (MAX_FIGURE_INCHES - inches for inches in room)
    size = (beside + columns * cell * k_len, above + rows * cell * q_len)
    return HeadGridLayout(
        rows, columns, cell, math.ceil(LABEL_LINE_INCHES / cell), tokens_drawn, size
    )


def _grid_with_largest_cells(
    num_heads: int, queries: Sequence[str], keys: Sequence[str]
) -> tuple[int, int, float]:
    """Return rows, columns and the inches of a cell, as large as the largest figure lets it be."""
    grids = []
    for columns in range(1, num_heads + 1):
        rows = -(-num_heads // columns)
        width, height = _inches_left_for_cells(rows, columns, queries, keys)
        cell = min(width / (columns * len(keys)), height / (rows * len(queries)))
        grids.append((cell, -columns, rows))
    cell, minus_columns, rows = max(grids)
    return rows, -minus_columns, cell


def _inches_left_for_cells(
    rows: int, columns: int, queries: Sequence[str], keys: Sequence[str]
) -> tuple[float, float]:
    """Return the width and height that titles, labels and gaps leave of the largest figure."""
    left, below = _longest_label_inches(queries), _longest_label_inches(keys)
    width = MAX_FIGURE_INCHES - COLOUR_SCALE_INCHES - left - columns * GAP_INCHES
    height = MAX_FIGURE_INCHES - TITLE_INCHES - rows * (below + HEAD_TITLE_INCHES)
    return max(width, 1.0), max(height, 1.0)


def _longest_label_inches(tokens: Sequence[str]) -> float:
    """Estimate the inches that the longest label takes."""
    labels = map(shorten_label, tokens)
    return max((label_width_points(label, LABEL_FONT_POINTS) for label in labels), default=0) / 72
