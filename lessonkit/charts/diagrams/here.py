"""Where a lesson stands: the architecture with its boxes bright and all others faded (Fig. 1)."""

from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path

from lessonkit.charts.diagrams.architecture import (
    DECODER,
    EMBEDDED,
    ENCODER,
    FIRST,
    RISE,
    SIZE,
    SUMMED,
    TALL,
    WIDTH,
    draw_architecture,
)
from lessonkit.charts.diagrams.diagram import INK, Box
from transformer.support.errors import unknown_name

DPI = 76  # of the picture on a lesson's page: 725 by 675 pixels
FADED = 0.75  # how white the rest becomes
EDGE = 5  # points between a box and the line around it

_MIDDLE = (ENCODER.x, DECODER.x)
_TOP = FIRST + 3 * RISE - 34  # upper edge of the decoder's last norm


class Place(NamedTuple):
    """Where one can be in the figure.

    Attributes:
        words: What is there, in words.
        boxes: The bright part, in the points of the architecture's sheet.
    """

    words: str
    boxes: tuple[Box, ...]


def _sub_layers(x: float, count: int) -> Box:
    """Give the frame of a layer of `count` sub-layers."""
    low, high = FIRST - 30, FIRST + count * RISE - 22
    return Box(x, (low + high) / 2, WIDTH + 44, high - low)


def _attention(x: float, index: int) -> Box:
    return Box(x, FIRST + index * RISE + TALL / 2, WIDTH, TALL)


_INPUTS = tuple(Box(x, 22, WIDTH + 20, 30) for x in _MIDDLE)
_OUTPUT = Box(DECODER.x, _TOP + 157, WIDTH + 20, 34)
_SCORED = Box(DECODER.x + 66, _TOP + 108, WIDTH + 144, 134)  # with the names beside it
PLACES = {
    "text": Place(
        "the text, cut into pieces, at both inputs and at the output", (*_INPUTS, _OUTPUT)
    ),
    "attention": Place(
        "attention: the encoder's self-attention, the decoder's masked self-attention and its "
        "cross-attention",
        (_attention(ENCODER.x, 0), _attention(DECODER.x, 0), _attention(DECODER.x, 1)),
    ),
    "positions": Place(
        "the waves of the positions, added to the embeddings of source and target",
        tuple(Box(x, (EMBEDDED + SUMMED) / 2 - 2, WIDTH, 74) for x in _MIDDLE),
    ),
    "layer": Place(
        "the layers of encoder and decoder: attention and feed-forward, each with its residual "
        "sum and norm",
        (_sub_layers(ENCODER.x, 2), _sub_layers(DECODER.x, 3)),
    ),
    "loss": Place(
        "the output: linear map, softmax, and the loss against the target shifted by one",
        (_SCORED,),
    ),
    "choice": Place(
        "the choice of the next token: from the softmax back to the decoder's input",
        (_SCORED, _INPUTS[1]),
    ),
}


def you_are_here(part: str) -> Figure:
    """Draw the architecture with one part bright and the others faded (Fig. 1).

    Args:
        part: One of `PLACES`.

    Returns:
        A figure, to be a cell's last line; its title says in words where one is.

    Raises:
        UserError: there is no such part.
    """
    if part not in PLACES:
        raise unknown_name("part", part, list(PLACES))
    words, boxes = PLACES[part]
    figure = Figure(figsize=(SIZE[0] / 72, SIZE[1] / 72), dpi=DPI, facecolor="white")
    ax = draw_architecture(figure.add_axes((0, 0, 1, 1)))
    paper = Path([(0, 0), (SIZE[0], 0), SIZE, (0, SIZE[1]), (0, 0)], closed=True)
    holes = [Path(_corners(box), closed=True) for box in boxes]
    sheet = Path.make_compound_path(paper, *holes)
    ax.add_patch(PathPatch(sheet, facecolor="white", alpha=FADED, edgecolor="none", zorder=6))
    for box in boxes:
        line = FancyBboxPatch(
            (box.x - box.width / 2 - EDGE, box.y - box.height / 2 - EDGE),
            box.width + 2 * EDGE,
            box.height + 2 * EDGE,
            boxstyle="round,pad=0,rounding_size=6",
            facecolor="none",
            edgecolor=INK,
            linewidth=2.5,
            zorder=7,
        )
        ax.add_patch(line)
    ax.set_title(f"You are here: {words}", fontsize=10, loc="left")
    return figure


def _corners(box: Box) -> list[tuple[float, float]]:
    """Give a box's corners, a little outside, clockwise: so that it cuts a hole in the sheet."""
    (left, _), (right, _), (_, low), (_, high) = box.left, box.right, box.bottom, box.top
    left, right, low, high = left - EDGE, right + EDGE, low - EDGE, high + EDGE
    return [(left, low), (left, high), (right, high), (right, low), (left, low)]
