"""One sentence through a model, a step at a time, as numbers on coloured ground (§3).

The whole on the way from text to token, or one lesson's part of it. Stored data: no kernel needed.
"""

import math
from typing import Any

import altair as alt

from lessonkit.analysis.tracing import Trace
from lessonkit.charts.controls import (
    UNFRAMED_VIEW,
    WEIGHT_COLOUR_SCALE,
    make_drop_down,
    make_live_title,
    make_slider,
)
from lessonkit.charts.heatmap import STORED_INTEGERS_PER_UNIT, check_num_cells, pack_matrix
from lessonkit.charts.style import TARGET_COLOUR
from lessonkit.charts.trace_steps import TraceStep, steps_of_part
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

CHART_WIDTH_PIXELS = 704  # pixels of both pictures
ROW_PIXELS, LINE_PIXELS = 20, 17  # pixels of a row of the table, of a line below it
NUMBERS_PER_LINE = 16  # numbers of a vector in a line of the lower picture
# So many of a vector's numbers at most: room for all would stay empty below tables with few.
MAX_NUMBERS_WRITTEN_OUT = 64
MAX_TABLE_ROWS = 24  # more would not fit a screen
MAX_COLUMNS_WITH_NUMBERS = 12  # columns that leave room for a number in each cell
MIN_SHARE_FOR_WHITE_TEXT = 0.65  # share of the deepest colour from which text on it is white

STEP_DISPLAY_SETTINGS_EXPR = "views[step]"
CHOSEN_ROW_EXPR = f"min(place, length({STEP_DISPLAY_SETTINGS_EXPR}.rows) - 1)"
SIGNED_COLOUR_SCALE = alt.Scale(scheme="redblue", reverse=True, domain=[-1, 1])
EMPTY_CELL_COLOUR = "#EEEEEE"  # ground of a cell without a number
ZERO_TO_ONE_X_SCALE = alt.Scale(domain=[0, 1], nice=False)
AxisOptions = dict[str, Any]  # of an axis


@check_argument_types
def trace_explorer(
    trace: Trace, part: str | None = None, step: str | None = None, place: int = 0
) -> alt.VConcatChart:
    """Draw one step of a trace as a table, and one place's row of it written out (§3).

    Args:
        trace: From `analysis.tracing.trace_translation`.
        part: "text", "attention", "positions", "layer" or "choice"; None gives the whole.
        step: To begin with; None is the first. A list of the chart changes it.
        place: The row to begin with, from 0; past the last row of a table it means the last.
    """
    pieces = max(len(trace.source.tokens), len(trace.target.tokens))
    if pieces > MAX_TABLE_ROWS:
        raise UserError(
            f"{pieces} pieces, and a table has room for {MAX_TABLE_ROWS}: give a shorter sentence"
        )
    steps = steps_of_part(trace, part)
    check_num_cells(tuple(part_step.values.shape) for part_step in steps)
    names = [part_step.name for part_step in steps]
    num_rows = max(len(part_step.rows) for part_step in steps)
    controls = [
        make_drop_down("step", step or names[0], names),
        make_slider("place", place, 0, num_rows - 1),
    ]
    views = {part_step.name: _step_display_settings(part_step) for part_step in steps}
    pictures = [_draw_step_table(num_rows)]
    num_lines = max(view["lines"] for view in views.values())
    if num_lines:
        pictures.append(_draw_chosen_row(num_lines))
    data = alt.Data(values=[_step_to_data_row(part_step) for part_step in steps])
    chart = alt.vconcat(*pictures, data=data)
    about = "; ".join(f"{part_step.name} ({part_step.about})" for part_step in steps)
    return chart.add_params(alt.param(name="views", value=views), *controls).properties(
        name="trace",
        title=make_live_title(f"step + ': ' + {STEP_DISPLAY_SETTINGS_EXPR}.about"),
        spacing=12,
        description="Tables of numbers: one sentence through a model, step by step. Source: "
        f"{' '.join(trace.source.tokens)} Written: {' '.join(trace.written)} A control chooses the "
        f"step, another the place whose row is written out below. Steps: {about}.",
    )


def _step_to_data_row(step: TraceStep) -> dict[str, object]:
    """Return a step's cells as one row of the chart's data."""
    words = [word for row in step.words for word in row]
    return {"of": step.name, "cells": pack_matrix(step.values.double()), "words": words}


def _step_display_settings(step: TraceStep) -> dict[str, Any]:
    """Return how a step is drawn: its labels, its colours and how its row is written out."""
    width, named = step.values.shape[1], bool(step.words or step.columns)
    deepest = round(float(step.values.detach().abs().nan_to_num(0.0).max()), 4)
    signed = f"colours: blue −{deepest:.2f}, white 0, red {deepest:.2f}"
    colours = "colours: dark 0, yellow 1" if step.shares else signed
    lines = 2 if named else math.ceil(min(width, MAX_NUMBERS_WRITTEN_OUT) / NUMBERS_PER_LINE)
    return {
        "about": step.about,
        "colours": colours if deepest else "",  # 0: there is no number
        "rows": step.rows,
        "columns": list(step.columns),
        "width": width,
        "shares": step.shares,
        "deepest": 1 if step.shares else deepest,
        "across": width if named else NUMBERS_PER_LINE,
        "lines": lines if deepest else 0,
    }


def _unfold_step_cells() -> alt.Chart:
    """Unfold the chosen step in the browser: a row for each cell."""
    return (
        alt.Chart()
        .transform_filter("datum.of == step")
        .transform_calculate(cell="split(datum.cells, ',')")
        .transform_calculate(index="sequence(length(datum.cell))")
        .transform_flatten(["cell", "index"])
        .transform_calculate(
            value=f"datum.cell === '' ? null : toNumber(datum.cell) / {STORED_INTEGERS_PER_UNIT}",
            q=f"floor(datum.index / {STEP_DISPLAY_SETTINGS_EXPR}.width)",
            k=f"datum.index % {STEP_DISPLAY_SETTINGS_EXPR}.width",
            word="length(datum.words) ? datum.words[datum.index] : ''",
        )
        .transform_calculate(
            share=f"datum.value / {STEP_DISPLAY_SETTINGS_EXPR}.deepest",
            number="isValid(datum.value) ? format(datum.value, '.2f') : ''",
            row=f"{STEP_DISPLAY_SETTINGS_EXPR}.rows[datum.q]",
            name=f"datum.word ? datum.word : length({STEP_DISPLAY_SETTINGS_EXPR}.columns)"
            f" ? {STEP_DISPLAY_SETTINGS_EXPR}.columns[datum.k] : 'number ' + datum.k",
        )
    )


def _draw_step_table(num_rows: int) -> alt.LayerChart:
    """Draw the whole step: a row for each place, the chosen one framed."""
    struck = f"length({STEP_DISPLAY_SETTINGS_EXPR}.columns) ? '−∞' : ''"
    room = f"{STEP_DISPLAY_SETTINGS_EXPR}.width <= {MAX_COLUMNS_WITH_NUMBERS} ? datum.number : ''"
    base = _unfold_step_cells().transform_calculate(
        left=f"datum.k / {STEP_DISPLAY_SETTINGS_EXPR}.width",
        right=f"(datum.k + 1) / {STEP_DISPLAY_SETTINGS_EXPR}.width",
        middle=f"(datum.k + 0.5) / {STEP_DISPLAY_SETTINGS_EXPR}.width",
        bottom="datum.q + 1",
        line="datum.q + 0.5",
        label=f"datum.word ? datum.word : isValid(datum.value) ? {room} : {struck}",
    )
    down: AxisOptions = {
        "scale": alt.Scale(domain=[num_rows, 0], nice=False),
        "axis": _make_row_label_axis(num_rows),
    }
    x, y = alt.X("left:Q", scale=ZERO_TO_ONE_X_SCALE, axis=None), alt.Y("q:Q", **down)
    places = {"x": x, "x2": "right:Q", "y": y, "y2": "bottom:Q"}
    chosen = _draw_chosen_row_frame(places)
    heads = (
        base.transform_filter(f"datum.q == 0 && length({STEP_DISPLAY_SETTINGS_EXPR}.columns)")
        .mark_text(dy=-8, fontSize=12, aria=False)
        .encode(x=alt.X("middle:Q", scale=ZERO_TO_ONE_X_SCALE, axis=None), y=y, text="name:N")
    )
    empty = (
        base.transform_filter("!isValid(datum.value) && datum.label != ''")
        .mark_rect(aria=False, color=EMPTY_CELL_COLOUR, stroke="white")
        .encode(**places)
    )
    layers = alt.layer(
        *_cell_background_layers(base, y),
        empty,
        _text_layer(base, "label", 12, down),
        chosen,
        heads,
    )
    return layers.resolve_scale(color="independent").properties(
        width=CHART_WIDTH_PIXELS, height=ROW_PIXELS * num_rows, view=UNFRAMED_VIEW
    )


def _draw_chosen_row_frame(places: dict[str, Any]) -> alt.Chart:
    """Draw the frame around the chosen row; `places` are the channels of its sides."""
    return (
        alt.Chart()
        .transform_filter("datum.of == step")
        .transform_calculate(
            left="0", right="1", q=CHOSEN_ROW_EXPR, bottom=f"{CHOSEN_ROW_EXPR} + 1"
        )
        .mark_rect(fill=None, stroke=TARGET_COLOUR, strokeWidth=2, aria=False)
        .encode(**places)
    )


def _make_row_label_axis(num_rows: int) -> alt.Axis:
    """Name the rows, as many as the chosen step has."""
    return alt.Axis(
        title=None,
        values=[place + 0.5 for place in range(num_rows)],
        labelExpr=f"{STEP_DISPLAY_SETTINGS_EXPR}.rows[datum.value - 0.5] || ''",
        labelFontSize=12,
        labelLimit=180,
        labelOverlap=False,
        ticks=False,
        domain=False,
        grid=False,
    )


def _draw_chosen_row(num_lines: int) -> alt.LayerChart:
    """Write the chosen place's numbers out, sixteen in a line, or each below its name."""
    named = f"{STEP_DISPLAY_SETTINGS_EXPR}.across == {STEP_DISPLAY_SETTINGS_EXPR}.width"
    base = (
        _unfold_step_cells()
        .transform_filter(
            f"datum.q == {CHOSEN_ROW_EXPR} && isValid(datum.value) && datum.k < "
            f"{MAX_NUMBERS_WRITTEN_OUT}"
        )
        .transform_calculate(
            first=f"floor(datum.k / {STEP_DISPLAY_SETTINGS_EXPR}.across)",
            column=f"datum.k % {STEP_DISPLAY_SETTINGS_EXPR}.across",
        )
        .transform_calculate(
            left=f"datum.column / {STEP_DISPLAY_SETTINGS_EXPR}.across",
            right=f"(datum.column + 1) / {STEP_DISPLAY_SETTINGS_EXPR}.across",
            middle=f"(datum.column + 0.5) / {STEP_DISPLAY_SETTINGS_EXPR}.across",
            bottom=f"datum.first + ({named} ? 2 : 1)",
            line=f"datum.first + ({named} ? 1.5 : 0.5)",
        )
    )
    names = base.transform_filter(named).transform_calculate(line="0.5")
    down: AxisOptions = {"scale": alt.Scale(domain=[num_lines, 0], nice=False), "axis": None}
    written = (_text_layer(base, "number", 11, down), _text_layer(names, "name", 12, down))
    excerpt = (
        f"{STEP_DISPLAY_SETTINGS_EXPR}.width > {MAX_NUMBERS_WRITTEN_OUT} && !({named}) ? "
        f"'first {MAX_NUMBERS_WRITTEN_OUT} of ' + {STEP_DISPLAY_SETTINGS_EXPR}.width + "
        "' numbers; ' : ''"
    )
    text = (
        f"{STEP_DISPLAY_SETTINGS_EXPR}.lines ? "
        f"'row ' + {STEP_DISPLAY_SETTINGS_EXPR}.rows[{CHOSEN_ROW_EXPR}] + ' (' + ({excerpt}) "
        f"+ {STEP_DISPLAY_SETTINGS_EXPR}.colours + ')' : ''"
    )
    layers = alt.layer(*_cell_background_layers(base, alt.Y("first:Q", **down)), *written)
    return layers.resolve_scale(color="independent").properties(
        width=CHART_WIDTH_PIXELS,
        height=LINE_PIXELS * num_lines,
        title=make_live_title(text, fontSize=12),
        view=UNFRAMED_VIEW,
    )


def _cell_background_layers(base: alt.Chart, y: alt.Y) -> list[alt.Chart]:
    """Colour each cell: signed numbers, and shares."""
    places = {
        "x": alt.X("left:Q", scale=ZERO_TO_ONE_X_SCALE, axis=None),
        "x2": "right:Q",
        "y": y,
        "y2": "bottom:Q",
    }
    tooltip = ["row:N", "name:N", alt.Tooltip("value:Q", format=".2f")]
    return [
        base.transform_filter(f"isValid(datum.value) && {kind}")
        .mark_rect(aria=False)
        .encode(color=alt.Color("share:Q", scale=scale, legend=None), tooltip=tooltip, **places)
        for kind, scale in (
            (f"!{STEP_DISPLAY_SETTINGS_EXPR}.shares", SIGNED_COLOUR_SCALE),
            (f"{STEP_DISPLAY_SETTINGS_EXPR}.shares", WEIGHT_COLOUR_SCALE),
        )
    ]


def _text_layer(base: alt.Chart, field: str, size: int, down: AxisOptions) -> alt.Chart:
    """Write a field in the middle of its cell, white on dark ground."""
    dark = (
        f"{STEP_DISPLAY_SETTINGS_EXPR}.shares ? datum.share < 0.5 : abs(datum.share) > "
        f"{MIN_SHARE_FOR_WHITE_TEXT}"
    )
    x, y = alt.X("middle:Q", scale=ZERO_TO_ONE_X_SCALE, axis=None), alt.Y("line:Q", **down)
    white, black = alt.value("white"), alt.value("#222222")
    color = alt.condition(f"isValid(datum.value) && ({dark})", white, black)
    written = base.transform_filter(f"datum.{field} != ''").mark_text(fontSize=size, aria=False)
    return written.encode(x=x, y=y, text=f"{field}:N", color=color)
