"""Matrices with a token for each row and column, one of them shown at a time.

Each matrix is one row of the chart's data, its cells written one after the other in a string,
and the browser takes it apart. So a chart may hold every head of a model and stay small.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import altair as alt
import torch
from torch import Tensor

from transformer.support.errors import UserError

STORED_INTEGERS_PER_UNIT = 100  # a cell is stored in hundredths
MAX_CELLS_PER_CHART = 150_000  # of all matrices together: about 0.3 MB
MAX_SIDE_PIXELS = 560  # pixels of the longer side, where cells need not be smaller than MIN_CELL
MIN_CELL_PIXELS, MAX_CELL_PIXELS = 9, 26  # pixels
LABEL_FONT_POINTS = 11  # points

MatrixLabels = dict[str, object]


def make_matrix_labels(title: str, queries: Sequence[str], keys: Sequence[str]) -> MatrixLabels:
    """Return what a kind of matrix is called and what stands beside its rows and columns."""
    return {"title": title, "queries": list(queries), "keys": list(keys)}


def pack_matrix(matrix: Tensor) -> str:
    """Write a matrix (q_len, k_len) of numbers row by row in hundredths; nothing for NaN."""
    exact = (
        matrix.detach().cpu() if matrix.dtype == torch.float64 else matrix.detach().float().cpu()
    )
    hundredths = (exact * STORED_INTEGERS_PER_UNIT).round().flatten().tolist()
    return ",".join("" if math.isnan(cell) else str(int(cell)) for cell in hundredths)


def check_num_cells(
    shapes: Iterable[tuple[int, ...]], remedy: str = "give a shorter sentence"
) -> None:
    """Refuse, with a UserError and a remedy, stacks of matrices too large to store in a chart."""
    total = sum(map(math.prod, shapes))
    if total > MAX_CELLS_PER_CHART:
        raise UserError(f"{total:,} cells, and a chart holds {MAX_CELLS_PER_CHART:,}: {remedy}")


def draw_chosen_matrix(
    rows: list[dict[str, object]],
    views: Mapping[str, MatrixLabels],
    params: Sequence[alt.Parameter],
) -> alt.Chart:
    """Draw the matrix that the controls choose: queries down, keys across; no colours yet.

    Args:
        rows: For each matrix a value for each control, under the control's name, and
            "cells", from `pack_matrix`; each becomes a field `value`, from 0 to 1.
        views: By the value of the first control, from `make_matrix_labels`.
        params: The controls, each with a name.
    """
    chosen = f"views[{params[0].name}]"
    lengths = [len(v[side]) for v in views.values() for side in ("queries", "keys")]  # type: ignore[arg-type]
    cell = max(MIN_CELL_PIXELS, min(MAX_CELL_PIXELS, MAX_SIDE_PIXELS // max(lengths)))
    shown = " && ".join(f"datum.{p.name} == {p.name}" for p in params)
    return (
        unfold_matrix_cells(alt.Chart(alt.Data(values=rows)).transform_filter(shown), chosen)
        .transform_calculate(query=f"{chosen}.queries[datum.q]", key=f"{chosen}.keys[datum.k]")
        .mark_rect(aria=False)
        .encode(
            x=alt.X("k:O", axis=_make_token_axis("attended to (key)", f"{chosen}.keys", -60)),
            y=alt.Y("q:O", axis=_make_token_axis("attends (query)", f"{chosen}.queries", 0)),
        )
        .add_params(alt.param(name="views", value=dict(views)), *params)
        .properties(width=alt.Step(cell), height=alt.Step(cell))
    )


def unfold_matrix_cells(chart: alt.Chart, shown: str) -> alt.Chart:
    """Take matrices apart in the browser: a row for each cell, with `value`, `q` and `k` (from 0).

    They are "cells" of the data, from `pack_matrix`; all belong to the view that is an expression.
    """
    return (
        chart.transform_calculate(cell="split(datum.cells, ',')")
        .transform_calculate(place="sequence(length(datum.cell))")
        .transform_flatten(["cell", "place"])
        .transform_calculate(
            value=f"toNumber(datum.cell) / {STORED_INTEGERS_PER_UNIT}",
            q=f"floor(datum.place / length({shown}.keys))",
            k=f"datum.place % length({shown}.keys)",
        )
    )


def _make_token_axis(title: str, tokens: str, angle: int) -> alt.Axis:
    """Label the places, which are all different, with the tokens, which may repeat."""
    return alt.Axis(
        title=title,
        labelExpr=f"{tokens}[datum.value]",
        labelAngle=angle,
        labelFontSize=LABEL_FONT_POINTS,
        labelOverlap=False,
        ticks=False,
        domain=False,
    )
