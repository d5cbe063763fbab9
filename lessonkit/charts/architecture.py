"""The architecture with the part that a lesson is about bright, all others faded (Fig. 1)."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Outline
from PIL import Image

from lessonkit.charts.style import DARK_COLOUR
from transformer.support.errors import unknown_name_error
from transformer.support.signatures import check_argument_types

# It lies in figures/, and in the wheel beside this module.
PICTURE_FILE_NAME = "architecture.png"
PICTURE_SEARCH_FOLDERS = (Path(__file__).parent, Path(__file__).parents[2] / "figures")
PICTURE_SIZE_POINTS = (674, 612)  # points of the picture
PICTURE_DPI = 76  # of the picture on a lesson's page: 725 by 675 pixels
WHITE_OVERLAY_OPACITY = 0.75  # of the white over the rest
BOX_FRAME_GAP_POINTS = 5  # points between a box and the line around it

# Bright boxes: the middle, width and height, in points of the picture from its lower left.
PictureBox = tuple[float, float, float, float]
INPUT_BOXES: tuple[PictureBox, PictureBox] = ((218, 22, 172, 30), (446, 22, 172, 30))
OUTPUT_BOX: PictureBox = (512, 538, 296, 134)  # with the names beside it
CAPTION_AND_BOXES_BY_PART: dict[str, tuple[str, tuple[PictureBox, ...]]] = {
    "text": (
        "the text, cut into pieces, at both inputs and at the output",
        (*INPUT_BOXES, (446, 587, 172, 34)),
    ),
    "positions": (
        "the waves of the positions, added to the embeddings of source and target",
        ((218, 96, 152, 74), (446, 96, 152, 74)),
    ),
    "loss": (
        "the output: linear map, softmax, and the loss against the target shifted by one",
        (OUTPUT_BOX,),
    ),
    "choice": (
        "the choice of the next token: from the softmax back to the decoder's input",
        (OUTPUT_BOX, INPUT_BOXES[1]),
    ),
}


@check_argument_types
def draw_architecture(part: str) -> Figure:
    """Draw the architecture with one part bright and the others faded (Fig. 1).

    The title says in words where one is. `part` is one of `CAPTION_AND_BOXES_BY_PART`; another is a
    UserError.
    """
    if part not in CAPTION_AND_BOXES_BY_PART:
        raise unknown_name_error("part", part, list(CAPTION_AND_BOXES_BY_PART))
    words, boxes = CAPTION_AND_BOXES_BY_PART[part]
    width, height = PICTURE_SIZE_POINTS
    picture = next(
        folder / PICTURE_FILE_NAME
        for folder in PICTURE_SEARCH_FOLDERS
        if (folder / PICTURE_FILE_NAME).is_file()
    )
    figure = Figure(figsize=(width / 72, height / 72), dpi=PICTURE_DPI)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.imshow(np.asarray(Image.open(picture).convert("RGB")), extent=(0, width, 0, height))
    ax.set_axis_off()
    sheet = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height), (0.0, 0.0)]
    outlines = [Outline(sheet, closed=True)]
    for x, y, box_width, box_height in boxes:
        left, right = (
            x - box_width / 2 - BOX_FRAME_GAP_POINTS,
            x + box_width / 2 + BOX_FRAME_GAP_POINTS,
        )
        low, high = (
            y - box_height / 2 - BOX_FRAME_GAP_POINTS,
            y + box_height / 2 + BOX_FRAME_GAP_POINTS,
        )
        # It runs the other way round than the sheet, so that it is a hole in it.
        hole = [(left, low), (left, high), (right, high), (right, low), (left, low)]
        outlines.append(Outline(hole, closed=True))
        style = "round,pad=0,rounding_size=6"
        line = FancyBboxPatch((left, low), right - left, high - low, boxstyle=style, zorder=7)
        line.set(facecolor="none", edgecolor=DARK_COLOUR, linewidth=2.5)
        ax.add_patch(line)
    pale = PathPatch(
        Outline.make_compound_path(*outlines), facecolor="white", alpha=WHITE_OVERLAY_OPACITY
    )
    ax.add_patch(pale).set(edgecolor="none", zorder=6)
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_title(f"You are here: {words}", fontsize=10, loc="left")
    return figure
