"""All attention heads of a model at once, with one of them large.

The paper's appendix figures show single heads of one sentence (§3.2.3, appendix); here the
reader chooses, and may take the chosen head away.
"""

from collections.abc import Mapping
from typing import Any

import altair as alt

from lessonkit.analysis.heads import Head
from lessonkit.charts.attention import attention_explorer
from lessonkit.charts.controls import (
    UNFRAMED_VIEW,
    WEIGHT_COLOUR_SCALE,
    have_wide_letters,
    make_drop_down,
    make_live_title,
    make_slider,
    text_width_letters,
    text_width_letters_expr,
)
from lessonkit.charts.heatmap import unfold_matrix_cells
from lessonkit.charts.style import INK_COLOUR, TARGET_COLOUR
from transformer.config import BOS_ID, SPECIAL_TOKENS
from transformer.models.translator import TranslationWithAttention
from transformer.support.signatures import check_argument_types

THUMBNAIL_PIXELS = 84  # pixels of a head's small picture, with its margin
MAX_WIDTH_BESIDE_PICTURE = 400  # pixels of a table of heads beside which the large picture has room
THUMBNAIL_DRAWN_SIDE_SHARE = 0.9  # of them are the picture
LETTER_PIXELS = 8.5  # pixels of a letter of the sentence
TOKEN_GAP_LETTERS = 1.5  # letters between two tokens
CHOSEN_STACK_LABELS_EXPR = "views[stack]"
NO_REMOVAL_OPTION = "no"
TRANSLATION_WIDTH_LETTERS = 80  # of a translation that is seen whole
TRANSLATION_TITLE_EXPR = (
    f"(remove == '{NO_REMOVAL_OPTION}' ? 'Translation with ' : 'Translation without ') + stack "
    "+ ' ' + layer"
    f" + '.' + head + (remove == '{NO_REMOVAL_OPTION}' ? '' : ', ' + remove)"
)
IS_CHOSEN_HEAD_EXPR = "datum.stack == stack && datum.layer == layer && datum.head == head"


@check_argument_types
def heads_explorer(
    attention: TranslationWithAttention, query: int, without: Mapping[str, Mapping[Head, str]]
) -> alt.VConcatChart:
    """Draw every head of a stack small, the chosen one large, and what one token looks at.

    After the paper's appendix. The controls are those of `attention_explorer`, and `query`, the
    token that looks: a row of the large picture, from 1. A click on a small head chooses it, as
    the sliders do; a control removes it (`without` is from `translate_without_each_head`).
    """
    large = attention_explorer(attention)
    # The data are stored once, for all three pictures.
    data = large.data
    large.data = alt.Undefined
    num_layers, _, num_heads = attention.maps.cross.shape[:3]
    rows = max(len(attention.src_tokens), len(attention.tgt_tokens))
    large.params = [p for p in large.params if p.name not in ("layer", "head")]
    pictures: list[Any] = [_draw_head_thumbnails(num_layers, num_heads), large]
    if num_heads * THUMBNAIL_PIXELS <= MAX_WIDTH_BESIDE_PICTURE:
        pictures = [alt.hconcat(*pictures, spacing=24).resolve_scale(color="independent")]
    pictures.append(_draw_attended_sentence(attention))
    # All pictures know the chosen head's layer and number by these names.
    controls = [alt.param(name=part, expr=f"chosen_{part}") for part in ("layer", "head")]
    controls.append(make_slider("query", query, 1, rows))
    for row in data.values:
        head = Head(row["stack"], row["layer"], row["head"])
        row["said"] = {NO_REMOVAL_OPTION: attention.translation}
        for way, translations in without.items():
            row["said"][way] = translations[head]
    pictures.append(_draw_translation())
    ways = [NO_REMOVAL_OPTION, *without]
    controls.append(make_drop_down("remove", NO_REMOVAL_OPTION, ways, "remove the head"))
    chart = alt.vconcat(*pictures, data=data, spacing=14).add_params(*controls)
    return chart.resolve_scale(color="independent").properties(
        description="Four pictures of attention weights. First, every head of the chosen "
        f"stack, small: a row for each of {num_layers} layers, a column for each of {num_heads} "
        f"heads. Third, the tokens that may be attended to, shaded by how much one token, the "
        "query, attends to each. The last is the translation; a control removes the chosen head, "
        "and what is said then is orange where it differs. Between: "
        f"{large.description}"
    )


def _make_head_selection(num_layers: int, num_heads: int) -> alt.Parameter:
    """Make a choice of layer and head that a click on a head changes, and two sliders do."""
    last = {"layer": num_layers, "head": num_heads}
    return alt.selection_point(
        name="chosen",
        fields=list(last),
        bind={  # type: ignore[arg-type]  # one binding for each field, as Vega-Lite has it
            part: alt.binding_range(min=1, max=most, step=1, name=f"{part} ")
            for part, most in last.items()
        },
        on="rect:click",
        clear=False,
        value=[{"layer": num_layers, "head": 1}],
    )


def _draw_translation() -> alt.Chart:
    """Write the translation under the table of heads; in orange where it is another."""
    color = alt.condition("datum.same", alt.value(INK_COLOUR), alt.value(TARGET_COLOUR))
    return (
        alt.Chart()
        .transform_filter(IS_CHOSEN_HEAD_EXPR)
        .transform_calculate(
            now="datum.said[remove]", same=f"datum.now == datum.said['{NO_REMOVAL_OPTION}']"
        )
        .mark_text(align="left", fontSize=14, aria=False)
        .encode(x=alt.value(0), y=alt.value(8), text="now:N", color=color)
        .properties(
            name="translation",
            width=TRANSLATION_WIDTH_LETTERS * LETTER_PIXELS,
            height=18,
            view=UNFRAMED_VIEW,
            title=make_live_title(TRANSLATION_TITLE_EXPR),
        )
    )


def _draw_head_thumbnails(num_layers: int, num_heads: int) -> alt.LayerChart:
    """Draw the heads of a stack in a table of layers and heads; a frame marks the chosen one."""
    keys, queries = (
        f"length({CHOSEN_STACK_LABELS_EXPR}.keys)",
        f"length({CHOSEN_STACK_LABELS_EXPR}.queries)",
    )
    small = (
        unfold_matrix_cells(
            alt.Chart().transform_filter("datum.stack == stack"), CHOSEN_STACK_LABELS_EXPR
        )
        .transform_calculate(
            left=f"datum.head - 1 + {THUMBNAIL_DRAWN_SIDE_SHARE} * datum.k / {keys}",
            right=f"datum.head - 1 + {THUMBNAIL_DRAWN_SIDE_SHARE} * (datum.k + 1) / {keys}",
            top=f"datum.layer - 1 + {THUMBNAIL_DRAWN_SIDE_SHARE} * datum.q / {queries}",
            bottom=f"datum.layer - 1 + {THUMBNAIL_DRAWN_SIDE_SHARE} * (datum.q + 1) / {queries}",
        )
        .mark_rect(aria=False)
        .encode(
            x=_layer_or_head_axis(alt.X, "left", "head", num_heads),
            x2="right:Q",
            y=_layer_or_head_axis(alt.Y, "top", "layer", num_layers),
            y2="bottom:Q",
            color=alt.Color("value:Q", scale=WEIGHT_COLOUR_SCALE, legend=None),
        )
        .properties(name="heads")  # else Altair gives a name, and Altair 5.5 another each time
        .add_params(_make_head_selection(num_layers, num_heads))
    )
    return (small + _draw_chosen_head_frame()).properties(
        title=make_live_title(f"{CHOSEN_STACK_LABELS_EXPR}.title + ', every head'"),
        width=num_heads * THUMBNAIL_PIXELS,
        height=num_layers * THUMBNAIL_PIXELS,
        view=UNFRAMED_VIEW,
    )


def _draw_chosen_head_frame() -> alt.Chart:
    """Draw the frame around the chosen head's picture."""
    return (
        alt.Chart()
        .transform_filter(IS_CHOSEN_HEAD_EXPR)
        .transform_calculate(
            left="datum.head - 1",
            right=f"datum.head - 1 + {THUMBNAIL_DRAWN_SIDE_SHARE}",
            top="datum.layer - 1",
            bottom=f"datum.layer - 1 + {THUMBNAIL_DRAWN_SIDE_SHARE}",
        )
        .mark_rect(fill=None, stroke=TARGET_COLOUR, strokeWidth=3, aria=False)
        .encode(x="left:Q", x2="right:Q", y="top:Q", y2="bottom:Q")
    )


def _layer_or_head_axis(kind: Any, field: str, title: str, count: int) -> Any:
    """Number the layers (downwards) or heads at the middle of their pictures."""
    axis = alt.Axis(
        title=title,
        values=[number + THUMBNAIL_DRAWN_SIDE_SHARE / 2 for number in range(count)],
        labelExpr="format(datum.value + 0.5, '.0f')",
        labelPadding=6,  # or the frame of the chosen head touches its layer's number
        grid=False,
        ticks=False,
        domain=False,
    )
    scale = alt.Scale(domain=[0, count], reverse=kind is alt.Y, nice=False)
    return kind(f"{field}:Q", scale=scale, axis=axis)


def _draw_attended_sentence(attention: TranslationWithAttention) -> alt.LayerChart:
    """Write the keys in a line, each on a ground as dark as its weight for the query."""
    row = f"min(query, length({CHOSEN_STACK_LABELS_EXPR}.queries))"
    read = [SPECIAL_TOKENS[BOS_ID], *attention.tgt_tokens]
    letters = text_width_letters_expr("key", have_wide_letters([*attention.src_tokens, *read]))
    longest = max(
        sum(text_width_letters(token) + TOKEN_GAP_LETTERS for token in side)
        for side in (attention.src_tokens, read)
    )
    base = (
        unfold_matrix_cells(
            alt.Chart().transform_filter(IS_CHOSEN_HEAD_EXPR), CHOSEN_STACK_LABELS_EXPR
        )
        .transform_filter(f"datum.q == {row} - 1")
        .transform_calculate(key=f"{CHOSEN_STACK_LABELS_EXPR}.keys[datum.k]")
        .transform_calculate(letters=f"{letters} + {TOKEN_GAP_LETTERS}")
        .transform_window(end="sum(letters)", sort=[{"field": "k"}])
        .transform_calculate(
            start="datum.end - datum.letters", middle="datum.end - datum.letters / 2"
        )
    )
    scale = alt.Scale(domain=[0, longest], nice=False)
    ground = base.mark_rect(aria=False).encode(
        x=alt.X("start:Q", scale=scale, axis=None),
        x2="end:Q",
        color=alt.Color("value:Q", scale=WEIGHT_COLOUR_SCALE, legend=None),
        tooltip=["key:N", alt.Tooltip("value:Q", title="weight", format=".2f")],
    )
    words = base.mark_text(fontSize=13, aria=False).encode(
        x=alt.X("middle:Q", scale=scale, axis=None),
        text="key:N",
        color=alt.condition("datum.value > 0.5", alt.value("black"), alt.value("white")),
    )
    title = (
        f"'query ' + {row} + ', ' + {CHOSEN_STACK_LABELS_EXPR}.queries[{row} - 1] + ', attends to'"
    )
    return (ground + words).properties(
        title=make_live_title(title), width=LETTER_PIXELS * longest, height=28, view=UNFRAMED_VIEW
    )
