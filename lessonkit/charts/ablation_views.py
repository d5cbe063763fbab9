"""The two views of the ablation explorer: lines of tokens above, bars of probabilities below."""

import altair as alt

from lessonkit.analysis.ablation import (
    EDGE_KINDS,
    MEAN_HEAD,
    PATCHED_HEAD,
    SOURCE_AFTER_ENCODER,
    SOURCE_BEFORE_ENCODER,
    ZERO_HEAD,
)
from lessonkit.charts.controls import UNFRAMED, colours, heading
from lessonkit.charts.style import INK, PAPER, SOURCE, TARGET

WIDTH = 760  # pixels
LINE, BAR = 34, 15  # pixels of a line of tokens, of a bar
LABELS, FONT = 96, 13  # pixels of the lines' names; points
LETTER, GAP = 7.3, 1.4  # pixels of a letter; letters between two tokens
KINDS = ["whole model", "cut"]  # of bars

ENCODER, CROSS, DECODER = (
    f"ablation == '{EDGE_KINDS[stack]}'" for stack in ("encoder", "cross", "decoder")
)
SRC_LAST, SAID_LAST = "(length(views.src) - 1)", "(length(views.said) - 1)"
QUERY = (
    f"({ENCODER} ? min(query, {SRC_LAST}) : {CROSS} ? min(query, {SAID_LAST}) "
    f": max(1, min(query, {SAID_LAST})))"
)
KEY = f"({DECODER} ? min(key, {QUERY}) : min(key, {SRC_LAST}))"
PLACE = f"min(key, {SRC_LAST})"
EDGE = "test(/^an edge/, ablation)"
TOUCHED = (  # the two ends of an edge, where they stand in the lines
    f"{ENCODER} && datum.line == 0 && (datum.place == {QUERY} || datum.place == {KEY})"
    f" || {CROSS} && datum.place == (datum.line == 0 ? {KEY} : datum.line == 1 ? {QUERY} : -1)"
    f" || {DECODER} && datum.line == 1 && (datum.place == {QUERY} || datum.place == {KEY} - 1)"
)
HEAD = "test(/^a head/, ablation)"
COLOR = f"datum.changed || datum.touched ? '{TARGET}' : datum.hidden ? '{INK}77' : '{INK}'"
PLAIN = "replace({}, /▁/g, '')"  # without the mark of a space
SHOWN = "datum.line == 2 && datum.ablation == ablation && datum.target == {target}"
ACROSS = alt.X("x:Q", scale=alt.Scale(domain=[0, WIDTH], nice=False), axis=None)
DOWN = alt.Y("line:Q", scale=alt.Scale(domain=[-0.9, 2.5], reverse=True), axis=None)
LINES = alt.Color("line:O", scale=colours([0, 1, 2], [SOURCE, PAPER, TARGET]), legend=None)


def _target(edges: bool) -> str:
    """Return the Vega expression for which ablation of the chosen kind is shown."""
    place = f"({HEAD} ? head : (test(/^a place/, ablation) ? '' + {PLACE} : ''))"
    return f"({EDGE} ? {QUERY} + '-' + {KEY} : {place})" if edges else place


def lines(edges: bool) -> alt.LayerChart:
    """Draw the source, the whole model's translation and the ablated one's, token by token.

    `edges` tells whether the chart can ablate edges, and has the controls for that.
    """
    shown = SHOWN.format(target=_target(edges))
    chosen = alt.Chart().transform_filter(f"datum.line < 2 || ({shown})")
    tokens = _tokens(chosen, edges)
    words = tokens.mark_text(fontSize=FONT, aria=False).encode(
        ACROSS, DOWN, text="tokens:N", color=alt.value(alt.expr(COLOR))
    )
    struck = tokens.transform_filter("datum.hidden").mark_text(
        fontSize=22, fontWeight="bold", color=TARGET, text="✕", aria=False
    )
    numbers = tokens.transform_filter("datum.line < 2").mark_text(
        fontSize=9, dy=-13, color=PAPER, aria=False
    )
    names = chosen.mark_text(align="left", fontSize=FONT, fontWeight="bold", aria=False).encode(
        x=alt.value(0), y=DOWN, text="label:N", color=LINES
    )
    settings = (
        alt.Chart()
        .transform_filter("datum.line == 0")
        .transform_calculate(settings=PLAIN.format(_settings(edges)))
        .mark_text(align="left", fontSize=11, color=PAPER, aria=False)
        .encode(x=alt.value(0), y=alt.value(-6), text="settings:N")
    )
    placed = struck.encode(ACROSS, DOWN), numbers.encode(ACROSS, DOWN, text="place:N")
    return alt.LayerChart(layer=[words, *placed, names, settings]).properties(
        width=WIDTH,
        height=3.4 * LINE,
        view=UNFRAMED,
        title=heading(PLAIN.format(_title(edges)), fontSize=14),
    )


def _tokens(chosen: alt.Chart, edges: bool) -> alt.Chart:
    """Put each line's tokens side by side; mark those that are hidden, new or an end of an edge."""
    return (
        chosen.transform_calculate(place="sequence(length(datum.tokens))")
        .transform_calculate(fresh="datum.new || datum.place")
        .transform_flatten(["tokens", "place", "fresh"])
        .transform_calculate(letters=f"length(datum.tokens) + {GAP}")
        .transform_window(
            end="sum(letters)", groupby=["line"], sort=[{"field": "place"}], frame=[None, 0]
        )
        .transform_calculate(
            x=f"{LABELS} + {LETTER} * (datum.end - datum.letters / 2)",
            hidden=f"datum.line == 0 && test(/^a place/, ablation) && datum.place == {PLACE}",
            changed="datum.line == 2 && datum.fresh == 1",
            touched=TOUCHED if edges else "false",
        )
    )


def _title(edges: bool) -> str:
    """Return the expression of the title, which says what is taken away."""
    place = f"'place ' + {PLACE} + ', ' + views.src[{PLACE}]"
    said = [
        (f"ablation == '{SOURCE_BEFORE_ENCODER}'", f"'Hidden before the encoder: ' + {place}"),
        (
            f"ablation == '{SOURCE_AFTER_ENCODER}'",
            f"'Hidden from the decoder, after the encoder: ' + {place}",
        ),
    ]
    if edges:
        key, row = f"views.src[{KEY}]", f"'the row that says ' + views.said[{QUERY}]"
        every = "', in every head: '"
        blind = "' cannot look at '"
        said += [
            (ENCODER, f"'In the encoder' + {every} + views.src[{QUERY}] + {blind} + {key}"),
            (CROSS, f"'In cross-attention' + {every} + {row} + {blind} + {key}"),
            (DECODER, f"'In the decoder' + {every} + {row} + {blind} + views.read[{KEY}]"),
        ]
    whose = "'Head ' + head"
    said += [
        (f"ablation == '{ZERO_HEAD}'", f"{whose} + ' removed: zeros in its place'"),
        (
            f"ablation == '{MEAN_HEAD}'",
            f"{whose} + ' removed: its mean over other sentences in its place'",
        ),
        (f"ablation == '{PATCHED_HEAD}'", f"{whose} + ' as in: ' + views.other"),
    ]
    return " : ".join(f"{test} ? {text}" for test, text in said) + " : 'Nothing is taken away'"


def _settings(edges: bool) -> str:
    """Return an expression that says where all the controls stand, needed by the choice or not."""
    parts = ["'place ' + key + ' of the source: ' + (views.src[key] || 'none')"]
    if edges:
        parts.append(
            "'query ' + query + ': ' + (views.src[query] || 'none') + ' or '"
            " + (views.said[query] || 'none')"
        )
    return " + ' · ' + ".join([*parts, "'head ' + head"])


def bars(edges: bool, max_bars: int) -> alt.LayerChart:
    """Draw at most `max_bars` probabilities of the next token, before and after the ablation."""
    base = _bars(SHOWN.format(target=_target(edges)))
    across = alt.Scale(domain=[0, 1], nice=False, range=[LABELS, WIDTH - 200])
    down = alt.Scale(domain=[0, max_bars], reverse=True, nice=False)
    axis = alt.Axis(format=".1f", values=[0, 0.5, 1], grid=False)
    legend = alt.Legend(title=None, orient="top-right")
    rectangles = base.mark_rect(aria=False).encode(
        x=alt.X("zero:Q", scale=across, axis=axis, title="probability of the next token"),
        x2="probability:Q",
        y=alt.Y("top:Q", scale=down, axis=None),
        y2="bottom:Q",
        color=alt.Color("kind:N", scale=colours(KINDS, [PAPER, TARGET]), legend=legend),
        tooltip=["token:N", "kind:N", alt.Tooltip("probability:Q", format=".2f")],
    )
    values = base.mark_text(align="left", dx=4, fontSize=11, aria=False).encode(
        x=alt.X("probability:Q", scale=across),
        y=alt.Y("middle:Q", scale=down),
        text=alt.Text("probability:Q", format=".2f"),
    )
    tokens = (
        base.transform_filter(f"datum.kind == '{KINDS[0]}'")
        .mark_text(align="right", fontSize=FONT, aria=False)
        .encode(x=alt.value(LABELS - 8), y=alt.Y("centre:Q", scale=down), text="token:N")
    )
    said = "replace(join(slice(views.read, 0, next + 1), ''), /▁/g, ' ')"
    return alt.LayerChart(layer=[rectangles, values, tokens]).properties(
        width=WIDTH,
        height=2 * BAR * max_bars,
        title=heading(f"'What comes after: ' + {said}", fontSize=FONT),
        view=UNFRAMED,
    )


def _bars(shown: str) -> alt.Chart:
    """Unfold the chosen ablation's probabilities into two bars for each token."""
    whole = f"datum.kind == '{KINDS[0]}'"
    return (
        alt.Chart()
        .transform_filter(shown)
        .transform_calculate(bar="split(datum.probabilities[next], ',')")
        .transform_calculate(rank="sequence(length(datum.bar))")
        .transform_flatten(["bar", "rank"])
        .transform_calculate(parts="split(datum.bar, ' ')", kind=f"{KINDS}")
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
