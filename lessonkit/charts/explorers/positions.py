"""Sinusoidal positions as a chart that the browser computes anew (§3.5)."""

import altair as alt

from lessonkit.charts.controls import choice, slider
from lessonkit.charts.style import OURS
from transformer.support.errors import UserError

LENGTH = 100  # positions drawn
WIDTHS = (4, 8, 16, 32, 64, 128)  # of the encoding; each divides HEIGHT, so cells fill pixels
BASES = (10, 100, 1000, 10_000, 100_000)
LAST = 50  # position that the slider reaches; with the largest offset it stays in the table
OFFSETS = 49
WIDTH, HEIGHT, LOWER = 600, 256, 150  # pixels

# The two equations of §3.5 in the language of Vega, for a place pos and a pair i of dimensions;
# `transformer.embeddings.sinusoidal_positions` in Python.
ANGLE = "{pos} / pow(base, 2 * datum.i / d_model)"
MARKED = "'position ' + position + ' (solid), position ' + (position + offset) + ' (dashed)'"
TITLE = f"'Sinusoidal positions, d_model ' + d_model + ': ' + {MARKED}"
DASHED = [5, 4]  # pixels


def position_explorer(
    position: int = 20, offset: int = 5, d_model: int = 64, base: int = 10_000
) -> alt.VConcatChart:
    """Draw the table of positions, and how alike one position is to every other (§3.5).

    The browser computes both, so they move without a kernel. Two positions are marked, the
    chosen one and the one `offset` further on. Below, the dot products of the chosen position
    are shares of the largest, which is d_model / 2; the marked one is written out.

    Args:
        position: Chosen to begin with, from 0 (tokens).
        offset: From it to the second one, k in the paper (tokens).
        d_model: Width of the encoding, one of `WIDTHS`.
        base: 10,000 in the paper, one of `BASES`.

    Raises:
        UserError: a value is not among the control's.
    """
    for name, number, known in (("d_model", d_model, WIDTHS), ("base", base, BASES)):
        if number not in known:
            raise UserError(f"{name} is {number}: give one of {known}")
    controls = [
        slider("position", position, 0, LAST),
        slider("offset", offset, 0, OFFSETS),
        choice("d_model", d_model, WIDTHS),
        choice("base", base, BASES),
    ]
    table = alt.LayerChart(layer=[_cells().add_params(*controls), *_marks()])
    curve = alt.LayerChart(layer=[_curve(), *_marks(), _dot(), _number()])
    return alt.VConcatChart(
        vconcat=[
            table.properties(name="table", width=WIDTH, height=HEIGHT),
            curve.properties(name="similarity", width=WIDTH, height=LOWER),
        ]
    ).properties(
        name="positions",
        title=alt.Title(text=alt.ExprRef(TITLE), anchor="start"),
        description=(
            f"Two charts over the positions 0 to {LENGTH - 1}. Above, the table of sinusoidal "
            f"positions of width {d_model} and base {base:,}: each dimension is a wave from -1 "
            "(blue) to 1 (red), fast ones on top. Below, the dot product of position "
            f"{position} with each position, as a share of the largest: 1 at {position} itself, "
            f"and marked at {position + offset}. Controls change position, offset, d_model and "
            "base."
        ),
    )


def _x(field: str, title: str) -> alt.X:
    scale = alt.Scale(domain=[-0.5, LENGTH - 0.5], nice=False)
    return alt.X(field, type="quantitative", title=title, scale=scale)


def _unfolded(across: str, count: str) -> alt.Chart:
    """Make a row for each position and each of `count` numbers, called by `across`."""
    return (
        alt.Chart(alt.Data(values=[{"place": 0}]))
        .transform_calculate(place=f"sequence({LENGTH} * {count})")
        .transform_flatten(["place"])
        .transform_calculate(pos=f"datum.place % {LENGTH}")
        .transform_calculate(**{across: f"floor(datum.place / {LENGTH})"})
    )


def _cells() -> alt.Chart:
    angle = ANGLE.format(pos="datum.pos")
    colors = alt.Scale(scheme="redblue", reverse=True, domain=[-1, 1])
    return (
        _unfolded("dimension", "d_model")
        .transform_calculate(i="floor(datum.dimension / 2)")
        .transform_calculate(value=f"datum.dimension % 2 ? cos({angle}) : sin({angle})")
        .transform_calculate(left="datum.pos - 0.5", right="datum.pos + 0.5")
        .transform_calculate(top="datum.dimension - 0.5", bottom="datum.dimension + 0.5")
        .mark_rect(aria=False)
        .encode(
            x=_x("left", "position (tokens)"),
            x2="right:Q",
            y=alt.Y(
                "top:Q",
                title="dimension",
                scale=alt.Scale(reverse=True, nice=False),
                axis=alt.Axis(tickMinStep=1, format="d"),
            ),
            y2="bottom:Q",
            color=alt.Color("value:Q", scale=colors, legend=alt.Legend(title="value (no unit)")),
        )
    )


def _similarities() -> alt.Chart:
    """Give the dot product of the chosen position's encoding with that of each position."""
    other, chosen = ANGLE.format(pos="datum.pos"), ANGLE.format(pos="position")
    return (
        _unfolded("i", "d_model / 2")
        .transform_calculate(
            term=f"sin({chosen}) * sin({other}) + cos({chosen}) * cos({other})",
        )
        .transform_aggregate(product="sum(term)", groupby=["pos"])
        .transform_calculate(share="2 * datum.product / d_model")
        .encode(
            x=_x("pos", "position (tokens)"),
            y=alt.Y(
                "share:Q",
                title="dot product (share of largest)",
                scale=alt.Scale(domain=[-1.05, 1.1], nice=False),
            ),
        )
    )


def _curve() -> alt.Chart:
    return _similarities().mark_line(color=OURS, strokeWidth=2.5, aria=False)


def _second() -> alt.Chart:
    return _similarities().transform_filter("datum.pos == position + offset")


def _dot() -> alt.Chart:
    return _second().mark_point(color=OURS, filled=True, size=90, opacity=1, aria=False)


def _number() -> alt.Chart:
    """Write the marked dot product above the lower chart, as its heading."""
    two = "'PE(' + position + ') · PE(' + (position + offset) + ') = '"
    words = f"{two} + format(datum.product, '.2f') + ', of ' + d_model / 2 + ' at most'"
    return (
        _second()
        .transform_calculate(words=words)
        .mark_text(align="left", fontSize=12, aria=False)
        .encode(text="words:N", x=alt.value(0), y=alt.value(-10))
    )


def _marks() -> list[alt.Chart]:
    """Draw a line at each of the two marked positions, the second one dashed."""
    places = (("position", [1, 0]), ("position + offset", DASHED))
    return [
        alt.Chart(alt.Data(values=[{"place": 0}]))
        .transform_calculate(pos=place)
        .mark_rule(color="black", strokeDash=dash, aria=False)
        .encode(x=_x("pos", "position (tokens)"))
        for place, dash in places
    ]
