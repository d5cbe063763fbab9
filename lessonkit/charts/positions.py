"""Positional encodings: waves, rotating pairs, similarities, and an explorer of all (§3.5)."""

import math
from collections.abc import Sequence

import altair as alt
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from torch import Tensor

from lessonkit.charts.controls import (
    chart_with_computed_row,
    chart_with_sequence_rows,
    make_drop_down,
    make_live_title,
    make_quantity_channel,
    make_slider,
)
from lessonkit.charts.style import (
    FOURTH_LINE_COLOUR,
    INK_COLOUR,
    OURS_COLOUR,
    SOURCE_COLOUR,
    TARGET_COLOUR,
    add_legend,
    check_enough_colours,
    finish_axes,
)
from transformer.support.checks import check_float_tensor
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

NUM_POSITIONS = 100  # positions drawn
# Each divides TABLE_HEIGHT_PIXELS, so that cells fill pixels.
D_MODEL_CHOICES = (4, 8, 16, 32, 64, 128)
BASE_CHOICES = (10, 100, 1000, 10_000, 100_000)
# How far the sliders go: the two together stay in the table.
MAX_CHOSEN_POSITION = 50
MAX_OFFSET = 49
WIDTH_PIXELS, TABLE_HEIGHT_PIXELS, SIMILARITY_HEIGHT_PIXELS = 600, 256, 150  # pixels

# The two equations of §3.5 in the language of Vega, for a place pos and a pair i of dimensions;
# `transformer.positions.sinusoidal_positions` in Python.
ANGLE_EXPR_TEMPLATE = "{pos} / pow(base, 2 * datum.i / d_model)"
MARKED_POSITIONS_TEXT_EXPR = (
    "'position ' + position + ' (solid), position ' + (position + offset) + ' (dashed)'"
)
TITLE_EXPR = f"'Sinusoidal positions, d_model ' + d_model + ': ' + {MARKED_POSITIONS_TEXT_EXPR}"
# Each position that is marked, and how its line is dashed.
MARKED_POSITION_EXPRS_AND_DASHES = (("position", [1, 0]), ("position + offset", [5, 4]))


@check_argument_types
def draw_waves(table: Tensor, dimensions: Sequence[int], ax: Axes, title: str = "") -> Axes:
    """Draw some columns of the table, (length, d_model), as curves over the positions (§3.5)."""
    check_float_tensor("table", table, (None, None))
    for rank, dimension in enumerate(dimensions):
        _check_table_index("dimension", dimension, table.shape[1])
        colour = colormaps["viridis"](0.3 + 0.5 * rank / max(1, len(dimensions) - 1))
        values = table[:, dimension].detach().cpu().numpy()
        ax.plot(values, color=colour, label=f"dimension {dimension}")
    finish_axes(ax, title, "position (tokens)", "value (no unit)", size=12)
    add_legend(ax, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return ax


@check_argument_types
def draw_rotation(
    table: Tensor, pair: int, starts: Sequence[int], k: int, ax: Axes, title: str = ""
) -> Axes:
    """Draw a sine and its cosine as the hand of a clock, before and after a move by k (§3.5).

    The cosine points to the right, the sine upwards. A dotted hand is where a move begins, a full
    one where it ends, and the arc between them runs over the positions on the way.

    Args:
        table: (length, d_model), with the paper's waves.
        pair: Which one, i of the paper, from 0.
        starts: Positions where a move begins, one or two.
        k: By how many positions (tokens), 0 or more.
    """
    check_float_tensor("table", table, (None, None))
    length, d_model = table.shape
    _check_table_index("pair", pair, d_model // 2)
    check_enough_colours("moves", starts, 2)
    speed = 10_000 ** (-2 * pair / d_model)  # radians per token
    for start, colour, radius in zip(
        starts, (SOURCE_COLOUR, TARGET_COLOUR), (0.6, 0.4), strict=False
    ):
        _check_table_index("position", start, length)
        _check_table_index("position", start + k, length)
        for position, style in ((start, ":"), (start + k, "-")):
            sine, cosine = table[position, 2 * pair : 2 * pair + 2].tolist()
            ax.plot([0, cosine], [0, sine], style, color=colour, linewidth=2)
        angle = speed * np.linspace(start, start + k, max(2, math.ceil(10 * speed * k)))
        ax.plot(radius * np.cos(angle), radius * np.sin(angle), color=colour)
    ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
    ax.set_title(title, fontsize=10, parse_math=False)
    ax.set_xlabel("cosine (no unit)", fontsize=9)
    ax.set_ylabel("sine (no unit)", fontsize=9)
    return ax


@check_argument_types
def draw_similarity_by_distance(table: Tensor, position: int, ax: Axes, title: str = "") -> Axes:
    """Draw the dot product of one position's vector with every other's, over the distance (§3.5).

    Curves of several positions of a table, (length, d_model), may share the axes.
    """
    check_float_tensor("table", table, (None, None))
    length = len(table)
    _check_table_index("position", position, length)
    products = (table @ table[position]).detach().cpu().numpy()
    distances = [other - position for other in range(length)]
    colour = (SOURCE_COLOUR, TARGET_COLOUR, OURS_COLOUR, FOURTH_LINE_COLOUR)[len(ax.lines) % 4]
    ax.plot(distances, products, color=colour, label=f"from position {position}")
    finish_axes(ax, title, "distance (tokens)", "dot product (no unit)", size=12)
    add_legend(ax, frameon=False)
    return ax


def _check_table_index(name: str, number: int, count: int) -> None:
    if not 0 <= number < count:
        raise UserError(f"{name} {number} is not in the table: give 0 to {count - 1}")


def position_explorer() -> alt.VConcatChart:
    """Draw the table of positions, and how alike one position is to every other (§3.5).

    The browser computes both, so they move without a kernel. Two positions are marked, the
    chosen one and the one `offset` further on, k in the paper. Below, the dot products of the
    chosen position are shares of the largest, which is d_model / 2; the marked one is written out.
    """
    controls = [
        make_slider("position", 20, 0, MAX_CHOSEN_POSITION),
        make_slider("offset", 5, 0, MAX_OFFSET),
        make_drop_down("d_model", 64, D_MODEL_CHOICES),
        make_drop_down("base", 10_000, BASE_CHOICES),
    ]
    marks = [
        chart_with_computed_row(pos=place)
        .mark_rule(color=INK_COLOUR, strokeDash=dash, aria=False)
        .encode(x=_make_position_x("pos"))
        for place, dash in MARKED_POSITION_EXPRS_AND_DASHES
    ]
    curve = _chart_of_similarities().mark_line(color=OURS_COLOUR, strokeWidth=2.5, aria=False)
    second = _chart_of_similarities().transform_filter("datum.pos == position + offset")
    dot = second.mark_point(color=OURS_COLOUR, filled=True, size=90, opacity=1, aria=False)
    table = alt.LayerChart(layer=[_draw_table_cells().add_params(*controls), *marks])
    below = alt.LayerChart(layer=[curve, *marks, dot, _draw_dot_product(second)])
    return alt.VConcatChart(
        vconcat=[
            table.properties(name="table", width=WIDTH_PIXELS, height=TABLE_HEIGHT_PIXELS),
            below.properties(
                name="similarity", width=WIDTH_PIXELS, height=SIMILARITY_HEIGHT_PIXELS
            ),
        ]
    ).properties(
        name="positions",
        title=make_live_title(TITLE_EXPR),
        description=f"Two charts over the positions 0 to {NUM_POSITIONS - 1}. Above, the table of "
        "sinusoidal positions of width 64 and base 10,000: each dimension is a wave from -1 (blue) "
        "to 1 (red), fast ones on top. Below, the dot product of position 20 with each position, "
        "as a share of the largest: 1 at 20 itself, and marked at 25. Controls change position, "
        "offset, d_model and base.",
    )


def _make_position_x(field: str) -> alt.X:
    return make_quantity_channel(
        alt.X, field, "position (tokens)", {"domain": [-0.5, NUM_POSITIONS - 0.5], "nice": False}
    )


def _unfold_position_grid(across: str, count: str) -> alt.Chart:
    """Make a row for each position and each of `count` numbers, called by `across`."""
    return (
        chart_with_sequence_rows("place", f"{NUM_POSITIONS} * {count}")
        .transform_calculate(pos=f"datum.place % {NUM_POSITIONS}")
        .transform_calculate(**{across: f"floor(datum.place / {NUM_POSITIONS})"})
    )


def _draw_table_cells() -> alt.Chart:
    angle = ANGLE_EXPR_TEMPLATE.format(pos="datum.pos")
    colors = alt.Scale(scheme="redblue", reverse=True, domain=[-1, 1])
    reach = {"reverse": True, "nice": False}
    return (
        _unfold_position_grid("dimension", "d_model")
        .transform_calculate(i="floor(datum.dimension / 2)")
        .transform_calculate(value=f"datum.dimension % 2 ? cos({angle}) : sin({angle})")
        .transform_calculate(left="datum.pos - 0.5", right="datum.pos + 0.5")
        .transform_calculate(top="datum.dimension - 0.5", bottom="datum.dimension + 0.5")
        .mark_rect(aria=False)
        .encode(
            x=_make_position_x("left"),
            x2="right:Q",
            y=make_quantity_channel(alt.Y, "top", "dimension", reach, tickMinStep=1, format="d"),
            y2="bottom:Q",
            color=alt.Color("value:Q", scale=colors, legend=alt.Legend(title="value (no unit)")),
        )
    )


def _chart_of_similarities() -> alt.Chart:
    """Compute the dot product of the chosen position's encoding with that of each position."""
    other, chosen = (
        ANGLE_EXPR_TEMPLATE.format(pos="datum.pos"),
        ANGLE_EXPR_TEMPLATE.format(pos="position"),
    )
    reach = {"domain": [-1.05, 1.1], "nice": False}
    return (
        _unfold_position_grid("i", "d_model / 2")
        .transform_calculate(term=f"sin({chosen}) * sin({other}) + cos({chosen}) * cos({other})")
        .transform_aggregate(product="sum(term)", groupby=["pos"])
        .transform_calculate(share="2 * datum.product / d_model")
        .encode(
            _make_position_x("pos"),
            make_quantity_channel(alt.Y, "share", "dot product (share of largest)", reach),
        )
    )


def _draw_dot_product(marked: alt.Chart) -> alt.Chart:
    """Write the marked dot product above its chart, as the heading."""
    two = "'PE(' + position + ') · PE(' + (position + offset) + ') = '"
    words = f"{two} + format(datum.product, '.2f') + ', of ' + d_model / 2 + ' at most'"
    return (
        marked.transform_calculate(words=words)
        .mark_text(align="left", fontSize=12, aria=False)
        .encode(text="words:N", x=alt.value(0), y=alt.value(-10))
    )
