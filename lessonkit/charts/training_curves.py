"""Lines and bars of what was measured: losses, gradients, lengths, shares with their intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from lessonkit.charts.style import (
    FOURTH_LINE_COLOUR,
    OURS_COLOUR,
    PAPER_COLOUR,
    SOURCE_COLOUR,
    TARGET_COLOUR,
    add_legend,
    check_enough_colours,
    finish_axes,
)
from lessonkit.records import reading_record
from transformer.support.checks import check_has_items
from transformer.support.errors import short_repr
from transformer.support.signatures import check_argument_types

LINE_COLOURS = (OURS_COLOUR, TARGET_COLOUR, SOURCE_COLOUR, FOURTH_LINE_COLOUR)
MAX_MARKED_POINTS = 12  # points of a line that still get a mark each
LinePoints = Sequence[tuple[float, float]]  # (x, y) from left to right


@check_argument_types
def draw_loss(log: Sequence[Mapping[str, Any]], ax: Axes, title: str = "") -> Axes:
    """Draw the training and the validation loss of one run (§5), from `read_log`."""
    for kind, look in (("training", (PAPER_COLOUR, "-")), ("validation", (OURS_COLOUR, "o-"))):
        with reading_record("log"):
            points = [
                (float(record["step"]), float(record["loss"]))
                for record in log
                if record["kind"] == kind
            ]
        if points:
            _plot_lines({kind: points}, [look], ax)
    finish_axes(ax, title, "step (updates of the weights)", "loss (nats per token)", size=12)
    ax.set_ylim(bottom=0)
    add_legend(ax, frameon=False)
    return ax


@check_argument_types
def draw_gradient_norms_by_layer(
    norms: Mapping[str, Sequence[float]], ax: Axes, title: str = ""
) -> Axes:
    """Draw the norm of each layer's gradient on a logarithmic axis, a line for each stack (§3.1).

    The lowest layer's norm is the first of a stack.
    """
    lines = {name: list(enumerate(each, start=1)) for name, each in norms.items()}
    _plot_lines(lines, [(colour, "o-") for colour in LINE_COLOURS], ax)
    ax.set_yscale("log")
    add_legend(ax, frameon=False, fontsize=9)
    return finish_axes(ax, title, "layer (1 is the lowest)", "gradient (norm)")


@check_argument_types
def draw_training_losses(lines: Mapping[str, LinePoints], ax: Axes, title: str = "") -> Axes:
    """Draw the losses of up to four trainings over their steps, from 0 upwards.

    Not in the paper: what a learner sees of a training before knowing what is wrong. A single one
    gets no legend.
    """
    looks = [
        (colour, "o-" if len(line) <= MAX_MARKED_POINTS else "-")
        for colour, line in zip(LINE_COLOURS, lines.values(), strict=False)
    ]
    _plot_lines(lines, looks, ax, markersize=3.5, linewidth=1.4)
    finish_axes(ax, title, "step (updates)", "loss (nats per token)")
    ax.set_ylim(bottom=0)
    if len(lines) > 1:
        add_legend(ax, edgecolor="none", framealpha=0.85, fontsize=9)  # over a line, if need be
    return ax


def _plot_lines(
    lines: Mapping[str, LinePoints], looks: Sequence[tuple[str, str]], ax: Axes, **style: Any
) -> None:
    """Draw each line with a colour and a mark of its own."""
    check_enough_colours("lines", lines, len(looks))
    for (name, points), (colour, look) in zip(lines.items(), looks, strict=False):
        check_has_items(f"the line of {short_repr(name)}", points)
        x, y = zip(*points, strict=True)
        ax.plot(x, y, look, color=colour, label=name, **({"markersize": 4} | style))
