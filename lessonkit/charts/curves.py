"""Lines and bars of what was measured: losses, gradients, lengths, shares with their intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from lessonkit.charts.style import CROSS, OURS, PAPER, SOURCE, TARGET, check_count, frame
from transformer.support.errors import UserError

LOOKS = ((SOURCE, "o-"), (TARGET, "s-"), (OURS, "^-"), (CROSS, "D-"), (PAPER, "v-"))
COLOURS = (OURS, TARGET, SOURCE, CROSS)
BAR_COLOURS = (OURS, SOURCE, TARGET, CROSS, PAPER)
MOST_TICKS = 8  # points that each get a label of their own
MARKED = 12  # points of a line that still get a mark each
GROUP_HEIGHT = 0.8  # of the distance between two phenomena
Line = Sequence[tuple[float, float]]  # (x, y) from left to right


def draw_loss(log: Sequence[dict[str, Any]], ax: Axes, title: str = "") -> Axes:
    """Draw the training and the validation loss of one run (§5), from `read_log`."""
    for kind, look in (("training", (PAPER, "-")), ("validation", (OURS, "o-"))):
        points = [(record["step"], record["loss"]) for record in log if record["kind"] == kind]
        if points:
            _plot({kind: points}, [look], ax)
    frame(ax, title, "step (updates of the weights)", "loss (nats per token)", size=12)
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return ax


def draw_lines(lines: Mapping[str, Line], ax: Axes, title: str = "") -> Axes:
    """Draw up to five lines by name over a logarithmic x, each with its own colour and mark.

    Not in the paper: vocabulary sizes, budgets, tokens read. Where the lines have few points,
    these are what the x axis names.
    """
    _plot(lines, LOOKS, ax)
    ax.set_xscale("log")
    ticks = sorted({x for points in lines.values() for x, _ in points})
    if len(ticks) <= MOST_TICKS:
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.minorticks_off()
    ax.legend(frameon=False, fontsize=9)
    return frame(ax, title)


def draw_gradients(norms: Mapping[str, Sequence[float]], ax: Axes, title: str = "") -> Axes:
    """Draw the norm of each layer's gradient on a logarithmic axis, a line for each stack (§3.1).

    The lowest layer's norm is the first of a stack.
    """
    lines = {name: list(enumerate(each, start=1)) for name, each in norms.items()}
    _plot(lines, [(colour, "o-") for colour in COLOURS], ax)
    ax.set_yscale("log")
    ax.legend(frameon=False, fontsize=9)
    return frame(ax, title, "layer (1 is the lowest)", "gradient (norm)")


def draw_symptoms(lines: Mapping[str, Line], ax: Axes, title: str = "") -> Axes:
    """Draw the losses of up to four trainings over their steps, from 0 upwards.

    Not in the paper: what a learner sees of a training before knowing what is wrong. A single one
    gets no legend.
    """
    looks = [
        (colour, "o-" if len(line) <= MARKED else "-")
        for colour, line in zip(COLOURS, lines.values(), strict=False)
    ]
    _plot(lines, looks, ax, markersize=3.5, linewidth=1.4)
    frame(ax, title, "step (updates)", "loss (nats per token)")
    ax.set_ylim(bottom=0)
    if len(lines) > 1:
        ax.legend(edgecolor="none", framealpha=0.85, fontsize=9)  # over a line, if need be
    return ax


def _plot(
    lines: Mapping[str, Line], looks: Sequence[tuple[str, str]], ax: Axes, **style: Any
) -> None:
    """Draw each line with a colour and a mark of its own."""
    check_count("lines", lines, len(looks))
    for (name, points), (colour, look) in zip(lines.items(), looks, strict=False):
        x, y = zip(*points, strict=True)
        ax.plot(x, y, look, color=colour, label=name, **({"markersize": 4} | style))


def draw_contrasts(
    series: Mapping[str, Mapping[str, Mapping[str, Any]]], ax: Axes, title: str = ""
) -> Axes:
    """Draw the pairs of which both sides came out right: a group of bars for each phenomenon.

    Not in the paper. For each name in the legend the phenomena have `share` and `interval`, 0 to 1,
    as one way of a record of contrasts; up to five series have the same.
    """
    names = [list(phenomena) for phenomena in series.values()]
    if not 0 < len(series) <= len(BAR_COLOURS) or any(each != names[0] for each in names):
        raise UserError(
            f"{len(series)} series with phenomena {names}: give 1 to {len(BAR_COLOURS)} with the "
            "same"
        )
    height = GROUP_HEIGHT / len(series)
    for row, (label, phenomena) in enumerate(series.items()):
        places = [place + (row + 0.5) * height for place in range(len(phenomena))]
        shares = [100 * figures["share"] for figures in phenomena.values()]
        ends = [[100 * end for end in figures["interval"]] for figures in phenomena.values()]
        ax.barh(places, shares, 0.9 * height, color=BAR_COLOURS[row], alpha=0.75, label=label)
        ax.hlines(places, *zip(*ends, strict=True), color="black", linewidth=1.2)
    ax.set_yticks([place + GROUP_HEIGHT / 2 for place in range(len(names[0]))], names[0])
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.set(xlim=(0, 100))
    return frame(ax, title, "pairs with both sides right (%), 95% interval", "what differs")
