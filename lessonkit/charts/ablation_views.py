"""The two views of the ablation explorer: lines of tokens above, bars of probabilities below."""

import altair as alt

from lessonkit.analysis.ablation import (
    EDGE_KIND_BY_STACK,
    MEAN_HEAD_KIND,
    PATCHED_HEAD_ABLATION_KIND,
    SOURCE_AFTER_ENCODER_KIND,
    SOURCE_HIDDEN_BEFORE_ENCODER,
    ZERO_HEAD_KIND,
)
from lessonkit.charts.controls import (
    UNFRAMED_VIEW,
    colour_scale,
    make_live_title,
    text_width_letters_expr,
)
from lessonkit.charts.style import INK_COLOUR, PAPER_COLOUR, SOURCE_COLOUR, TARGET_COLOUR

CHART_WIDTH_PIXELS = 760  # a line that is longer shows the part around the chosen token
LINE_PIXELS, BAR_PIXELS = 34, 15  # heights of a line of tokens and of a bar
LABEL_PIXELS, FONT_POINTS = 96, 13  # the width of the labels at the left of the lines
LETTER_PIXELS, TOKEN_GAP_LETTERS = 7.3, 1.4  # the width of a letter; letters between two tokens
MAX_TOKENS_BEFORE_NEXT = 12  # of the beginning that the next token follows, in the title
PROBABILITY_BAR_KINDS = ["whole model", "cut"]

IS_ENCODER_EDGE_EXPR, IS_CROSS_EDGE_EXPR, IS_DECODER_EDGE_EXPR = (
    f"ablation == '{EDGE_KIND_BY_STACK[stack]}'" for stack in ("encoder", "cross", "decoder")
)
LAST_SRC_EXPR, LAST_TGT_EXPR = (
    "(length(views.src) - 1)",
    "(length(views.said) - 1)",
)
QUERY_POSITION_EXPR = (
    f"({IS_ENCODER_EDGE_EXPR} ? min(query, {LAST_SRC_EXPR}) : {IS_CROSS_EDGE_EXPR} ? "
    f"min(query, {LAST_TGT_EXPR}) "
    f": max(1, min(query, {LAST_TGT_EXPR})))"
)
KEY_POSITION_EXPR = (
    f"({IS_DECODER_EDGE_EXPR} ? min(key, {QUERY_POSITION_EXPR}) : min(key, {LAST_SRC_EXPR}))"
)
HIDDEN_POSITION_EXPR = f"min(key, {LAST_SRC_EXPR})"
IS_EDGE_ABLATION_EXPR = "test(/^an edge/, ablation)"
IS_EDGE_END_EXPR = (  # whether a token of a line is one of the two ends of the edge
    f"{IS_ENCODER_EDGE_EXPR} && datum.line == 0 && (datum.place == {QUERY_POSITION_EXPR} || "
    f"datum.place == {KEY_POSITION_EXPR})"
    f" || {IS_CROSS_EDGE_EXPR} && datum.place == (datum.line == 0 ? {KEY_POSITION_EXPR} : "
    f"datum.line == 1 ? {QUERY_POSITION_EXPR} : -1)"
    f" || {IS_DECODER_EDGE_EXPR} && datum.line == 1 && (datum.place == {QUERY_POSITION_EXPR} || "
    f"datum.place == {KEY_POSITION_EXPR} - 1)"
)
IS_HEAD_ABLATION_EXPR = "test(/^a head/, ablation)"
TOKEN_COLOUR_EXPR = (
    f"datum.changed || datum.touched ? '{TARGET_COLOUR}' "
    f": datum.hidden ? '{INK_COLOUR}77' : '{INK_COLOUR}'"
)
SPACE_MARK_REMOVAL_EXPR_TEMPLATE = "replace({}, /▁/g, '')"  # removes the mark of a space
IS_SHOWN_EXPR_TEMPLATE = "datum.line == 2 && datum.ablation == ablation && datum.target == {target}"
TOKEN_X_CHANNEL = alt.X(
    "x:Q", scale=alt.Scale(domain=[0, CHART_WIDTH_PIXELS], nice=False), axis=None
)
LINE_Y_CHANNEL = alt.Y("line:Q", scale=alt.Scale(domain=[-0.9, 2.5], reverse=True), axis=None)
LINE_COLOUR_CHANNEL = alt.Color(
    "line:O",
    scale=colour_scale([0, 1, 2], [SOURCE_COLOUR, PAPER_COLOUR, TARGET_COLOUR]),
    legend=None,
)


def _ablation_target_expr(edges: bool) -> str:
    """Return the Vega expression of what is ablated in the shown line: an edge, a head, ..."""
    position = f"test(/^a place/, ablation) ? '' + {HIDDEN_POSITION_EXPR} : ''"
    place = f"({IS_HEAD_ABLATION_EXPR} ? head : ({position}))"
    return (
        f"({IS_EDGE_ABLATION_EXPR} ? {QUERY_POSITION_EXPR} + '-' + {KEY_POSITION_EXPR} : {place})"
        if edges
        else place
    )


def draw_token_lines(edges: bool, wide_letters: bool = False) -> alt.LayerChart:
    """Draw the source and the translations of the whole and of the ablated model, token by token.

    `edges` says whether the chart can ablate edges and has controls for that, `wide_letters`
    whether tokens have Chinese or Japanese letters.
    """
    shown = IS_SHOWN_EXPR_TEMPLATE.format(target=_ablation_target_expr(edges))
    chosen = alt.Chart().transform_filter(f"datum.line < 2 || ({shown})")
    tokens = _lay_out_tokens(chosen, edges, wide_letters)
    words = tokens.mark_text(fontSize=FONT_POINTS, aria=False).encode(
        TOKEN_X_CHANNEL,
        LINE_Y_CHANNEL,
        text="tokens:N",
        color=alt.value(alt.expr(TOKEN_COLOUR_EXPR)),
    )
    struck = tokens.transform_filter("datum.hidden").mark_text(
        fontSize=22, fontWeight="bold", color=TARGET_COLOUR, text="✕", aria=False
    )
    numbers = tokens.transform_filter("datum.line < 2").mark_text(
        fontSize=9, dy=-13, color=PAPER_COLOUR, aria=False
    )
    names = chosen.mark_text(
        align="left", fontSize=FONT_POINTS, fontWeight="bold", aria=False
    ).encode(x=alt.value(0), y=LINE_Y_CHANNEL, text="label:N", color=LINE_COLOUR_CHANNEL)
    placed = (
        struck.encode(TOKEN_X_CHANNEL, LINE_Y_CHANNEL),
        numbers.encode(TOKEN_X_CHANNEL, LINE_Y_CHANNEL, text="place:N"),
    )
    return alt.LayerChart(layer=[words, *placed, names, _draw_control_values(edges)]).properties(
        width=CHART_WIDTH_PIXELS,
        height=3.4 * LINE_PIXELS,
        view=UNFRAMED_VIEW,
        title=make_live_title(
            SPACE_MARK_REMOVAL_EXPR_TEMPLATE.format(_title_expr(edges)),
            fontSize=14,
            limit=CHART_WIDTH_PIXELS,
        ),
    )


def _draw_control_values(edges: bool) -> alt.Chart:
    """Write the values of the controls that play a part above the tokens."""
    return (
        alt.Chart()
        .transform_filter("datum.line == 0")
        .transform_calculate(
            settings=SPACE_MARK_REMOVAL_EXPR_TEMPLATE.format(_control_values_text_expr(edges))
        )
        .mark_text(align="left", fontSize=11, color=PAPER_COLOUR, aria=False)
        .encode(x=alt.value(0), y=alt.value(-6), text="settings:N")
    )


def _lay_out_tokens(chosen: alt.Chart, edges: bool, wide_letters: bool) -> alt.Chart:
    """Put each line's tokens side by side; mark those that are hidden, new or an end of an edge.

    Of a line that is wider than the chart only the tokens around the chosen one are kept: in the
    source that is the place or key, in the translations the next token.
    """
    letters = text_width_letters_expr("tokens", wide_letters)
    half_letters = f"{LETTER_PIXELS / 2} * datum.letters"
    line_room = CHART_WIDTH_PIXELS - LABEL_PIXELS
    chosen_place = f"(datum.line == 0 ? {HIDDEN_POSITION_EXPR} : next)"
    return (
        chosen.transform_calculate(place="sequence(length(datum.tokens))")
        .transform_calculate(fresh="datum.new || datum.place")
        .transform_flatten(["tokens", "place", "fresh"])
        .transform_calculate(letters=f"{letters} + {TOKEN_GAP_LETTERS}")
        .transform_window(
            end="sum(letters)", groupby=["line"], sort=[{"field": "place"}], frame=[None, 0]
        )
        .transform_calculate(
            middle=f"{LETTER_PIXELS} * datum.end - {half_letters}",
            chosen_middle=(
                f"datum.place == {chosen_place} ? {LETTER_PIXELS} * datum.end - {half_letters} : 0"
            ),
            hidden=(
                "datum.line == 0 && test(/^a place/, ablation) && datum.place == "
                f"{HIDDEN_POSITION_EXPR}"
            ),
            changed="datum.line == 2 && datum.fresh == 1",
            touched=IS_EDGE_END_EXPR if edges else "false",
        )
        .transform_joinaggregate(
            line_letters="max(end)", chosen_middle="max(chosen_middle)", groupby=["line"]
        )
        .transform_calculate(
            left=(
                f"clamp(datum.chosen_middle - {line_room / 2}, 0, "
                f"max(0, {LETTER_PIXELS} * datum.line_letters - {line_room}))"
            )
        )
        .transform_filter(
            f"datum.middle - {half_letters} >= datum.left - 1e-6 && "
            f"datum.middle + {half_letters} <= datum.left + {line_room} + 1e-6"
        )
        .transform_calculate(x=f"{LABEL_PIXELS} + datum.middle - datum.left")
    )


def _title_expr(edges: bool) -> str:
    """Return the Vega expression of the title, which says what is ablated."""
    place = f"'place ' + {HIDDEN_POSITION_EXPR} + ', ' + views.src[{HIDDEN_POSITION_EXPR}]"
    said = [
        (
            f"ablation == '{SOURCE_HIDDEN_BEFORE_ENCODER}'",
            f"'Hidden before the encoder: ' + {place}",
        ),
        (
            f"ablation == '{SOURCE_AFTER_ENCODER_KIND}'",
            f"'Hidden from the decoder, after the encoder: ' + {place}",
        ),
    ]
    if edges:
        key, row = (
            f"views.src[{KEY_POSITION_EXPR}]",
            f"'the row that says ' + views.said[{QUERY_POSITION_EXPR}]",
        )
        every = "', in every head: '"
        blind = "' cannot look at '"
        said += [
            (
                IS_ENCODER_EDGE_EXPR,
                f"'In the encoder' + {every} + views.src[{QUERY_POSITION_EXPR}] + {blind} + {key}",
            ),
            (IS_CROSS_EDGE_EXPR, f"'In cross-attention' + {every} + {row} + {blind} + {key}"),
            (
                IS_DECODER_EDGE_EXPR,
                f"'In the decoder' + {every} + {row} + {blind} + views.read[{KEY_POSITION_EXPR}]",
            ),
        ]
    whose = "'Head ' + head"
    said += [
        (f"ablation == '{ZERO_HEAD_KIND}'", f"{whose} + ' removed: zeros in its place'"),
        (
            f"ablation == '{MEAN_HEAD_KIND}'",
            f"{whose} + ' removed: its mean over other sentences in its place'",
        ),
        (f"ablation == '{PATCHED_HEAD_ABLATION_KIND}'", f"{whose} + ' as in: ' + views.other"),
    ]
    return " : ".join(f"{test} ? {text}" for test, text in said) + " : 'Nothing is taken away'"


def _control_values_text_expr(edges: bool) -> str:
    """Return the Vega expression of a line with the values of the controls that play a part."""
    place = f"'place ' + {HIDDEN_POSITION_EXPR} + ': ' + views.src[{HIDDEN_POSITION_EXPR}]"
    lines = [("test(/^a place/, ablation)", place), (IS_HEAD_ABLATION_EXPR, "'head ' + head")]
    if edges:
        queries = f"({IS_ENCODER_EDGE_EXPR} ? views.src : views.said)"
        keys = f"({IS_DECODER_EDGE_EXPR} ? views.read : views.src)"
        query = f"'query ' + {QUERY_POSITION_EXPR} + ': ' + {queries}[{QUERY_POSITION_EXPR}]"
        key = f"'key ' + {KEY_POSITION_EXPR} + ': ' + {keys}[{KEY_POSITION_EXPR}]"
        lines.append((IS_EDGE_ABLATION_EXPR, f"{query} + ' · ' + {key}"))
    return "(" + " : ".join(f"{test} ? {text}" for test, text in lines) + " : '')"


def draw_probability_bars(edges: bool, max_bars: int) -> alt.LayerChart:
    """Draw at most `max_bars` probabilities of the next token, before and after the ablation."""
    base = _unfold_probability_bars(
        IS_SHOWN_EXPR_TEMPLATE.format(target=_ablation_target_expr(edges))
    )
    across = alt.Scale(domain=[0, 1], nice=False, range=[LABEL_PIXELS, CHART_WIDTH_PIXELS - 200])
    down = alt.Scale(domain=[0, max_bars], reverse=True, nice=False)
    axis = alt.Axis(format=".1f", values=[0, 0.5, 1], grid=False)
    legend = alt.Legend(title=None, orient="top-right")
    rectangles = base.mark_rect(aria=False).encode(
        x=alt.X("zero:Q", scale=across, axis=axis, title="probability of the next token"),
        x2="probability:Q",
        y=alt.Y("top:Q", scale=down, axis=None),
        y2="bottom:Q",
        color=alt.Color(
            "kind:N",
            scale=colour_scale(PROBABILITY_BAR_KINDS, [PAPER_COLOUR, TARGET_COLOUR]),
            legend=legend,
        ),
        tooltip=["token:N", "kind:N", alt.Tooltip("probability:Q", format=".2f")],
    )
    values = base.mark_text(align="left", dx=4, fontSize=11, aria=False).encode(
        x=alt.X("probability:Q", scale=across),
        y=alt.Y("middle:Q", scale=down),
        text=alt.Text("probability:Q", format=".2f"),
    )
    tokens = (
        base.transform_filter(f"datum.kind == '{PROBABILITY_BAR_KINDS[0]}'")
        .mark_text(align="right", fontSize=FONT_POINTS, aria=False)
        .encode(x=alt.value(LABEL_PIXELS - 8), y=alt.Y("centre:Q", scale=down), text="token:N")
    )
    return alt.LayerChart(layer=[rectangles, values, tokens]).properties(
        width=CHART_WIDTH_PIXELS,
        height=2 * BAR_PIXELS * max_bars,
        title=make_live_title(
            f"'What comes after: ' + {_tokens_before_next_expr()}",
            fontSize=FONT_POINTS,
            limit=CHART_WIDTH_PIXELS,
        ),
        view=UNFRAMED_VIEW,
    )


def _tokens_before_next_expr() -> str:
    """Return the Vega expression of the last tokens before the one that is asked for, as text."""
    first = f"max(0, next + 1 - {MAX_TOKENS_BEFORE_NEXT})"
    return (
        f"({first} > 0 ? '... ' : '') + "
        f"replace(join(slice(views.read, {first}, next + 1), ''), /▁/g, ' ')"
    )


def _unfold_probability_bars(shown: str) -> alt.Chart:
    """Unfold the chosen ablation's probabilities into two bars for each token."""
    whole = f"datum.kind == '{PROBABILITY_BAR_KINDS[0]}'"
    return (
        alt.Chart()
        .transform_filter(shown)
        .transform_calculate(bar="split(datum.probabilities[next], ',')")
        .transform_calculate(rank="sequence(length(datum.bar))")
        .transform_flatten(["bar", "rank"])
        .transform_calculate(parts="split(datum.bar, ' ')", kind=f"{PROBABILITY_BAR_KINDS}")
        .transform_flatten(["kind"])
        .transform_calculate(
            token="views.vocab[datum.parts[0]]",
            probability=f"toNumber(datum.parts[{whole} ? 1 : 2]) / 100",
            top=f"datum.rank + ({whole} ? 0.08 : 0.46)",
            centre="datum.rank + 0.46",
            zero="0",
        )
        .transform_calculate(bottom="datum.top + 0.38", middle="datum.top + 0.19")
    )
