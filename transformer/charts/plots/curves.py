"""How a training went: the loss over the steps."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from transformer.charts.style import OURS, PAPER
from transformer.support.errors import UserError


def draw_loss(log: Sequence[dict[str, Any]], ax: Axes, title: str = "") -> Axes:
    """Draw the training and the validation loss of one run.

    Args:
        log: The records of a run's log.jsonl, from `transformer.trained.log.read_log`.
        ax: Where to draw.
        title: Above the picture.

    Raises:
        UserError: the log is empty.
    """
    if not log:
        raise UserError("an empty log has no curve: train for a step or more")
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
