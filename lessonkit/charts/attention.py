"""Attention weights: a row for each query, a column for each key (§3.2.2, §3.2.3)."""

from collections.abc import Sequence

import altair as alt
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch import Tensor

from lessonkit.charts.controls import (
    WEIGHT_COLOUR_SCALE,
    make_live_title,
    make_radio_buttons,
    make_slider,
)
from lessonkit.charts.heatmap import (
    MatrixView,
    check_num_cells,
    draw_chosen_matrix,
    make_matrix_view,
    pack_matrix,
)
from transformer.config import BOS_ID, SPECIAL_TOKENS
from transformer.models.translator import TranslationWithAttention
from transformer.support.checks import check_float_tensor, check_texts, describe_value
from transformer.support.errors import UserError

LABEL_FONT_POINTS = 8
MAX_WEIGHT_EXCESS = 0.01  # by which bfloat16 may put a weight above 1
MIN_CELL_INCHES = 0.16  # inches: a label's line
MIN_HEAD_PANEL_INCHES = 1.7  # inches
PAGE_WIDTH_INCHES, MAX_HEADS_PER_ROW = (
    10.0,
    4,
)  # inches that the heads of a row share; and how many at most
# Bright is open and dark is shut, as in the maps of attention weights; the two differ
# in lightness, so that they are told apart without any sense of colour.
BLOCKED_COLOUR, ALLOWED_COLOUR = "#404040", "#F0E442"


def draw_attention(
    weights: Tensor, queries: Sequence[str], keys: Sequence[str], ax: Axes, title: str = ""
) -> Axes:
    """Draw one matrix of attention weights, (q_len, k_len), dark 0 to bright 1 (§3.2.1).

    The tokens that attend are drawn downwards, those attended to, to the right; a UserError where
    they do not fit.
    """
    check_attention_weights(weights)
    label_axes_with_tokens("weights", weights, queries, keys, ax, title)
    ax.imshow(weights.detach().float().cpu().numpy(), cmap="viridis", vmin=0, vmax=1)
    return ax


def draw_heads(weights: Tensor, queries: Sequence[str], keys: Sequence[str], title: str) -> Figure:
    """Draw every head of one layer side by side, with one scale from 0 to 1 (§3.2.2).

    Weights are (num_heads, q_len, k_len), tokens as for `draw_attention`.
    """
    check_attention_weights(weights)
    check_texts("queries", queries)
    check_texts("keys", keys)
    if weights.dim() != 3 or tuple(weights.shape[1:]) != (len(queries), len(keys)):
        raise UserError(
            f"weights of shape {tuple(weights.shape)} do not fit {len(queries)} queries and "
            f"{len(keys)} keys: give (num_heads, q_len, k_len)"
        )
    cell = max(MIN_CELL_INCHES, MIN_HEAD_PANEL_INCHES / max(len(queries), len(keys)))
    width, height = cell * len(keys), cell * len(queries)
    max_columns = max(1, min(MAX_HEADS_PER_ROW, int(PAGE_WIDTH_INCHES / width)))
    rows = -(-len(weights) // max_columns)
    columns = -(-len(weights) // rows)  # as many in each row as can be
    left, below = _longest_label_inches(queries), _longest_label_inches(keys)
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
    scale.ax.tick_params(labelsize=LABEL_FONT_POINTS)
    return figure


def check_attention_weights(weights: Tensor) -> None:
    """Raise a UserError unless weights are numbers from 0 to 1."""
    check_float_tensor("weights", weights, (..., None, None))
    wrong = weights[~((weights >= 0) & (weights <= 1 + MAX_WEIGHT_EXCESS))]
    if wrong.numel():
        raise UserError(f"weights hold {wrong[0]:.3g}: give numbers from 0 to 1, after the softmax")


def label_axes_with_tokens(
    what: str, matrix: Tensor, queries: Sequence[str], keys: Sequence[str], ax: Axes, title: str
) -> None:
    """Label the rows and columns of a matrix, (q_len, k_len); raise a UserError unless they fit."""
    check_texts("queries", queries)
    check_texts("keys", keys)
    if tuple(matrix.shape) != (len(queries), len(keys)):
        raise UserError(
            f"{what} of shape {tuple(matrix.shape)}, {len(queries)} queries and {len(keys)} keys "
            "do not fit: give (q_len, k_len)"
        )
    ax.set_xticks(range(len(keys)), keys, rotation=60, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(queries)), queries)
    ax.tick_params(length=0, labelsize=LABEL_FONT_POINTS)
    ax.set_xlabel("attended to (key)", fontsize=9)
    ax.set_ylabel("attends (query)", fontsize=9)
    ax.set_title(title, fontsize=10)


def draw_mask(
    mask: Tensor, queries: Sequence[str], keys: Sequence[str], ax: Axes, title: str = ""
) -> Axes:
    """Draw one mask, bright where a query may attend and dark where it may not (§3.2.3).

    `figure.legend(*ax.get_legend_handles_labels())` explains the two colours. The mask is boolean,
    (q_len, k_len); tokens are as for `draw_attention`.
    """
    if getattr(mask, "dtype", None) != torch.bool:
        raise UserError(f"mask is {describe_value(mask)}: give a boolean one, True = may attend")
    label_axes_with_tokens("a mask", mask, queries, keys, ax, title)
    colors = ListedColormap([BLOCKED_COLOUR, ALLOWED_COLOUR])
    ax.imshow(mask.int().cpu().numpy(), cmap=colors, vmin=0, vmax=1)
    for color, name in ((ALLOWED_COLOUR, "may attend"), (BLOCKED_COLOUR, "may not")):
        ax.scatter([], [], marker="s", s=60, color=color, label=name)
    # White lines part the cells, so that they can be counted.
    q_len, k_len = mask.shape
    ax.hlines([i - 0.5 for i in range(1, q_len)], -0.5, k_len - 0.5, color="white", linewidth=1)
    ax.vlines([i - 0.5 for i in range(1, k_len)], -0.5, q_len - 0.5, color="white", linewidth=1)
    ax.set(xlim=(-0.5, k_len - 0.5), ylim=(q_len - 0.5, -0.5))
    return ax


def require_attention(attention: TranslationWithAttention) -> None:
    """Raise a UserError unless there is attention to draw."""
    if not len(attention.maps.cross):
        raise UserError(
            "this model has no attention to draw: give a Transformer, or an LSTM with attention"
        )


def attention_explorer(attention: TranslationWithAttention) -> alt.Chart:
    """Draw one head's weights, with controls for the stack, the layer and the head (§3.2.3).

    Stacks: the encoder's self-attention (source to source), the decoder's (each token that it
    says, to those it has read, "<bos>" first) and cross-attention (to the source).
    """
    require_attention(attention)
    maps = attention.maps._asdict()
    check_num_cells(tuple(weights.shape) for weights in maps.values())
    for weights in maps.values():
        check_attention_weights(weights)
    num_layers, _, num_heads = attention.maps.cross.shape[:3]
    rows: list[dict[str, object]] = [
        {"stack": name, "layer": layer, "head": head, "cells": pack_matrix(matrix)}
        for name, weights in maps.items()
        for layer, heads in enumerate(weights[:, 0], start=1)
        for head, matrix in enumerate(heads, start=1)
    ]
    controls = [
        make_radio_buttons("stack", "cross", list(maps)),
        make_slider("layer", num_layers, 1, num_layers),
        make_slider("head", 1, 1, num_heads),
    ]
    legend = alt.Legend(title="attention weight", gradientLength=120)
    return (
        draw_chosen_matrix(rows, _views_by_stack(attention), controls)
        .encode(
            color=alt.Color("value:Q", scale=WEIGHT_COLOUR_SCALE, legend=legend),
            tooltip=["query:N", "key:N", alt.Tooltip("value:Q", title="weight", format=".2f")],
        )
        .properties(
            name="attention",
            title=make_live_title("views[stack].title + ', layer ' + layer + ', head ' + head"),
            description="Grid of attention weights from 0 to 1, a row for each token that attends, "
            "a column for each attended to; each row sums to 1. Controls choose the stack "
            f"(encoder, decoder, cross), the layer (1 to {num_layers}) and the head (1 to "
            f"{num_heads}). Source: {' '.join(attention.src_tokens)} Translation: "
            f"{' '.join(attention.tgt_tokens)}",
        )
    )


def _views_by_stack(attention: TranslationWithAttention) -> dict[str, MatrixView]:
    src, tgt = attention.src_tokens, attention.tgt_tokens
    tgt_in = [SPECIAL_TOKENS[BOS_ID], *tgt[:-1]]
    return {
        "encoder": make_matrix_view("Encoder self-attention", src, src),
        "decoder": make_matrix_view("Decoder self-attention", tgt, tgt_in),
        "cross": make_matrix_view("Cross-attention", tgt, src),
    }


def _longest_label_inches(tokens: Sequence[str]) -> float:
    """Estimate the inches that the longest label takes."""
    return 0.6 * LABEL_FONT_POINTS / 72 * max(map(len, tokens), default=0)
