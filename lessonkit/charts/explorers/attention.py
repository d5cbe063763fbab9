"""Every attention weight of one translation, one head at a time (§3.2.2, §3.2.3)."""

import altair as alt

from lessonkit.charts.cells import View, cell_chart, check_size, pack, view
from lessonkit.charts.controls import slider
from lessonkit.charts.export import require_attention
from transformer.config import BOS_ID, SPECIAL_TOKENS
from transformer.model import AttentionMaps
from transformer.models.translator import Attention

WEIGHTS = alt.Scale(scheme="viridis", domain=[0, 1])  # colors of attention weights


def attention_explorer(attention: Attention) -> alt.Chart:
    """Draw one head's weights, with controls for the stack, the layer and the head.

    Stacks: the encoder's self-attention (source to source), the decoder's (each token that it
    says, to those it has read, "<bos>" first) and cross-attention (to the source).

    Args:
        attention: From `Translator.attention`.

    Raises:
        UserError: the model has no attention, or the sentence is too long for a chart.
    """
    require_attention(attention)
    maps = attention.maps._asdict()
    views = _views(attention)
    check_size(tuple(weights.shape) for weights in maps.values())
    num_layers, _, num_heads = attention.maps.cross.shape[:3]
    controls = [
        alt.param(
            name="stack", value="cross", bind=alt.binding_radio(options=list(maps), name="stack ")
        ),
        slider("layer", num_layers, 1, num_layers),
        slider("head", 1, 1, num_heads),
    ]
    title = "views[stack].title + ', layer ' + layer + ', head ' + head"
    return (
        cell_chart(_rows(attention.maps), views, controls)
        .encode(
            color=alt.Color(
                "value:Q",
                scale=WEIGHTS,
                legend=alt.Legend(title="attention weight", gradientLength=120),
            ),
            tooltip=["query:N", "key:N", alt.Tooltip("value:Q", title="weight", format=".2f")],
        )
        .properties(
            name="attention",
            title=alt.Title(text=alt.ExprRef(title), anchor="start"),
            description=_description(attention, num_layers, num_heads),
        )
    )


def _rows(maps: AttentionMaps) -> list[dict[str, object]]:
    """Give one row for each head of each layer of each stack."""
    return [
        {"stack": name, "layer": layer, "head": head, "cells": pack(matrix)}
        for name, weights in maps._asdict().items()
        for layer, heads in enumerate(weights[:, 0], start=1)
        for head, matrix in enumerate(heads, start=1)
    ]


def _description(attention: Attention, num_layers: int, num_heads: int) -> str:
    return (
        "Grid of attention weights from 0 to 1, a row for each token that attends, a column "
        "for each attended to; each row sums to 1. Controls choose the stack (encoder, decoder, "
        f"cross), the layer (1 to {num_layers}) and the head (1 to {num_heads}). Source: "
        f"{' '.join(attention.src_tokens)} Translation: {' '.join(attention.tgt_tokens)}"
    )


def _views(attention: Attention) -> dict[str, View]:
    src, said = attention.src_tokens, attention.tgt_tokens
    read = [SPECIAL_TOKENS[BOS_ID], *said[:-1]]
    return {
        "encoder": view("Encoder self-attention", src, src),
        "decoder": view("Decoder self-attention", said, read),
        "cross": view("Cross-attention", said, src),
    }
