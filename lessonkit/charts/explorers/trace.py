"""One sentence through a model, a step at a time, as numbers on coloured ground (§3).

The whole on the way from text to token, or one lesson's part of it. Stored data: no kernel needed.
"""

import math

import altair as alt

from lessonkit.analysis.tracing import Trace
from lessonkit.charts.cells import PARTS as FRACTION
from lessonkit.charts.cells import check_size
from lessonkit.charts.controls import choice, slider
from lessonkit.charts.explorers.trace_steps import Step, steps_of
from lessonkit.charts.style import TARGET
from transformer.support.errors import UserError, unknown_name

WIDTH = 704  # pixels of both pictures
ROW, LINE = 20, 17  # pixels of a row of the table, of a line below it
ACROSS = 16  # numbers of a vector in a line of the lower picture
WRITTEN_OUT = 256  # of a vector's numbers: more lines would not fit a screen
MOST_ROWS = 24  # more would not fit a screen
FEW = 12  # columns that leave room for a number in each cell
DARK = 0.65  # share of the deepest colour from which text on it is white

VIEW = "views[step]"
PLACE = f"min(place, length({VIEW}.rows) - 1)"
SIGNED = alt.Scale(scheme="redblue", reverse=True, domain=[-1, 1])
SHARES = alt.Scale(scheme="viridis", domain=[0, 1])
NOTHING = "#EEEEEE"  # ground of a cell without a number
UNFRAMED = alt.ViewBackground(stroke=None)


def trace_explorer(
    trace: Trace, part: str | None = None, step: str | None = None, place: int = 0
) -> alt.VConcatChart:
    """Draw one step of a trace as a table, and one place's row of it written out.

    Two controls: `step` chooses the table, `place` (from 0) the row.

    Args:
        trace: From `analysis.tracing.trace`.
        part: "text", "attention", "positions", "layer", "loss" or "choice"; None gives the whole.
        step: To begin with; None is the first.
        place: To begin with; past the last row of a table it means the last.

    Raises:
        UserError: the part or the step is unknown, the place lies outside, or the sentence is too
            long for a chart.
    """
    pieces = max(len(trace.source.tokens), len(trace.target.tokens))
    if pieces > MOST_ROWS:
        raise UserError(
            f"{pieces} pieces, and a table has room for {MOST_ROWS}: give a shorter sentence"
        )
    steps = steps_of(trace, part)
    names = [each.name for each in steps]
    check_size(tuple(each.values.shape) for each in steps)
    longest = max(len(each.rows) for each in steps)
    first = names[0] if step is None else step
    if first not in names:
        raise unknown_name("step", first, names)
    controls = [choice("step", first, names), slider("place", place, 0, longest - 1)]
    pictures = [_table(longest)]
    lines = max(map(_lines, steps))
    if lines:
        pictures.append(_row(lines))
    views = alt.param(name="views", value={each.name: _view(each) for each in steps})
    chart = alt.vconcat(*pictures, data=alt.Data(values=[_data(each) for each in steps]))
    title = alt.Title(text=alt.ExprRef(f"step + ': ' + {VIEW}.about"), anchor="start")
    return chart.add_params(views, *controls).properties(
        name="trace", title=title, spacing=12, description=_description(trace, steps)
    )


def _data(step: Step) -> dict[str, object]:
    """Write a step's cells row by row in hundredths, nothing where there is no number."""
    hundredths = (step.values.detach().double().cpu() * FRACTION).round().flatten().tolist()
    cells = ["" if math.isnan(cell) else str(int(cell)) for cell in hundredths]
    row: dict[str, object] = {"of": step.name, "cells": ",".join(cells)}
    return row | {"words": [word for words in step.words for word in words]}


def _view(step: Step) -> dict[str, object]:
    """Say how a step is drawn: its labels, its colours and how its row is written out."""
    width, deepest = step.values.shape[1], _deepest(step)
    colours = f"colours: blue −{deepest:.2f}, white 0, red {deepest:.2f}"
    if step.shares:
        colours = "colours: dark 0, yellow 1"
    if not deepest:
        colours = ""
    return {
        "about": step.about,
        "colours": colours,
        "rows": step.rows,
        "columns": list(step.columns),
        "width": width,
        "shares": step.shares,
        "deepest": 1 if step.shares else deepest,
        "across": width if _named(step) else ACROSS,
        "lines": _lines(step),
    }


def _named(step: Step) -> bool:
    return bool(step.words or step.columns)


def _deepest(step: Step) -> float:
    """Give the largest number, without its sign, to four places; 0 where there is none."""
    return round(float(step.values.detach().abs().nan_to_num(0.0).max()), 4)


def _lines(step: Step) -> int:
    """Count the lines that a row takes when it is written out."""
    if not _deepest(step):
        return 0
    return 2 if _named(step) else math.ceil(min(step.values.shape[1], WRITTEN_OUT) / ACROSS)


def _cells() -> alt.Chart:
    """Take the chosen step apart in the browser: a row for each cell."""
    return (
        alt.Chart()
        .transform_filter("datum.of == step")
        .transform_calculate(cell="split(datum.cells, ',')")
        .transform_calculate(index="sequence(length(datum.cell))")
        .transform_flatten(["cell", "index"])
        .transform_calculate(
            value=f"datum.cell === '' ? null : toNumber(datum.cell) / {FRACTION}",
            q=f"floor(datum.index / {VIEW}.width)",
            k=f"datum.index % {VIEW}.width",
            word="length(datum.words) ? datum.words[datum.index] : ''",
        )
        .transform_calculate(
            share=f"datum.value / {VIEW}.deepest",
            number="isValid(datum.value) ? format(datum.value, '.2f') : ''",
            row=f"{VIEW}.rows[datum.q]",
            name=f"datum.word ? datum.word : length({VIEW}.columns) ? {VIEW}.columns[datum.k]"
            " : 'number ' + datum.k",
        )
    )


def _table(longest: int) -> alt.LayerChart:
    """Draw the whole step: a row for each place, the chosen one framed."""
    struck = f"length({VIEW}.columns) ? '−∞' : ''"
    room = f"{VIEW}.width <= {FEW} ? datum.number : ''"
    base = _cells().transform_calculate(
        left=f"datum.k / {VIEW}.width",
        right=f"(datum.k + 1) / {VIEW}.width",
        middle=f"(datum.k + 0.5) / {VIEW}.width",
        bottom="datum.q + 1",
        line="datum.q + 0.5",
        label=f"datum.word ? datum.word : isValid(datum.value) ? {room} : {struck}",
    )
    rows = _labels(longest)
    down = alt.Scale(domain=[longest, 0], nice=False)
    y = alt.Y("q:Q", scale=down, axis=rows)
    across = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("left:Q", scale=across, axis=None)
    frame = (
        alt.Chart()
        .transform_filter("datum.of == step")
        .transform_calculate(left="0", right="1", q=PLACE, bottom=f"{PLACE} + 1")
        .mark_rect(fill=None, stroke=TARGET, strokeWidth=2, aria=False)
        .encode(x=x, x2="right:Q", y=y, y2="bottom:Q")
    )
    heads = (
        base.transform_filter(f"datum.q == 0 && length({VIEW}.columns)")
        .mark_text(dy=-8, fontSize=12, aria=False)
        .encode(x=alt.X("middle:Q", scale=across, axis=None), y=y, text="name:N")
    )
    grounds = _grounds(base, {"x": x, "x2": "right:Q", "y": y, "y2": "bottom:Q"})
    layers = alt.layer(*grounds, _text(base, "label", 12, down, rows), frame, heads)
    return layers.resolve_scale(color="independent").properties(
        width=WIDTH, height=ROW * longest, view=UNFRAMED
    )


def _labels(longest: int) -> alt.Axis:
    """Name the rows, as many as the chosen step has."""
    return alt.Axis(
        title=None,
        values=[place + 0.5 for place in range(longest)],
        labelExpr=f"{VIEW}.rows[datum.value - 0.5] || ''",
        labelFontSize=12,
        labelLimit=180,
        labelOverlap=False,
        ticks=False,
        domain=False,
        grid=False,
    )


def _row(lines: int) -> alt.LayerChart:
    """Write the chosen place's numbers out, sixteen in a line, or each below its name."""
    named = f"{VIEW}.across == {VIEW}.width"
    base = (
        _cells()
        .transform_filter(f"datum.q == {PLACE} && isValid(datum.value) && datum.k < {WRITTEN_OUT}")
        .transform_calculate(
            first=f"floor(datum.k / {VIEW}.across)", column=f"datum.k % {VIEW}.across"
        )
        .transform_calculate(
            left=f"datum.column / {VIEW}.across",
            right=f"(datum.column + 1) / {VIEW}.across",
            middle=f"(datum.column + 0.5) / {VIEW}.across",
            bottom=f"datum.first + ({named} ? 2 : 1)",
            line=f"datum.first + ({named} ? 1.5 : 0.5)",
        )
    )
    down = alt.Scale(domain=[lines, 0], nice=False)
    y = alt.Y("first:Q", scale=down, axis=None)
    x = alt.X("left:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=None)
    names = base.transform_filter(named).transform_calculate(line="0.5")
    grounds = _grounds(base, {"x": x, "x2": "right:Q", "y": y, "y2": "bottom:Q"})[:2]
    written = (_text(base, "number", 11, down, None), _text(names, "name", 12, down, None))
    text = f"{VIEW}.lines ? 'row ' + {VIEW}.rows[{PLACE}] + ' (' + {VIEW}.colours + ')' : ''"
    heading = alt.Title(text=alt.ExprRef(text), anchor="start", fontSize=12)
    layers = alt.layer(*grounds, *written).resolve_scale(color="independent")
    return layers.properties(width=WIDTH, height=LINE * lines, title=heading, view=UNFRAMED)


def _grounds(base: alt.Chart, where: dict[str, object]) -> list[alt.Chart]:
    """Colour each cell: signed numbers, shares, and cells without a number."""
    tooltip = ["row:N", "name:N", alt.Tooltip("value:Q", format=".2f")]
    kinds = ((f"!{VIEW}.shares", SIGNED), (f"{VIEW}.shares", SHARES))
    coloured = [
        base.transform_filter(f"isValid(datum.value) && {kind}")
        .mark_rect(aria=False)
        .encode(color=alt.Color("share:Q", scale=scale, legend=None), tooltip=tooltip, **where)
        for kind, scale in kinds
    ]
    empty = (
        base.transform_filter("!isValid(datum.value) && datum.label != ''")
        .mark_rect(aria=False, color=NOTHING, stroke="white")
        .encode(**where)
    )
    return [*coloured, empty]


def _text(
    base: alt.Chart, field: str, size: int, down: alt.Scale, axis: alt.Axis | None
) -> alt.Chart:
    """Write a field in the middle of its cell, white on dark ground."""
    dark = f"{VIEW}.shares ? datum.share < 0.5 : abs(datum.share) > {DARK}"
    return (
        base.transform_filter(f"datum.{field} != ''")
        .mark_text(fontSize=size, aria=False)
        .encode(
            x=alt.X("middle:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=None),
            y=alt.Y("line:Q", scale=down, axis=axis),
            text=f"{field}:N",
            color=alt.condition(
                f"isValid(datum.value) && ({dark})", alt.value("white"), alt.value("#222222")
            ),
        )
    )


def _description(trace: Trace, steps: list[Step]) -> str:
    names = "; ".join(f"{step.name} ({step.about})" for step in steps)
    return (
        f"Tables of numbers: one sentence through a model, step by step. Source: "
        f"{' '.join(trace.source.tokens)} Written: {' '.join(trace.written)} A control chooses the "
        f"step, another the place whose row is written out below. Steps: {names}."
    )
