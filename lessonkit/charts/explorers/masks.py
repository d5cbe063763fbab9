"""The masks of a pair of sentences as pictures, one at a time (§3.1, §3.2.3)."""

from collections.abc import Sequence

import altair as alt
import torch
from torch import Tensor

from lessonkit.charts.cells import cell_chart, check_size, pack, view
from lessonkit.charts.plots.masks import ALLOWED, BLOCKED
from transformer.config import PAD_ID, SPECIAL_TOKENS, UNK_ID
from transformer.masks import causal_mask, decoder_mask, padding_mask

PAD = SPECIAL_TOKENS[PAD_ID]
TITLES = {
    "padding": "Padding: the encoder reads no padding",
    "causal": "Causal: the decoder reads no later token",
    "combined": "Both: the decoder's self-attention",
    "cross": "Padding again: the decoder reads the source",
}


def mask_explorer(src_tokens: Sequence[str], tgt_tokens: Sequence[str]) -> alt.Chart:
    """Draw which token may attend to which, with a control that chooses the mask.

    The masks are those of `transformer.masks`: padding (source to source), causal and
    combined (target to target), and padding again between target and source.

    Args:
        src_tokens: Source tokens, filled up with "<pad>".
        tgt_tokens: What the decoder reads: "<bos>" first, filled up with "<pad>".

    Raises:
        UserError: the sentences are too long for a chart.
    """
    src_len, tgt_len = len(src_tokens), len(tgt_tokens)
    check_size([(src_len, src_len), (2, tgt_len, tgt_len), (tgt_len, src_len)])
    masks = _masks(src_tokens, tgt_tokens)
    control = alt.param(
        name="mask",
        value="padding",
        bind=alt.binding_radio(options=list(masks), name="mask "),
    )
    rows: list[dict[str, object]] = [
        {"mask": name, "cells": pack(mask)} for name, mask in masks.items()
    ]
    views = {
        "padding": view(TITLES["padding"], src_tokens, src_tokens),
        "causal": view(TITLES["causal"], tgt_tokens, tgt_tokens),
        "combined": view(TITLES["combined"], tgt_tokens, tgt_tokens),
        "cross": view(TITLES["cross"], tgt_tokens, src_tokens),
    }
    chart = cell_chart(rows, views, [control])
    colors = alt.Scale(domain=["may attend", "may not"], range=[ALLOWED, BLOCKED])
    return (
        chart.transform_calculate(verdict="datum.value == 1 ? 'may attend' : 'may not'")
        .mark_rect(aria=False, stroke="white")
        .encode(
            color=alt.Color("verdict:N", scale=colors, title=None),
            tooltip=["query:N", "key:N", "verdict:N"],
        )
        .properties(
            name="masks",
            title=alt.Title(text=alt.ExprRef("views[mask].title"), anchor="start"),
            description=_description(masks),
        )
    )


def _masks(src_tokens: Sequence[str], tgt_tokens: Sequence[str]) -> dict[str, Tensor]:
    """Make every mask, (q_len, k_len)."""
    tgt_ids = _ids(tgt_tokens)
    src_len, tgt_len = len(src_tokens), len(tgt_tokens)
    reads_src = padding_mask(_ids(src_tokens))[0, 0]  # (1, src_len): the same for every query
    return {
        "padding": reads_src.expand(src_len, src_len),
        "causal": causal_mask(tgt_len)[0, 0],
        "combined": decoder_mask(tgt_ids)[0, 0],
        "cross": reads_src.expand(tgt_len, src_len),
    }


def _description(masks: dict[str, Tensor]) -> str:
    counts = (
        f"{name.capitalize()}: {int(mask.sum())} of {mask.numel()} may."
        for name, mask in masks.items()
    )
    tgt_len, src_len = masks["cross"].shape
    return (
        f"Grid of the masks of {src_len} source and {tgt_len} target tokens: a row for each "
        "token that attends, a column for each attended to, coloured where it may. A control "
        f"chooses padding, causal, combined or cross. {' '.join(counts)}"
    )


def _ids(tokens: Sequence[str]) -> Tensor:
    """Give ids that tell padding from the rest, (1, len); masks look at nothing else."""
    return torch.tensor([[PAD_ID if token == PAD else UNK_ID for token in tokens]])
