"""Position encodings as pictures: waves, table, turning pairs, how alike two are (§3.5)."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from torch import Tensor

from lessonkit.charts.style import CROSS, OURS, PAPER, SOURCE, TARGET
from transformer.support.errors import UserError


def draw_waves(table: Tensor, dimensions: Sequence[int], ax: Axes, title: str = "") -> Axes:
    """Draw some columns of the table as curves over the positions (§3.5).

    Args:
        table: (length, d_model)
        dimensions: Which columns, from 0; the first is drawn darkest.
        ax: Where to draw.
        title: Above the picture.

    Raises:
        UserError: the table has no such dimension.
    """
    width = table.shape[1]
    colours = colormaps["viridis"]
    for rank, dimension in enumerate(dimensions):
        if not 0 <= dimension < width:
            raise UserError(f"dimension {dimension} is not in the table: give 0 to {width - 1}")
        colour = colours(0.85 * rank / max(1, len(dimensions) - 1))
        values = table[:, dimension].detach().cpu().numpy()
        ax.plot(values, color=colour, label=f"dimension {dimension}")
    ax.set_xlabel("position (tokens)")
    ax.set_ylabel("value (no unit)")
    ax.set_title(title)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return ax


def draw_table(table: Tensor, ax: Axes, title: str = "") -> Axes:
    """Draw a whole table of positions: blue below 0, white at 0, red above.

    Args:
        table: (length, d_model); the first position is drawn on top.
        ax: Where to draw.
        title: Above the picture.
    """
    values = table.detach().float().cpu().numpy()
    limit = float(abs(values).max()) or 1.0
    image = ax.imshow(
        values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest"
    )
    ax.set_xlabel("dimension")
    ax.set_ylabel("position (tokens)")
    ax.set_title(title)
    figure = ax.get_figure()
    assert figure is not None
    figure.colorbar(image, ax=ax, label="value (no unit)", pad=0.02)
    return ax


def draw_turn(
    table: Tensor, pair: int, starts: Sequence[int], k: int, ax: Axes, title: str = ""
) -> Axes:
    """Draw a sine and its cosine as the hand of a clock, before and after a move by k (§3.5).

    The cosine points to the right, the sine upwards. A dotted hand is where a move begins, a full
    one where it ends, and the arc between them runs over the positions on the way.

    Args:
        table: (length, d_model), with the paper's waves.
        pair: Which one, i of the paper, from 0.
        starts: Positions where a move begins; two at the most.
        k: By how many positions (tokens), 0 or more.
        ax: Where to draw.
        title: Above the picture.

    Raises:
        UserError: the table has no such pair, a move leaves it, or there are three moves.
    """
    length, d_model = table.shape
    if not 0 <= pair < d_model // 2:
        raise UserError(f"pair {pair} is not in the table: give 0 to {d_model // 2 - 1}")
    if len(starts) > 2:
        raise UserError(f"{len(starts)} moves, and there are two colours: give fewer starts")
    speed = 10_000 ** (-2 * pair / d_model)  # radians per token
    for start, colour, radius in zip(starts, (SOURCE, TARGET), (0.6, 0.4), strict=False):
        if not 0 <= start <= start + k < length:
            raise UserError(
                f"a move from {start} by {k} leaves the table: its positions are 0 to {length - 1}"
            )
        for position, style in ((start, ":"), (start + k, "-")):
            sine, cosine = table[position, 2 * pair : 2 * pair + 2].tolist()
            ax.plot([0, cosine], [0, sine], style, color=colour, linewidth=2)
        angle = speed * np.linspace(start, start + k, max(2, math.ceil(10 * speed * k)))
        ax.plot(radius * np.cos(angle), radius * np.sin(angle), color=colour)
    ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
    ax.set_title(title, fontsize=10)
    ax.set_xlabel("cosine (no unit)", fontsize=9)
    ax.set_ylabel("sine (no unit)", fontsize=9)
    return ax


def draw_similarity(table: Tensor, position: int, ax: Axes, title: str = "") -> Axes:
    """Draw the dot product of one position's vector with every other's, over the distance.

    Args:
        table: (length, d_model)
        position: The one that is compared, from 0.
        ax: Where to draw; curves of several positions may share it.
        title: Above the picture.

    Raises:
        UserError: the table has no such position.
    """
    length = len(table)
    if not 0 <= position < length:
        raise UserError(f"position {position} is not in the table: give 0 to {length - 1}")
    products = (table @ table[position]).detach().cpu().numpy()
    distances = [other - position for other in range(length)]
    colour = (SOURCE, TARGET, OURS, CROSS)[len(ax.lines) % 4]
    ax.plot(distances, products, color=colour, label=f"from position {position}")
    ax.set_xlabel("distance (tokens)")
    ax.set_ylabel("dot product (no unit)")
    ax.set_title(title)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def draw_accuracy_by_length(
    accuracies: dict[str, Sequence[Sequence[float]]],
    lengths: Sequence[int],
    trained_to: int,
    ax: Axes,
    title: str = "",
) -> Axes:
    """Draw how often models are right on sequences of each length, one line a model.

    Args:
        accuracies: For each kind of model the runs of it, each with a share from 0 to 1
            for every length; three kinds at the most.
        lengths: In tokens, rising.
        trained_to: The longest length in training, marked.
        ax: Where to draw.
        title: Above the picture.

    Raises:
        UserError: there are more than three kinds.
    """
    styles = ((OURS, "o-"), (TARGET, "s--"), (SOURCE, "^:"))[: len(accuracies)]
    if len(styles) < len(accuracies):
        raise UserError(f"{len(accuracies)} kinds, and there are {len(styles)} looks: give fewer")
    ax.axvspan(lengths[0], trained_to, color=PAPER, alpha=0.15, lw=0, label="lengths in training")
    for (colour, style), (kind, runs) in zip(styles, accuracies.items(), strict=True):
        for index, run in enumerate(runs):
            label = "_" if index else kind
            ax.plot(lengths, run, style, color=colour, label=label, markersize=4)
    ax.set_ylim(-0.02, 1.04)
    ax.set_xlabel("length (symbols)")
    ax.set_ylabel("right symbols (share)")
    ax.set_title(title)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return ax
