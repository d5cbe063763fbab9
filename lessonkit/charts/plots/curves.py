"""Curves: the loss over the steps of a training, and named lines over a quantity that doubles."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from lessonkit.charts.style import CROSS, OURS, PAPER, SOURCE, TARGET
from transformer.support.errors import UserError

LOOKS = ((SOURCE, "o-"), (TARGET, "s-"), (OURS, "^-"), (CROSS, "D-"), (PAPER, "v-"))
MOST_TICKS = 8  # points that each get a label of their own
Line = Sequence[tuple[float, float]]  # (x, y) from left to right


def draw_loss(log: Sequence[dict[str, Any]], ax: Axes, title: str = "") -> Axes:
    """Draw the training and the validation loss of one run (§5).

    Args:
        log: The records of a run's log.jsonl, from `transformer.models.log.read_log`.
        ax: Where to draw.
        title: Above the picture.
    """
    for kind, colour, style in (("training", PAPER, "-"), ("validation", OURS, "o-")):
        records = [record for record in log if record["kind"] == kind]
        if not records:
            continue
        steps = [record["step"] for record in records]
        losses = [record["loss"] for record in records]
        ax.plot(steps, losses, style, color=colour, label=kind, markersize=4)
    ax.set_xlabel("step (updates of the weights)")
    ax.set_ylabel("loss (nats per token)")
    ax.set_ylim(bottom=0)
    ax.set_title(title)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def draw_lines(lines: Mapping[str, Line], ax: Axes, title: str = "") -> Axes:
    """Draw lines over a logarithmic x, each with its own colour and mark.

    Not in the paper: vocabulary sizes, budgets, tokens read. Where the lines have few points,
    these are what the x axis names.

    Args:
        lines: The points of each line, by name, at most five.
        ax: Where to draw.
        title: Above the picture.

    Raises:
        UserError: there are more lines than looks.
    """
    if len(lines) > len(LOOKS):
        raise UserError(f"{len(lines)} lines, and there are {len(LOOKS)} looks: give fewer")
    looks = LOOKS[: len(lines)]
    for (name, points), (colour, style) in zip(lines.items(), looks, strict=True):
        x, y = zip(*points, strict=True)
        ax.plot(x, y, style, color=colour, label=name, markersize=4)
    ax.set_xscale("log")
    ticks = sorted({x for points in lines.values() for x, _ in points})
    if len(ticks) <= MOST_TICKS:
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.minorticks_off()
    ax.set_title(title, fontsize=10)
    ax.legend(frameon=False, fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
