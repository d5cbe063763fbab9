"""One sentence through a model, a step at a time, as numbers on coloured ground (§3).

The whole on the way from text to token, or one lesson's part of it. Stored data: no kernel needed.
"""

import math
from typing import Any

import altair as alt

from lessonkit.analysis.tracing import Trace
from lessonkit.charts.controls import UNFRAMED, WEIGHTS, choice, heading, slider
from lessonkit.charts.heatmap import PARTS, check_size, pack
from lessonkit.charts.style import TARGET
from lessonkit.charts.trace_steps import Step, steps_of
from transformer.support.errors import UserError

WIDTH = 704  # pixels of both pictures
ROW, LINE = 20, 17  # pixels of a row of the table, of a line below it
ACROSS = 16  # numbers of a vector in a line of the lower picture
WRITTEN_OUT = 256  # of a vector's numbers: more lines would not fit a screen
MAX_ROWS = 24  # more would not fit a screen
MAX_LABELLED = 12  # columns that leave room for a number in each cell
DARK = 0.65  # share of the deepest colour from which text on it is white

VIEW = "views[step]"
PLACE = f"min(place, length({VIEW}.rows) - 1)"
SIGNED = alt.Scale(scheme="redblue", reverse=True, domain=[-1, 1])
NOTHING = "#EEEEEE"  # ground of a cell without a number
UNIT = alt.Scale(domain=[0, 1], nice=False)
Look = dict[str, Any]  # of an axis


def trace_explorer(
    trace: Trace, part: str | None = None, step: str | None = None, place: int = 0
) -> alt.VConcatChart:
    """Draw one step of a trace as a table, and one place's row of it written out (§3).

    Args:
        trace: From `analysis.tracing.trace`.
        part: "text", "attention", "positions", "layer" or "choice"; None gives the whole.
        step: To begin with; None is the first. A list of the chart changes it.
        place: The row to begin with, from 0; past the last row of a table it means the last.
    """
    pieces = max(len(trace.source.tokens), len(trace.target.tokens))
    if pieces > MAX_ROWS:
        raise UserError(
            f"{pieces} pieces, and a table has room for {MAX_ROWS}: give a shorter sentence"
        )
    steps = steps_of(trace, part)
    check_size(tuple(part_step.values.shape) for part_step in steps)
    names = [part_step.name for part_step in steps]
    num_rows = max(len(part_step.rows) for part_step in steps)
    controls = [choice("step", step or names[0], names), slider("place", place, 0, num_rows - 1)]
    views = {part_step.name: _view(part_step) for part_step in steps}
    pictures = [_table(num_rows)]
    num_lines = max(view["lines"] for view in views.values())
    if num_lines:
        pictures.append(_row(num_lines))
    data = alt.Data(values=[_packed(part_step) for part_step in steps])
    chart = alt.vconcat(*pictures, data=data)
    about = "; ".join(f"{part_step.name} ({part_step.about})" for part_step in steps)
    return chart.add_params(alt.param(name="views", value=views), *controls).properties(
        name="trace",
        title=heading(f"step + ': ' + {VIEW}.about"),
        spacing=12,
        description="Tables of numbers: one sentence through a model, step by step. Source: "
        f"{' '.join(trace.source.tokens)} Written: {' '.join(trace.written)} A control chooses the "
        f"step, another the place whose row is written out below. Steps: {about}.",
    )


def _packed(step: Step) -> dict[str, object]:
    """Return a step's cells as one row of the chart's data."""
    words = [word for row in step.words for word in row]
    return {"of": step.name, "cells": pack(step.values.double()), "words": words}


def _view(step: Step) -> dict[str, Any]:
    """Return how a step is drawn: its labels, its colours and how its row is written out."""
    width, named = step.values.shape[1], bool(step.words or step.columns)
    deepest = round(float(step.values.detach().abs().nan_to_num(0.0).max()), 4)
    signed = f"colours: blue −{deepest:.2f}, white 0, red {deepest:.2f}"
    colours = "colours: dark 0, yellow 1" if step.shares else signed
    lines = 2 if named else math.ceil(min(width, WRITTEN_OUT) / ACROSS)
    return {
        "about": step.about,
        "colours": colours if deepest else "",  # 0: there is no number
        "rows": step.rows,
        "columns": list(step.columns),
        "width": width,
        "shares": step.shares,
        "deepest": 1 if step.shares else deepest,
        "across": width if named else ACROSS,
        "lines": lines if deepest else 0,
    }


def _cells() -> alt.Chart:
    """Unfold the chosen step in the browser: a row for each cell."""
    return (
        alt.Chart()
        .transform_filter("datum.of == step")
        .transform_calculate(cell="split(datum.cells, ',')")
        .transform_calculate(index="sequence(length(datum.cell))")
        .transform_flatten(["cell", "index"])
        .transform_calculate(
            value=f"datum.cell === '' ? null : toNumber(datum.cell) / {PARTS}",
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


def _table(num_rows: int) -> alt.LayerChart:
    """Draw the whole step: a row for each place, the chosen one framed."""
    struck = f"length({VIEW}.columns) ? '−∞' : ''"
    room = f"{VIEW}.width <= {MAX_LABELLED} ? datum.number : ''"
    base = _cells().transform_calculate(
        left=f"datum.k / {VIEW}.width",
        right=f"(datum.k + 1) / {VIEW}.width",
        middle=f"(datum.k + 0.5) / {VIEW}.width",
        bottom="datum.q + 1",
        line="datum.q + 0.5",
        label=f"datum.word ? datum.word : isValid(datum.value) ? {room} : {struck}",
    )
    down: Look = {"scale": alt.Scale(domain=[num_rows, 0], nice=False), "axis": _labels(num_rows)}
    x, y = alt.X("left:Q", scale=UNIT, axis=None), alt.Y("q:Q", **down)
    places = {"x": x, "x2": "right:Q", "y": y, "y2": "bottom:Q"}
    chosen = (
        alt.Chart()
        .transform_filter("datum.of == step")
        .transform_calculate(left="0", right="1", q=PLACE, bottom=f"{PLACE} + 1")
        .mark_rect(fill=None, stroke=TARGET, strokeWidth=2, aria=False)
        .encode(**places)
    )
    heads = (
        base.transform_filter(f"datum.q == 0 && length({VIEW}.columns)")
        .mark_text(dy=-8, fontSize=12, aria=False)
        .encode(x=alt.X("middle:Q", scale=UNIT, axis=None), y=y, text="name:N")
    )
    empty = (
        base.transform_filter("!isValid(datum.value) && datum.label != ''")
        .mark_rect(aria=False, color=NOTHING, stroke="white")
        .encode(**places)
    )
    layers = alt.layer(*_grounds(base, y), empty, _text(base, "label", 12, down), chosen, heads)
    return layers.resolve_scale(color="independent").properties(
        width=WIDTH, height=ROW * num_rows, view=UNFRAMED
    )


def _labels(num_rows: int) -> alt.Axis:
    """Name the rows, as many as the chosen step has."""
    return alt.Axis(
        title=None,
        values=[place + 0.5 for place in range(num_rows)],
        labelExpr=f"{VIEW}.rows[datum.value - 0.5] || ''",
        labelFontSize=12,
        labelLimit=180,
        labelOverlap=False,
        ticks=False,
        domain=False,
        grid=False,
    )


def _row(num_lines: int) -> alt.LayerChart:
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
    names = base.transform_filter(named).transform_calculate(line="0.5")
    down: Look = {"scale": alt.Scale(domain=[num_lines, 0], nice=False), "axis": None}
    written = (_text(base, "number", 11, down), _text(names, "name", 12, down))
    text = f"{VIEW}.lines ? 'row ' + {VIEW}.rows[{PLACE}] + ' (' + {VIEW}.colours + ')' : ''"
    layers = alt.layer(*_grounds(base, alt.Y("first:Q", **down)), *written)
    return layers.resolve_scale(color="independent").properties(
        width=WIDTH, height=LINE * num_lines, title=heading(text, fontSize=12), view=UNFRAMED
    )


def _grounds(base: alt.Chart, y: alt.Y) -> list[alt.Chart]:
    """Colour each cell: signed numbers, and shares."""
    places = {
        "x": alt.X("left:Q", scale=UNIT, axis=None),
        "x2": "right:Q",
        "y": y,
        "y2": "bottom:Q",
    }
    tooltip = ["row:N", "name:N", alt.Tooltip("value:Q", format=".2f")]
    return [
        base.transform_filter(f"isValid(datum.value) && {kind}")
        .mark_rect(aria=False)
        .encode(color=alt.Color("share:Q", scale=scale, legend=None), tooltip=tooltip, **places)
        for kind, scale in ((f"!{VIEW}.shares", SIGNED), (f"{VIEW}.shares", WEIGHTS))
    ]


def _text(base: alt.Chart, field: str, size: int, down: Look) -> alt.Chart:
    """Write a field in the middle of its cell, white on dark ground."""
    dark = f"{VIEW}.shares ? datum.share < 0.5 : abs(datum.share) > {DARK}"
    x, y = alt.X("middle:Q", scale=UNIT, axis=None), alt.Y("line:Q", **down)
    white, black = alt.value("white"), alt.value("#222222")
    color = alt.condition(f"isValid(datum.value) && ({dark})", white, black)
    written = base.transform_filter(f"datum.{field} != ''").mark_text(fontSize=size, aria=False)
    return written.encode(x=x, y=y, text=f"{field}:N", color=color)
