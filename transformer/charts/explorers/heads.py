"""All heads of a model at once, one of them large, and one word's attention as shaded text.

The paper's appendix figures show single heads of one sentence (§3.2.3, appendix); here the
reader chooses.
"""

import altair as alt

from transformer.charts.cells import unpack
from transformer.charts.controls import slider
from transformer.charts.explorers.attention import WEIGHTS, attention_explorer
from transformer.charts.style import TARGET
from transformer.config import BOS_ID, SPECIAL_TOKENS
from transformer.trained.translator import Attention

THUMB = 84  # pixels of a head's small picture, with its margin
FILLED = 0.9  # of them are the picture
LETTER = 8.5  # pixels of a letter of the sentence
GAP = 1.5  # letters between two tokens
UNFRAMED = alt.ViewBackground(stroke=None)
SHOWN = "views[stack]"
HERE = "datum.stack == stack && datum.layer == layer && datum.head == head"


def heads_explorer(attention: Attention, query: int = 1) -> alt.VConcatChart:
    """Draw every head of a stack small, the chosen one large, and what one token looks at.

    The controls are those of `attention_explorer`, and `query`, the token that looks: a row of
    the large picture, from 1.

    Args:
        attention: From `Translator.attention`.
        query: The row to begin with.

    Raises:
        UserError: the model has no attention, the sentence is too long for a chart, or it has
            no such row.
    """
    large = attention_explorer(attention)
    data, large.data = large.data, alt.Undefined  # stored once, for all three pictures
    num_layers, _, num_heads = attention.maps.cross.shape[:3]
    rows = max(len(attention.src_tokens), len(attention.tgt_tokens))
    chosen = slider("query", query, 1, rows)
    chart = alt.vconcat(
        _overview(num_layers, num_heads),
        _sentence(attention).add_params(chosen),
        large,
        data=data,
        spacing=14,
    )
    return chart.resolve_scale(color="independent").properties(
        description="Three pictures of attention weights. Above, every head of the chosen stack, "
        f"small: a row for each of {num_layers} layers, a column for each of {num_heads} heads. "
        "Between, the tokens that may be attended to, shaded by how much one token, the query, "
        f"attends to each. Below: {large.description}"
    )


def _overview(num_layers: int, num_heads: int) -> alt.LayerChart:
    """Draw the heads of a stack in a table of layers and heads; a frame marks the chosen one."""
    keys, queries = f"length({SHOWN}.keys)", f"length({SHOWN}.queries)"
    small = (
        unpack(alt.Chart().transform_filter("datum.stack == stack"), SHOWN)
        .transform_calculate(
            left=f"datum.head - 1 + {FILLED} * datum.k / {keys}",
            right=f"datum.head - 1 + {FILLED} * (datum.k + 1) / {keys}",
            top=f"datum.layer - 1 + {FILLED} * datum.q / {queries}",
            bottom=f"datum.layer - 1 + {FILLED} * (datum.q + 1) / {queries}",
        )
        .mark_rect(aria=False)
        .encode(
            x=_side("left", "head", num_heads),
            x2="right:Q",
            y=_side("top", "layer", num_layers, downwards=True),
            y2="bottom:Q",
            color=alt.Color("value:Q", scale=WEIGHTS, legend=None),
        )
    )
    title = alt.Title(text=alt.ExprRef(f"{SHOWN}.title + ', every head'"), anchor="start")
    return (small + _frame()).properties(
        title=title, width=num_heads * THUMB, height=num_layers * THUMB, view=UNFRAMED
    )


def _frame() -> alt.Chart:
    """Draw a line around the chosen head of the overview."""
    return (
        alt.Chart()
        .transform_filter(HERE)
        .transform_calculate(
            left="datum.head - 1",
            right=f"datum.head - 1 + {FILLED}",
            top="datum.layer - 1",
            bottom=f"datum.layer - 1 + {FILLED}",
        )
        .mark_rect(fill=None, stroke=TARGET, strokeWidth=3, aria=False)
        .encode(x="left:Q", x2="right:Q", y="top:Q", y2="bottom:Q")
    )


def _side(field: str, title: str, count: int, downwards: bool = False) -> alt.X | alt.Y:
    """Number the layers or heads at the middle of their pictures."""
    scale = alt.Scale(domain=[0, count], reverse=downwards, nice=False)
    middles = [number + FILLED / 2 for number in range(count)]
    axis = alt.Axis(
        title=title,
        values=middles,
        labelExpr="format(datum.value + 0.5, '.0f')",
        grid=False,
        ticks=False,
        domain=False,
    )
    kind = alt.Y if downwards else alt.X
    return kind(f"{field}:Q", scale=scale, axis=axis)


def _sentence(attention: Attention) -> alt.LayerChart:
    """Write the keys in a line, each on a ground as dark as its weight for the query."""
    last = f"length({SHOWN}.queries)"
    read = [SPECIAL_TOKENS[BOS_ID], *attention.tgt_tokens]
    longest = max(sum(len(token) + GAP for token in side) for side in (attention.src_tokens, read))
    base = (
        unpack(alt.Chart().transform_filter(HERE), SHOWN)
        .transform_filter(f"datum.q == min(query, {last}) - 1")
        .transform_calculate(key=f"{SHOWN}.keys[datum.k]")
        .transform_calculate(letters=f"length(datum.key) + {GAP}")
        .transform_window(end="sum(letters)", sort=[{"field": "k"}])
        .transform_calculate(
            start="datum.end - datum.letters", middle="datum.end - datum.letters / 2"
        )
    )
    scale = alt.Scale(domain=[0, longest], nice=False)
    ground = base.mark_rect(aria=False).encode(
        x=alt.X("start:Q", scale=scale, axis=None),
        x2="end:Q",
        color=alt.Color("value:Q", scale=WEIGHTS, legend=None),
        tooltip=["key:N", alt.Tooltip("value:Q", title="weight", format=".2f")],
    )
    words = base.mark_text(fontSize=13, aria=False).encode(
        x=alt.X("middle:Q", scale=scale, axis=None),
        text="key:N",
        color=alt.condition("datum.value > 0.5", alt.value("black"), alt.value("white")),
    )
    text = f"'query ' + min(query, {last}) + ', ' + {SHOWN}.queries[min(query, {last}) - 1]"
    title = alt.Title(text=alt.ExprRef(f"{text} + ', attends to'"), anchor="start")
    return (ground + words).properties(
        title=title, width=LETTER * longest, height=28, view=UNFRAMED
    )
