"""The cost of a layer over the length of its sequence, computed in the browser (§4, Table 1)."""

import altair as alt

from lessonkit.analysis.costs import Cost
from lessonkit.charts.controls import choice, slider
from lessonkit.charts.style import CROSS, OURS, PAPER, SOURCE, TARGET
from transformer.support.errors import UserError

LONGEST = 12  # of the lengths, as a power of 2
WIDTHS = (32, 64, 128, 256, 512, 1024)  # a list, since a slider of powers has no labels
QUANTITIES = Cost._fields

# Table 1 in the language of Vega; `lessonkit.analysis.costs.table_1` in Python.
COSTS = {
    "self-attention": ("datum.n * datum.n * d", "1", "1"),
    "recurrent": ("datum.n * d * d", "datum.n", "datum.n"),
    "convolution": ("kernel * datum.n * d * d", "1", "log(datum.n) / log(kernel)"),
    "restricted self-attention": (
        "min(neighbours, datum.n) * datum.n * d",
        "1",
        "datum.n / neighbours",
    ),
}
COLORS = (OURS, TARGET, SOURCE, CROSS)
TITLE = (
    "quantity == 'operations' ? 'Self-attention takes fewer operations than the recurrent layer "
    "while n is under ' + d : quantity == 'sequential' ? 'Only the recurrent layer has to wait' : "
    "'Only self-attention reaches everything in one step'"
)


def costs_explorer(d: int = 512) -> alt.LayerChart:
    """Draw what each layer of Table 1 costs over the length n, with a control for the rest.

    Both axes are logarithmic: a straight line is a power of n. Where a cost is below 1 (a
    path in a sequence shorter than the layer's reach) it is drawn as 1.

    Args:
        d: Width of the vectors to begin with, one of `WIDTHS`.

    Raises:
        UserError: the list does not hold d.
    """
    if d not in WIDTHS:
        raise UserError(f"d is {d}: give one of {', '.join(map(str, WIDTHS))}")
    controls = [
        choice("d", d, WIDTHS),
        slider("kernel", 3, 2, 9),
        slider("neighbours", 16, 4, 64, 4),
        choice("quantity", "operations", QUANTITIES),
    ]
    return alt.LayerChart(layer=[_lines().add_params(*controls), _crossing()]).properties(
        name="costs",
        width=520,
        height=320,
        title=alt.Title(text=alt.ExprRef(TITLE), anchor="start"),
        description="Line chart of what a layer costs over the length n of the sequence, 1 to "
        f"{2**LONGEST:,}, both axes logarithmic: {', '.join(COSTS)}. A list chooses between "
        "operations, sequential steps and path length, another the width d; sliders change the "
        "kernel of the convolution and the neighbours of restricted self-attention.",
    )


def _chosen(row: str) -> str:
    """Give the expression of the quantity that is chosen, for one layer."""
    operations, sequential, path = COSTS[row]
    return (
        f"quantity == 'operations' ? {operations} : "
        f"quantity == 'sequential' ? {sequential} : {path}"
    )


def _lines() -> alt.Chart:
    cases = " : ".join(f"datum.layer == '{row}' ? ({_chosen(row)})" for row in COSTS)
    scale = alt.Scale(domain=list(COSTS), range=list(COLORS))
    return (
        alt.Chart(alt.Data(values=[{"layer": row} for row in COSTS]))
        .transform_calculate(power=f"sequence({LONGEST + 1})")
        .transform_flatten(["power"])
        .transform_calculate(n="pow(2, datum.power)")
        .transform_calculate(cost=f"max(1, {cases} : 0)")
        .mark_line(strokeWidth=2.5, aria=False)
        .encode(
            x=alt.X("n:Q", title="length n (tokens)", scale=alt.Scale(type="log", base=2)),
            y=alt.Y(
                "cost:Q",
                title="operations, steps, or path length",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~s", tickCount=8),
            ),
            color=alt.Color("layer:N", scale=scale, sort=list(COSTS), legend=alt.Legend(title="")),
        )
    )


def _crossing() -> alt.Chart:
    """Mark the length at which self-attention and the recurrent layer take as many operations."""
    return (
        alt.Chart(alt.Data(values=[{"place": 0}]))
        .transform_calculate(n="d")
        .mark_rule(color=PAPER, strokeDash=[4, 3])
        .encode(x=alt.X("n:Q"), opacity=alt.value(alt.ExprRef("quantity == 'operations' ? 1 : 0")))
    )
