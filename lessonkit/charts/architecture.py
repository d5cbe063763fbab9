"""Where a lesson stands: the architecture with its boxes bright and all others faded (Fig. 1)."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Outline
from PIL import Image

from lessonkit.charts.style import DARK
from transformer.support.errors import unknown_name

PICTURE = "architecture.png"  # as figures/ has it; in the wheel it lies beside this module
FOLDERS = (Path(__file__).parent, Path(__file__).parents[2] / "figures")
SIZE = (674, 612)  # points of the picture
DPI = 76  # of the picture on a lesson's page: 725 by 675 pixels
FADED = 0.75  # how white the rest becomes
EDGE = 5  # points between a box and the line around it

# Bright boxes: the middle, width and height, in points of the picture from its lower left.
Box = tuple[float, float, float, float]
INPUTS: tuple[Box, Box] = ((218, 22, 172, 30), (446, 22, 172, 30))
SCORED: Box = (512, 538, 296, 134)  # with the names beside it
PLACES: dict[str, tuple[str, tuple[Box, ...]]] = {
    "text": (
        "the text, cut into pieces, at both inputs and at the output",
        (*INPUTS, (446, 587, 172, 34)),
    ),
    "positions": (
        "the waves of the positions, added to the embeddings of source and target",
        ((218, 96, 152, 74), (446, 96, 152, 74)),
    ),
    "loss": (
        "the output: linear map, softmax, and the loss against the target shifted by one",
        (SCORED,),
    ),
    "choice": (
        "the choice of the next token: from the softmax back to the decoder's input",
        (SCORED, INPUTS[1]),
    ),
}


def draw_architecture(part: str) -> Figure:
    """Show the architecture with one part bright and the others faded (Fig. 1).

    The title says in words where one is; `part` is one of `PLACES`, or a UserError names it.
    """
    if part not in PLACES:
        raise unknown_name("part", part, list(PLACES))
    words, boxes = PLACES[part]
    width, height = SIZE
    picture = next(folder / PICTURE for folder in FOLDERS if (folder / PICTURE).is_file())
    figure = Figure(figsize=(width / 72, height / 72), dpi=DPI)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.imshow(np.asarray(Image.open(picture).convert("RGB")), extent=(0, width, 0, height))
    ax.set_axis_off()
    sheet = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height), (0.0, 0.0)]
    outlines = [Outline(sheet, closed=True)]
    for x, y, across, up in boxes:
        left, low = x - across / 2 - EDGE, y - up / 2 - EDGE
        right, high = x + across / 2 + EDGE, y + up / 2 + EDGE
        # The other way round than the sheet, so that it is cut out.
        hole = [(left, low), (left, high), (right, high), (right, low), (left, low)]
        outlines.append(Outline(hole, closed=True))
        style = "round,pad=0,rounding_size=6"
        line = FancyBboxPatch((left, low), right - left, high - low, boxstyle=style, zorder=7)
        line.set(facecolor="none", edgecolor=DARK, linewidth=2.5)
        ax.add_patch(line)
    pale = PathPatch(Outline.make_compound_path(*outlines), facecolor="white", alpha=FADED)
    ax.add_patch(pale).set(edgecolor="none", zorder=6)
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_title(f"You are here: {words}", fontsize=10, loc="left")
    return figure
