"""Masks as pictures: a row for each query, a column for each key."""

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from torch import Tensor

from transformer.support.errors import UserError

# Bright is open and dark is shut, as in the maps of attention weights; the two differ
# in lightness, so that they are told apart without any sense of colour.
BLOCKED, ALLOWED = "#404040", "#F0E442"


def draw_mask(
    mask: Tensor, queries: Sequence[str], keys: Sequence[str], ax: Axes, title: str = ""
) -> Axes:
    """Draw one mask, bright where a query may attend and dark where it may not (§3.2.3).

    The axes know the names of the two colours:
    `figure.legend(*ax.get_legend_handles_labels())` explains them.

    Args:
        mask: Boolean, True = may attend, (q_len, k_len).
        queries: The tokens that attend, q_len of them, drawn downwards.
        keys: The tokens attended to, k_len of them, drawn to the right.
        ax: Where to draw.
        title: Above the matrix.

    Raises:
        UserError: the mask is not boolean, or the tokens do not fit it.
    """
    if mask.dtype != torch.bool:
        raise UserError(f"a mask of {mask.dtype}: give a boolean one, True = may attend")
    if tuple(mask.shape) != (len(queries), len(keys)):
        raise UserError(
            f"a mask of shape {tuple(mask.shape)} does not fit {len(queries)} queries and "
            f"{len(keys)} keys: give (q_len, k_len)"
        )
    colors = ListedColormap([BLOCKED, ALLOWED])
    ax.imshow(mask.int().cpu().numpy(), cmap=colors, vmin=0, vmax=1)
    for color, name in ((ALLOWED, "may attend"), (BLOCKED, "may not")):
        ax.scatter([], [], marker="s", s=60, color=color, label=name)
    ax.set_xticks(range(len(keys)), keys, rotation=60, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(queries)), queries)
    _draw_grid(ax, len(queries), len(keys))
    ax.tick_params(length=0, labelsize=8)
    ax.set_xlabel("attended to (key)", fontsize=9)
    ax.set_ylabel("attends (query)", fontsize=9)
    ax.set_title(title, fontsize=10)
    return ax


def _draw_grid(ax: Axes, q_len: int, k_len: int) -> None:
    """Part the cells by white lines, so that they can be counted."""
    ax.hlines([i - 0.5 for i in range(1, q_len)], -0.5, k_len - 0.5, color="white", linewidth=1)
    ax.vlines([i - 0.5 for i in range(1, k_len)], -0.5, q_len - 0.5, color="white", linewidth=1)
    ax.set(xlim=(-0.5, k_len - 0.5), ylim=(q_len - 0.5, -0.5))
