"""Masks: a row for each query, a column for each key (§3.2.3)."""

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from torch import Tensor

from lessonkit.charts.attention import label_cells
from transformer.support.errors import UserError, described

# Bright is open and dark is shut, as in the maps of attention weights; the two differ
# in lightness, so that they are told apart without any sense of colour.
BLOCKED, ALLOWED = "#404040", "#F0E442"


def draw_mask(
    mask: Tensor, queries: Sequence[str], keys: Sequence[str], ax: Axes, title: str = ""
) -> Axes:
    """Draw one mask, bright where a query may attend and dark where it may not (§3.2.3).

    `figure.legend(*ax.get_legend_handles_labels())` explains the two colours. The mask is boolean,
    (q_len, k_len); tokens are as for `draw_attention`.
    """
    if getattr(mask, "dtype", None) != torch.bool:
        raise UserError(f"mask is {described(mask)}: give a boolean one, True = may attend")
    label_cells("a mask", mask, queries, keys, ax, title)
    colors = ListedColormap([BLOCKED, ALLOWED])
    ax.imshow(mask.int().cpu().numpy(), cmap=colors, vmin=0, vmax=1)
    for color, name in ((ALLOWED, "may attend"), (BLOCKED, "may not")):
        ax.scatter([], [], marker="s", s=60, color=color, label=name)
    # White lines part the cells, so that they can be counted.
    q_len, k_len = mask.shape
    ax.hlines([i - 0.5 for i in range(1, q_len)], -0.5, k_len - 0.5, color="white", linewidth=1)
    ax.vlines([i - 0.5 for i in range(1, k_len)], -0.5, q_len - 0.5, color="white", linewidth=1)
    ax.set(xlim=(-0.5, k_len - 0.5), ylim=(q_len - 0.5, -0.5))
    return ax
