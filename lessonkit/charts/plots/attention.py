"""Attention weights as pictures: a row for each query, a column for each key."""

from collections.abc import Sequence

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from transformer.support.errors import UserError

LABEL_POINTS = 8
SMALLEST_CELL = 0.16  # inches: a label's line
SMALLEST_HEAD = 1.7  # inches
PAGE_WIDTH = 10.0  # inches that the heads of a row share


def draw_attention(
    weights: Tensor, queries: Sequence[str], keys: Sequence[str], ax: Axes, title: str = ""
) -> Axes:
    """Draw one matrix of attention weights, dark 0 to bright 1.

    Args:
        weights: (q_len, k_len), each row summing to 1.
        queries: The tokens that attend, q_len of them, drawn downwards.
        keys: The tokens attended to, k_len of them, drawn to the right.
        ax: Where to draw.
        title: Above the matrix.

    Raises:
        UserError: the tokens do not fit the matrix.
    """
    if tuple(weights.shape) != (len(queries), len(keys)):
        raise UserError(
            f"weights of shape {tuple(weights.shape)} do not fit {len(queries)} queries and "
            f"{len(keys)} keys: give (q_len, k_len)"
        )
    ax.imshow(weights.detach().float().cpu().numpy(), cmap="viridis", vmin=0, vmax=1)
    ax.set_xticks(range(len(keys)), keys, rotation=60, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(queries)), queries)
    ax.tick_params(length=0, labelsize=LABEL_POINTS)
    ax.set_xlabel("attended to (key)", fontsize=9)
    ax.set_ylabel("attends (query)", fontsize=9)
    ax.set_title(title, fontsize=10)
    return ax


def draw_heads(
    weights: Tensor, queries: Sequence[str], keys: Sequence[str], title: str, per_row: int = 4
) -> Figure:
    """Draw every head of one layer side by side, with one scale from 0 to 1.

    Args:
        weights: (num_heads, q_len, k_len)
        queries: The tokens that attend.
        keys: The tokens attended to.
        title: Above the figure.
        per_row: Most heads in a row; long sentences leave room for fewer.

    Raises:
        UserError: the tokens do not fit the weights.
    """
    if weights.dim() != 3 or tuple(weights.shape[1:]) != (len(queries), len(keys)):
        raise UserError(
            f"weights of shape {tuple(weights.shape)} do not fit {len(queries)} queries and "
            f"{len(keys)} keys: give (num_heads, q_len, k_len)"
        )
    cell = max(SMALLEST_CELL, SMALLEST_HEAD / max(len(queries), len(keys)))
    width, height = cell * len(keys), cell * len(queries)
    most = max(1, min(per_row, int(PAGE_WIDTH / width)))
    rows = -(-len(weights) // most)
    columns = -(-len(weights) // rows)  # as many in each row as can be
    left, below = _label_room(queries), _label_room(keys)
    size = (1.5 + left + columns * (width + 0.2), 0.8 + rows * (height + below + 0.4))
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="compressed")
    for index, ax in enumerate(axes.flat):
        if index >= len(weights):
            ax.set_axis_off()
            continue
        draw_attention(weights[index], queries, keys, ax, f"head {index + 1}")
        ax.set(xlabel="", ylabel="")
        if index % columns:
            ax.set_yticklabels([])
    figure.suptitle(title)
    figure.supxlabel("attended to (key)", fontsize=9)
    figure.supylabel("attends (query)", fontsize=9)
    scale = figure.colorbar(axes[0, 0].images[0], ax=axes, shrink=0.8, pad=0.01, aspect=20 * rows)
    scale.set_label("attention weight", fontsize=9)
    scale.ax.tick_params(labelsize=LABEL_POINTS)
    return figure


def _label_room(tokens: Sequence[str]) -> float:
    """Estimate the inches that the longest label takes."""
    return 0.6 * LABEL_POINTS / 72 * max(map(len, tokens), default=0)
