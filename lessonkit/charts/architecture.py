"""A small map of the architecture, with the part that a lesson is about filled in (Fig. 1)."""

import itertools
import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from lessonkit.charts.style import (
    INK_COLOUR,
    SOURCE_COLOUR,
    TARGET_COLOUR,
    lighten_or_darken_colour,
)
from transformer.support.errors import unknown_name_error
from transformer.support.signatures import check_argument_types

MAP_INCHES = (3.6, 2.3)
MAP_DPI = 100
BOX_FONT_POINTS, CAPTION_FONT_POINTS = 7.5, 9
MAX_CAPTION_COLUMNS = 56

# Places are counted in columns and rows: the encoder stands on the left, and data flow upwards.
ENCODER, DECODER = 0.0, 1.0
BOX_WIDTH, BOX_HEIGHT = 0.76, 0.68
# White letters can be read on each, and each stands out from a white and from a dark page.
FILL_COLOUR_BY_COLUMN = {
    ENCODER: SOURCE_COLOUR,
    DECODER: lighten_or_darken_colour(TARGET_COLOUR, 1.2),
}
# The label, column and row of each box.
BOXES: dict[str, tuple[str, float, int]] = {
    "src": ("source", ENCODER, 0),
    "src embedding": ("embedding", ENCODER, 1),
    "src positions": ("+ positions", ENCODER, 2),
    "encoder self-attention": ("self-attention", ENCODER, 3),
    "encoder feed-forward": ("feed-forward", ENCODER, 4),
    "tgt_in": ("target so far", DECODER, 0),
    "tgt embedding": ("embedding", DECODER, 1),
    "tgt positions": ("+ positions", DECODER, 2),
    "decoder self-attention": ("masked self-attention", DECODER, 3),
    "cross-attention": ("cross-attention", DECODER, 4),
    "decoder feed-forward": ("feed-forward", DECODER, 5),
    "linear": ("linear", DECODER, 6),
    "softmax": ("softmax", DECODER, 7),
    "tgt_out": ("next token", DECODER, 8),
}
# The lowest and the highest row of what is repeated N times.
LAYER_ROWS_BY_COLUMN = {ENCODER: (3, 4), DECODER: (3, 5)}
CAPTION_AND_BOXES_BY_PART: dict[str, tuple[str, tuple[str, ...]]] = {
    "text": (
        "the text, cut into pieces, at both inputs and at the output",
        ("src", "tgt_in", "tgt_out"),
    ),
    "positions": (
        "the waves of the positions, added to the embeddings of source and target",
        ("src positions", "tgt positions"),
    ),
    "layers": (
        "the layers of both stacks: attention and feed-forward networks",
        (
            "encoder self-attention",
            "encoder feed-forward",
            "decoder self-attention",
            "cross-attention",
            "decoder feed-forward",
        ),
    ),
    "since 2017": (
        "what models of today have in place of the paper's",
        (
            "src positions",
            "encoder self-attention",
            "encoder feed-forward",
            "tgt positions",
            "decoder self-attention",
            "cross-attention",
            "decoder feed-forward",
        ),
    ),
    "loss": (
        "the output: linear map, softmax, and the loss against the target shifted by one",
        ("linear", "softmax", "tgt_out"),
    ),
    "choice": (
        "the choice of the next token: from the softmax back to the decoder's input",
        ("softmax", "tgt_out", "tgt_in"),
    ),
}


@check_argument_types
def draw_architecture(part: str) -> Figure:
    """Draw a map of the architecture with the boxes of one part filled in (Fig. 1).

    The title says in words where one is. `part` is one of `CAPTION_AND_BOXES_BY_PART`; another is a
    UserError.
    """
    if part not in CAPTION_AND_BOXES_BY_PART:
        raise unknown_name_error("part", part, list(CAPTION_AND_BOXES_BY_PART))
    caption, filled = CAPTION_AND_BOXES_BY_PART[part]
    figure = Figure(figsize=MAP_INCHES, dpi=MAP_DPI)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    for column, (lowest, highest) in LAYER_ROWS_BY_COLUMN.items():
        _draw_layer_frame(ax, column, lowest, highest)
    for name in BOXES:
        _draw_box(ax, name, name in filled)
    _draw_arrows(ax)
    ax.set(xlim=(-0.5, 1.6), ylim=(-0.5, 8.5))
    title = textwrap.fill(f"You are here: {caption}", MAX_CAPTION_COLUMNS)
    ax.set_title(title, fontsize=CAPTION_FONT_POINTS, loc="left", color=INK_COLOUR)
    return figure


def _draw_box(ax: Axes, name: str, is_filled: bool) -> None:
    label, column, row = BOXES[name]
    colour = FILL_COLOUR_BY_COLUMN[column] if is_filled else INK_COLOUR
    box = FancyBboxPatch(
        (column - BOX_WIDTH / 2, row - BOX_HEIGHT / 2),
        BOX_WIDTH,
        BOX_HEIGHT,
        boxstyle="round,pad=0,rounding_size=0.06",
        mutation_aspect=4,  # a row is about a quarter of a column
        edgecolor=colour,
        facecolor=colour,
        fill=is_filled,
        linewidth=0.8,
        label=name,
    )
    ax.add_patch(box)
    look = {"color": "white", "fontweight": "bold"} if is_filled else {"color": INK_COLOUR}
    ax.text(column, row, label, look, ha="center", va="center_baseline", fontsize=BOX_FONT_POINTS)


def _draw_layer_frame(ax: Axes, column: float, lowest: int, highest: int) -> None:
    left, right = column - BOX_WIDTH / 2 - 0.05, column + BOX_WIDTH / 2 + 0.05
    low, high = lowest - 0.48, highest + 0.48
    corners = [(left, low), (left, high), (right, high), (right, low), (left, low)]
    ax.plot(*zip(*corners, strict=True), color=INK_COLOUR, linewidth=0.8, linestyle=":")
    if column == DECODER:
        ax.text(right + 0.03, high, "N times", va="top", fontsize=7, color=INK_COLOUR)
    else:
        ax.text(left, high + 0.1, "N times", va="bottom", fontsize=7, color=INK_COLOUR)


def _draw_arrows(ax: Axes) -> None:
    """Draw the way up each column, and the memory's way from the encoder to cross-attention."""
    look = {"arrowstyle": "-", "color": INK_COLOUR, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
    for column in (ENCODER, DECODER):
        rows = sorted(row for _, at, row in BOXES.values() if at == column)
        for row, above in itertools.pairwise(rows):
            ends = (column, above - BOX_HEIGHT / 2), (column, row + BOX_HEIGHT / 2)
            ax.annotate("", *ends, arrowprops=look)
    top = 5.0  # of the encoder's way out, above its frame
    way = [(ENCODER, 4 + BOX_HEIGHT / 2), (ENCODER, top), (0.5, top), (0.5, 4.0)]
    ax.plot(*zip(*way, strict=True), color=INK_COLOUR, linewidth=0.8)
    into = (DECODER - BOX_WIDTH / 2, 4.0)
    ax.annotate("", into, (0.5, 4.0), arrowprops=look | {"arrowstyle": "-|>"})
