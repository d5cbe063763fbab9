"""All heads of a model at once, one of them large, and one word's attention as shaded text.

The paper's appendix figures show single heads of one sentence (§3.2.3, appendix); here the
reader chooses, and may take the chosen head away.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from lessonkit.analysis.heads import Head
from lessonkit.charts.cells import unpack
from lessonkit.charts.controls import choice, slider
from lessonkit.charts.explorers.attention import WEIGHTS, attention_explorer
from lessonkit.charts.style import TARGET
from transformer.config import BOS_ID, SPECIAL_TOKENS
from transformer.models.translator import Attention

THUMB = 84  # pixels of a head's small picture, with its margin
SIDE_BY_SIDE = 400  # pixels of a table of heads beside which the large picture has room
FILLED = 0.9  # of them are the picture
LETTER = 8.5  # pixels of a letter of the sentence
GAP = 1.5  # letters between two tokens
UNFRAMED = alt.ViewBackground(stroke=None)
SHOWN = "views[stack]"
NOT = "not"
NUM_LETTERS = 80  # of a translation that is seen whole
TRANSLATED = (
    f"(remove == '{NOT}' ? 'Translation with ' : 'Translation without ') + stack + ' ' + layer"
    f" + '.' + head + (remove == '{NOT}' ? '' : ', ' + remove)"
)
HERE = "datum.stack == stack && datum.layer == layer && datum.head == head"


def heads_explorer(
    attention: Attention,
    query: int = 1,
    without: Mapping[str, Mapping[Head, str]] | None = None,
) -> alt.VConcatChart:
    """Draw every head of a stack small, the chosen one large, and what one token looks at.

    The controls are those of `attention_explorer`, and `query`, the token that looks: a row of
    the large picture, from 1. A click on a small head chooses it, as the sliders do.

    Args:
        attention: From `Translator.attention`.
        query: The row to begin with.
        without: By way of removing it, each head's translation when it is gone (from
            `translations_without`); then there is a control to remove the chosen head.

    Raises:
        UserError: the model has no attention, the sentence is too long for a chart, or it has
            no such row.
    """
    large = attention_explorer(attention)
    data, large.data = large.data, alt.Undefined  # stored once, for all three pictures
    num_layers, _, num_heads = attention.maps.cross.shape[:3]
    rows = max(len(attention.src_tokens), len(attention.tgt_tokens))
    large.params = [p for p in large.params if p.name not in ("layer", "head")]
    heads = _overview(num_layers, num_heads)
    wide = num_heads * THUMB > SIDE_BY_SIDE
    pictures: list[alt.Chart | alt.LayerChart | alt.HConcatChart] = (
        [heads, large] if wide else [_beside(heads, large)]
    )
    pictures.append(_sentence(attention))
    controls = [*_clicked(), slider("query", query, 1, rows)]
    if without is not None:
        _add_translations(data.values, attention.translation, without)
        pictures.append(_translation())
        controls.append(choice("remove", NOT, [NOT, *without]))
    chart = alt.vconcat(*pictures, data=data, spacing=14).add_params(*controls)
    number, third, removal = "Three", "Last", ""
    if without is not None:
        number, third = "Four", "Third"
        removal = (
            "The last is the translation; a control removes the chosen head, and what is said "
            "then is orange where it differs. "
        )
    return chart.resolve_scale(color="independent").properties(
        description=f"{number} pictures of attention weights. First, every head of the chosen "
        f"stack, small: a row for each of {num_layers} layers, a column for each of {num_heads} "
        f"heads. {third}, the tokens that may be attended to, shaded by how much one token, the "
        f"query, attends to each. {removal}Between: {large.description}"
    )


def _beside(left: alt.LayerChart, right: alt.Chart) -> alt.HConcatChart:
    """Put two pictures side by side, each with colours of its own."""
    return alt.hconcat(left, right, spacing=24).resolve_scale(color="independent")


def _clicked() -> list[alt.Parameter]:
    """Give the chosen head's layer and number to all pictures, by the names they know."""
    return [alt.param(name=part, expr=f"chosen_{part}") for part in ("layer", "head")]


def _by_click(num_layers: int, num_heads: int) -> alt.Parameter:
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


def _add_translations(
    rows: Sequence[dict[str, Any]], whole: str, without: Mapping[str, Mapping[Head, str]]
) -> None:
    """Write into each head's row what is said with it and without it."""
    for row in rows:
        head = Head(row["stack"], row["layer"], row["head"])
        row["said"] = {NOT: whole} | {way: said[head] for way, said in without.items()}


def _translation() -> alt.Chart:
    """Write the translation under the table of heads; in orange where it is another."""
    return (
        alt.Chart()
        .transform_filter(HERE)
        .transform_calculate(now="datum.said[remove]", same=f"datum.now == datum.said['{NOT}']")
        .mark_text(align="left", fontSize=14, aria=False)
        .encode(
            x=alt.value(0),
            y=alt.value(8),
            text="now:N",
            color=alt.condition("datum.same", alt.value("black"), alt.value(TARGET)),
        )
        .properties(
            name="translation",
            width=NUM_LETTERS * LETTER,
            height=18,
            view=UNFRAMED,
            title=alt.Title(text=alt.ExprRef(TRANSLATED), anchor="start"),
        )
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
    # Without a name Altair gives one, and Altair 5.5 another each time.
    small = small.properties(name="heads").add_params(_by_click(num_layers, num_heads))
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
