"""What a model loses without each of its heads, by zero and by the head's mean, side by side."""

from collections.abc import Mapping
from typing import Any

import torch
from matplotlib.axes import Axes
from numpy.typing import NDArray

from lessonkit.analysis.heads import STACKS
from lessonkit.charts.plots.head_grid import draw_head_grid

WAYS = ("zero", "mean")
FRAMED = 0.01  # of a paired bootstrap's p: below it a cell is framed


def draw_removals(record: Mapping[str, Any], axes: "NDArray[Any]", highest: float) -> None:
    """Draw the BLEU (beam 4) that each head's removal costs; a frame where p < 0.01.

    Not in the paper.

    Args:
        record: As `python -m experiments heads` writes it.
        axes: 2 rows, for zero and for the mean, of 3 stacks.
        highest: Points of BLEU of the brightest color.
    """
    figures = record["figures"]
    for row, way in enumerate(WAYS):
        for column, stack in enumerate(STACKS):
            ax: Axes = axes[row, column]
            heads = {name: each for name, each in figures[way]["heads"].items() if stack in name}
            layers = int(next(reversed(heads)).split()[1].split(".")[0])
            lost = [figures["whole"]["beam"] - each["beam"] for each in heads.values()]
            small = [each["p"] < FRAMED for each in heads.values()]
            draw_head_grid(
                torch.tensor(lost).reshape(layers, -1),
                ax,
                f"{stack}, by {way}",
                highest,
                framed=torch.tensor(small).reshape(layers, -1),
            )
