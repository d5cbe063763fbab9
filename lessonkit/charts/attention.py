"""Attention weights: a row for each query, a column for each key (§3.2.2, §3.2.3)."""

import math
from collections.abc import Mapping, Sequence

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
from lessonkit.charts.head_grid import (
    LABEL_FONT_POINTS,
    HeadGridLayout,
    plan_head_grid,
)
from lessonkit.charts.heatmap import (
    MatrixLabels,
    check_num_cells,
    draw_chosen_matrix,
    make_matrix_labels,
    pack_matrix,
)
from lessonkit.charts.labels import axes_points, shorten_label
from transformer.config import BOS_ID, SPECIAL_TOKENS
from transformer.model import AttentionMaps
from transformer.models.translator import TranslationWithAttention
from transformer.support.checks import check_float_tensor, check_not_empty, check_number
from transformer.support.errors import UserError, describe_value
from transformer.support.signatures import check_argument_types

MAX_ATTENTION_WEIGHT_EXCESS_OVER_1 = 0.01  # by which bfloat16 may put a weight above 1
# Bright is open and dark is shut, as in the maps of attention weights; the two differ
# in lightness, so that they are told apart without any sense of colour.
MAX_GRID_LINE_CELL_SHARE = 0.1  # of a cell, that the line between cells takes
BLOCKED_COLOUR, ALLOWED_COLOUR = "#404040", "#F0E442"


@check_argument_types
def draw_attention(
    weights: Tensor, queries: Sequence[str], keys: Sequence[str], ax: Axes, title: str = ""
) -> Axes:
    """Draw one matrix of attention weights, (q_len, k_len), dark 0 to bright 1 (§3.2.1).

    The tokens that attend are drawn downwards, those attended to, to the right; a UserError where
    they do not fit.
    """
    check_attention_weight_range(weights)
    label_axes_with_tokens("weights", weights, queries, keys, ax, title)
    ax.imshow(weights.detach().float().cpu().numpy(), cmap="viridis", vmin=0, vmax=1)
    return ax


@check_argument_types
def draw_heads(
    weights: Tensor,
    queries: Sequence[str],
    keys: Sequence[str],
    title: str,
    head_numbers: Sequence[int] | None = None,
) -> Figure:
    """Draw every head of one layer side by side, with one scale from 0 to 1 (§3.2.2).

    Weights are (num_heads, q_len, k_len), tokens as for `draw_attention`; `head_numbers` are 1, 2,
    ... unless given. Where a sentence is long, cells are small and every few tokens labelled, which
    the figure says; no side is over `head_grid.MAX_FIGURE_INCHES`.
    """
    check_attention_weight_range(weights)
    check_not_empty("weights", weights)
    queries, keys = list(queries), list(keys)
    if weights.dim() != 3 or tuple(weights.shape[1:]) != (len(queries), len(keys)):
        raise UserError(
            f"weights of shape {tuple(weights.shape)} do not fit {len(queries)} queries and "
            f"{len(keys)} keys: give (num_heads, q_len, k_len)"
        )
    grid = plan_head_grid(len(weights), queries, keys)
    rows, columns, shown = grid.rows, grid.columns, grid.tokens_drawn
    every = grid.label_every
    figure, axes = plt.subplots(
        rows, columns, figsize=grid.figure_inches, squeeze=False, layout="compressed"
    )
    numbers = head_numbers or range(1, len(weights) + 1)
    for index, ax in enumerate(axes.flat):
        if index >= len(weights):
            ax.set_axis_off()
            continue
        part = weights[index, :shown, :shown]
        draw_attention(part, queries[:shown], keys[:shown], ax, f"head {numbers[index]}")
        label_every(ax, queries[:shown], keys[:shown], every)
        ax.set(xlabel="", ylabel="")
        if index % columns:
            ax.set_yticklabels([])
    figure.suptitle(title, parse_math=False)
    figure.supxlabel("attended to (key)" + _left_out_tokens_in_words(len(keys), grid), fontsize=9)
    figure.supylabel("attends (query)" + _left_out_tokens_in_words(len(queries), grid), fontsize=9)
    scale = figure.colorbar(axes[0, 0].images[0], ax=axes, shrink=0.8, pad=0.01, aspect=20 * rows)
    scale.set_label("attention weight", fontsize=9)
    scale.ax.tick_params(labelsize=LABEL_FONT_POINTS)
    return figure


def label_every(ax: Axes, queries: Sequence[str], keys: Sequence[str], every: int) -> None:
    """Label every so many rows and columns of drawn axes with their tokens, the first included."""
    columns, rows = range(0, len(keys), every), range(0, len(queries), every)
    column_labels = [shorten_label(keys[place]) for place in columns]
    row_labels = [shorten_label(queries[place]) for place in rows]
    ax.set_xticks(
        columns, column_labels, rotation=60, ha="right", rotation_mode="anchor", parse_math=False
    )
    ax.set_yticks(rows, row_labels, parse_math=False)


def _left_out_tokens_in_words(num_tokens: int, grid: HeadGridLayout) -> str:
    """Return what is left out of the tokens of a side, after a comma; nothing if nothing is."""
    words = ""
    if grid.tokens_drawn < num_tokens:
        words += f", the first {grid.tokens_drawn:,} of {num_tokens:,} tokens"
    if grid.label_every > 1:
        words += f", 1 in {grid.label_every} labelled"
    return words


def check_attention_weight_range(weights: Tensor) -> None:
    """Raise a UserError unless weights are numbers from 0 to 1."""
    check_float_tensor("weights", weights, (..., None, None))
    wrong = weights[~((weights >= 0) & (weights <= 1 + MAX_ATTENTION_WEIGHT_EXCESS_OVER_1))]
    if wrong.numel():
        raise UserError(f"weights hold {wrong[0]:.3g}: give numbers from 0 to 1, after the softmax")


def label_axes_with_tokens(
    what: str, matrix: Tensor, queries: Sequence[str], keys: Sequence[str], ax: Axes, title: str
) -> None:
    """Label the rows and columns of a matrix, (q_len, k_len); raise a UserError unless they fit."""
    if tuple(matrix.shape) != (len(queries), len(keys)):
        raise UserError(
            f"{what} of shape {tuple(matrix.shape)}, {len(queries)} queries and {len(keys)} keys "
            "do not fit: give (q_len, k_len)"
        )
    # Of a long sentence only so many tokens are labelled as the figure has room for.
    width, height = (side / ax.figure.dpi for side in ax.figure.bbox.size)  # inches
    labels_per_line = max(len(keys) / width, len(queries) / height) * LABEL_FONT_POINTS / 72
    label_every(ax, queries, keys, max(1, math.ceil(labels_per_line)))
    ax.tick_params(length=0, labelsize=LABEL_FONT_POINTS)
    ax.set_xlabel("attended to (key)", fontsize=9)
    ax.set_ylabel("attends (query)", fontsize=9)
    ax.set_title(title, fontsize=10, parse_math=False)


@check_argument_types
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
    width, height = axes_points(ax)
    line = min(1, MAX_GRID_LINE_CELL_SHARE * min(width / k_len, height / q_len))
    rows, columns = (range(1, length) for length in (q_len, k_len))
    ax.hlines([i - 0.5 for i in rows], -0.5, k_len - 0.5, color="white", linewidth=line)
    ax.vlines([i - 0.5 for i in columns], -0.5, q_len - 0.5, color="white", linewidth=line)
    ax.set(xlim=(-0.5, k_len - 0.5), ylim=(q_len - 0.5, -0.5))
    return ax


def check_has_attention(maps: AttentionMaps) -> None:
    """Raise a UserError unless there is attention to draw."""
    if not len(maps.cross):
        raise UserError(
            "this model has no attention to draw: give a Transformer, or an LSTM with attention"
        )


def check_layer_and_head(maps: AttentionMaps, layer: int | None, head: int | None) -> None:
    """Raise a UserError unless a model has a layer and a head, both from 1; None is any."""
    num_layers, _, num_heads = maps.cross.shape[:3]
    for name, number, most in (("layer", layer, num_layers), ("head", head, num_heads)):
        if number is not None:
            check_number(name, number, 1, most, integer=True)


@check_argument_types
def attention_explorer(
    attention: TranslationWithAttention, layer: int | None = None, head: int | None = None
) -> alt.Chart:
    """Draw one head's weights, with controls for the stack, the layer and the head (§3.2.3).

    A long sentence has too many weights for one chart: give a `layer` and a `head`, from 1, and it
    holds these alone.

    Stacks: the encoder's self-attention (source to source), the decoder's (each token that it
    says, to those it has read, "<bos>" first) and cross-attention (to the source).
    """
    check_has_attention(attention.maps)
    check_layer_and_head(attention.maps, layer, head)
    num_layers, _, num_heads = attention.maps.cross.shape[:3]
    layers = range(1, num_layers + 1) if layer is None else (layer,)
    heads = range(1, num_heads + 1) if head is None else (head,)
    maps = attention.maps._asdict()
    check_num_cells(
        ((len(layers), len(heads), *weights.shape[-2:]) for weights in maps.values()),
        "choose one layer= or head=, give a shorter sentence, or take draw_heads",
    )
    for weights in maps.values():
        check_attention_weight_range(weights)
    rows = _matrix_rows(maps, layers, heads)
    controls = [
        make_radio_buttons("stack", "cross", list(maps)),
        make_slider("layer", layers[-1], layers[0], layers[-1]),
        make_slider("head", heads[0], heads[0], heads[-1]),
    ]
    legend = alt.Legend(title="attention weight", gradientLength=120)
    return (
        draw_chosen_matrix(rows, _matrix_labels_by_stack(attention), controls)
        .encode(
            color=alt.Color("value:Q", scale=WEIGHT_COLOUR_SCALE, legend=legend),
            tooltip=["query:N", "key:N", alt.Tooltip("value:Q", title="weight", format=".2f")],
        )
        .properties(
            name="attention",
            title=make_live_title("views[stack].title + ', layer ' + layer + ', head ' + head"),
            description="Grid of attention weights from 0 to 1, a row for each token that attends, "
            "a column for each attended to; each row sums to 1. Controls choose the stack "
            f"(encoder, decoder, cross), the layer ({layers[0]} to {layers[-1]}) and the head "
            f"({heads[0]} to {heads[-1]}). Source: {' '.join(attention.src_tokens)} Translation: "
            f"{' '.join(attention.tgt_tokens)}",
        )
    )


def _matrix_rows(
    maps: Mapping[str, Tensor], layers: Sequence[int], heads: Sequence[int]
) -> list[dict[str, object]]:
    """Return a row of the chart's data for each stack, layer and head, with the head's weights."""
    return [
        {
            "stack": name,
            "layer": layer,
            "head": head,
            "cells": pack_matrix(weights[layer - 1, 0, head - 1]),
        }
        for name, weights in maps.items()
        for layer in layers
        for head in heads
    ]


def _matrix_labels_by_stack(attention: TranslationWithAttention) -> dict[str, MatrixLabels]:
    src, tgt = attention.src_tokens, attention.tgt_tokens
    tgt_in = [SPECIAL_TOKENS[BOS_ID], *tgt[:-1]]
    return {
        "encoder": make_matrix_labels("Encoder self-attention", src, src),
        "decoder": make_matrix_labels("Decoder self-attention", tgt, tgt_in),
        "cross": make_matrix_labels("Cross-attention", tgt, src),
    }
