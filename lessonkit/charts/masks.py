"""Masks: a row for each query, a column for each key, as a picture or to choose from (§3.2.3)."""

from collections.abc import Sequence

import altair as alt
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from torch import Tensor

from lessonkit.charts.attention import label_cells
from lessonkit.charts.cells import cell_chart, check_size, pack, view
from lessonkit.charts.controls import colours, heading, radio
from transformer.config import PAD_ID, SPECIAL_TOKENS, UNK_ID
from transformer.masks import causal_mask, decoder_mask, padding_mask
from transformer.support.errors import UserError

# Bright is open and dark is shut, as in the maps of attention weights; the two differ
# in lightness, so that they are told apart without any sense of colour.
BLOCKED, ALLOWED = "#404040", "#F0E442"
PAD = SPECIAL_TOKENS[PAD_ID]
TITLES = {
    "padding": "Padding: the encoder reads no padding",
    "causal": "Causal: the decoder reads no later token",
    "combined": "Both: the decoder's self-attention",
    "cross": "Padding again: the decoder reads the source",
}


def draw_mask(
    mask: Tensor, queries: Sequence[str], keys: Sequence[str], ax: Axes, title: str = ""
) -> Axes:
    """Draw one mask, bright where a query may attend and dark where it may not (§3.2.3).

    `figure.legend(*ax.get_legend_handles_labels())` explains the two colours. The mask is boolean,
    (q_len, k_len); tokens are as for `draw_attention`.
    """
    if mask.dtype != torch.bool:
        raise UserError(f"a mask of {mask.dtype}: give a boolean one, True = may attend")
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


def mask_explorer(src_tokens: Sequence[str], tgt_tokens: Sequence[str]) -> alt.Chart:
    """Draw which token may attend to which, with a control that chooses the mask (§3.2.3).

    The masks are those of `transformer.masks`: padding (source to source), causal and
    combined (target to target), and padding again between target and source. The tokens are what
    encoder and decoder read, filled up with "<pad>".
    """
    src_len, tgt_len = len(src_tokens), len(tgt_tokens)
    check_size([(src_len, src_len), (2, tgt_len, tgt_len), (tgt_len, src_len)])
    masks = _masks(src_tokens, tgt_tokens)
    sides = {name: [tgt_tokens, tgt_tokens] for name in masks}
    sides |= {"padding": [src_tokens, src_tokens], "cross": [tgt_tokens, src_tokens]}
    views = {name: view(TITLES[name], *tokens) for name, tokens in sides.items()}
    rows: list[dict[str, object]] = [{"mask": name, "cells": pack(m)} for name, m in masks.items()]
    scale = colours(["may attend", "may not"], [ALLOWED, BLOCKED])
    counts = " ".join(
        f"{name.capitalize()}: {int(m.sum())} of {m.numel()} may." for name, m in masks.items()
    )
    return (
        cell_chart(rows, views, [radio("mask", "padding", list(masks))])
        .transform_calculate(verdict="datum.value == 1 ? 'may attend' : 'may not'")
        .mark_rect(aria=False, stroke="white")
        .encode(
            color=alt.Color("verdict:N", scale=scale, title=None),
            tooltip=["query:N", "key:N", "verdict:N"],
        )
        .properties(
            name="masks",
            title=heading("views[mask].title"),
            description=f"Grid of the masks of {src_len} source and {tgt_len} target tokens: a row "
            "for each token that attends, a column for each attended to, coloured where it may. A "
            f"control chooses padding, causal, combined or cross. {counts}",
        )
    )


def _masks(src_tokens: Sequence[str], tgt_tokens: Sequence[str]) -> dict[str, Tensor]:
    """Make every mask, (q_len, k_len); they look at nothing but which token is padding."""
    src, tgt = (
        torch.tensor([[PAD_ID if token == PAD else UNK_ID for token in tokens]])
        for tokens in (src_tokens, tgt_tokens)
    )
    reads_src = padding_mask(src)[0, 0]  # (1, src_len): the same for every query
    return {
        "padding": reads_src.expand(len(src_tokens), -1),
        "causal": causal_mask(len(tgt_tokens))[0, 0],
        "combined": decoder_mask(tgt)[0, 0],
        "cross": reads_src.expand(len(tgt_tokens), -1),
    }
