"""Loss curves side by side: what a learner sees of a training before knowing what is wrong."""

from collections.abc import Mapping

from matplotlib.axes import Axes

from lessonkit.charts.plots.curves import Line
from lessonkit.charts.style import CROSS, OURS, SOURCE, TARGET
from transformer.support.errors import UserError

COLOURS = (OURS, TARGET, SOURCE, CROSS)
MARKED = 12  # points of a line that still get a mark each


def draw_symptoms(
    lines: Mapping[str, Line], ax: Axes, title: str = "", *, ylabel: str = "loss (nats per token)"
) -> Axes:
    """Draw the loss of several trainings over their steps, from 0 upwards.

    Not in the paper.

    Args:
        lines: The pairs (step, loss) of each training by its name, at most four; a single one
            gets no legend.
        ax: Where to draw.
        title: Above the picture.
        ylabel: What the losses are, with the unit.

    Raises:
        UserError: there are more than four trainings.
    """
    if len(lines) > len(COLOURS):
        raise UserError(f"{len(lines)} trainings, and there are {len(COLOURS)} colours: give fewer")
    for (name, line), colour in zip(lines.items(), COLOURS, strict=False):
        steps, losses = zip(*line, strict=True)
        mark = "o-" if len(line) <= MARKED else "-"
        ax.plot(steps, losses, mark, color=colour, label=name, markersize=3.5, linewidth=1.4)
    ax.set(xlabel="step (updates)", ylabel=ylabel)
    ax.set_ylim(bottom=0)
    ax.set_title(title, fontsize=10)
    if len(lines) > 1:
        ax.legend(edgecolor="none", framealpha=0.85, fontsize=9)  # over a line, if need be
    ax.spines[["top", "right"]].set_visible(False)
    return ax
