"""What a layer costs: two ways to read a sentence, and Table 1 over its length (§4)."""

from collections.abc import Sequence

import altair as alt
from matplotlib.axes import Axes

from lessonkit.charts.controls import (
    chart_with_computed_row,
    chart_with_sequence_rows,
    colour_scale,
    explorer_of_overlaid_charts,
    make_drop_down,
    make_quantity_channel,
    make_slider,
)
from lessonkit.charts.labels import (
    GAP_BETWEEN_LABELS_POINTS,
    axes_points,
    label_width_points,
    places_of_labels_that_fit,
    shorten_label,
)
from lessonkit.charts.style import (
    FOURTH_LINE_COLOUR,
    INK_COLOUR,
    OURS_COLOUR,
    PAPER_COLOUR,
    SOURCE_COLOUR,
    TARGET_COLOUR,
)
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

MAX_LOG2_LENGTH = 12  # lengths are powers of 2, up to this one
WIDTH_CHOICES = (32, 64, 128, 256, 512, 1024)  # a list, since a slider of powers has no labels

# Table 1 in the language of Vega: the operations, those that wait for each other, the path.
COST_QUANTITIES = ("operations", "sequential", "path")
COST_EXPRS_BY_LAYER = {
    "self-attention": ("datum.n * datum.n * d", "1", "1"),
    "recurrent": ("datum.n * d * d", "datum.n", "datum.n"),
    "convolution": ("kernel * datum.n * d * d", "1", "log(datum.n) / log(kernel)"),
    "restricted self-attention": (
        "min(neighbours, datum.n) * datum.n * d",
        "1",
        "datum.n / neighbours",
    ),
}
CHOSEN_QUANTITY_EXPR_TEMPLATE = "quantity == 'operations' ? {} : quantity == 'sequential' ? {} : {}"
TITLE_EXPR = CHOSEN_QUANTITY_EXPR_TEMPLATE.format(
    "'Self-attention takes fewer operations than the recurrent layer while n is under ' + d",
    "'Only the recurrent layer has to wait'",
    "'Only self-attention reaches everything in one step'",
)


MAX_WORDS_WITH_PATHS = 30
WORD_FONT_POINTS = 10  # font size


@check_argument_types
def draw_recurrence(tokens: Sequence[str], ax: Axes) -> Axes:
    """Draw what a recurrent layer computes from what, and the path from first word to last (§4).

    One word alone has no path, and more than `MAX_WORDS_WITH_PATHS` no room: a UserError.
    """
    _draw_word_and_output_nodes(tokens, ax)
    last = len(tokens) - 1
    for place in range(len(tokens)):
        _draw_arrow(ax, (place, 0), (place, 1), TARGET_COLOUR if place == 0 else PAPER_COLOUR)
        if place < last:
            _draw_arrow(ax, (place, 1), (place + 1, 1), TARGET_COLOUR)
    ax.set_title(f"recurrent: {len(tokens)} steps, one after another", fontsize=10)
    return ax


@check_argument_types
def draw_attention_paths(tokens: Sequence[str], ax: Axes) -> Axes:
    """Draw what a self-attention layer computes from what, and the same path in it (§4)."""
    _draw_word_and_output_nodes(tokens, ax)
    path = (0, len(tokens) - 1)
    for word in range(len(tokens)):
        for output in range(len(tokens)):
            if (word, output) != path:
                _draw_arrow(ax, (word, 0), (output, 1), PAPER_COLOUR)
    # The path lies on top.
    _draw_arrow(ax, (0, 0), (len(tokens) - 1, 1), OURS_COLOUR)
    ax.set_title("self-attention: one step, all outputs at once", fontsize=10)
    return ax


def _draw_word_and_output_nodes(tokens: Sequence[str], ax: Axes) -> None:
    """Draw the words below and a dot for each output above them."""
    if len(tokens) < 2:
        raise UserError(f"{len(tokens)} words have no path between them: give two or more")
    if len(tokens) > MAX_WORDS_WITH_PATHS:
        raise UserError(
            f"{len(tokens)} words have {len(tokens) ** 2:,} lines between them: give "
            f"{MAX_WORDS_WITH_PATHS} words at most"
        )
    labels = [shorten_label(token) for token in tokens]
    word_points = axes_points(ax)[0] / (len(tokens) + 0.9)
    centres = [place * word_points for place in range(len(tokens))]
    for place in places_of_labels_that_fit(centres, labels, WORD_FONT_POINTS):
        look = {"ha": "center", "va": "top", "fontsize": WORD_FONT_POINTS}
        ax.text(place, -0.04, labels[place], look, color=INK_COLOUR, parse_math=False)
    for place in range(len(tokens)):
        ax.plot([place, place], [0, 1], "o", color=INK_COLOUR, markersize=5, zorder=3)
    first_word = label_width_points(labels[0], WORD_FONT_POINTS) / 2 + GAP_BETWEEN_LABELS_POINTS
    left = -max(0.35, first_word / word_points)
    ax.text(left, 1, "outputs", ha="right", va="center", color=INK_COLOUR, fontsize=9)
    ax.text(left, 0, "words", ha="right", va="center", color=INK_COLOUR, fontsize=9)
    ax.set(xlim=(-1.3, len(tokens) - 0.4), ylim=(-0.22, 1.12))
    ax.set_axis_off()


def _draw_arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    """Draw an arrow from node to node that leaves both in sight."""
    ax.annotate(
        "",
        end,
        start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": color,
            "shrinkA": 5,
            "shrinkB": 5,
            "linewidth": 0.7 if color == PAPER_COLOUR else 2.0,
        },
    )


@check_argument_types
def layer_costs_explorer(d: int = 512) -> alt.LayerChart:
    """Draw what each layer of Table 1 costs over the length n, with a control for the rest (§4).

    Both axes are logarithmic: a straight line is a power of n. A cost below 1 (a path in a sequence
    shorter than the layer's reach) is drawn as 1. The width of the vectors is d to begin with, one
    of `WIDTH_CHOICES`.
    """
    controls = [
        make_drop_down("d", d, WIDTH_CHOICES),
        make_slider("kernel", 3, 2, 9),
        make_slider("neighbours", 16, 4, 64, 4),
        make_drop_down("quantity", "operations", COST_QUANTITIES),
    ]
    cases = " : ".join(
        f"datum.layer == '{row}' ? ({CHOSEN_QUANTITY_EXPR_TEMPLATE.format(*costs)})"
        for row, costs in COST_EXPRS_BY_LAYER.items()
    )
    scale = colour_scale(
        COST_EXPRS_BY_LAYER, (OURS_COLOUR, TARGET_COLOUR, SOURCE_COLOUR, FOURTH_LINE_COLOUR)
    )
    x = make_quantity_channel(alt.X, "n", "length n (tokens)", {"type": "log", "base": 2})
    cost = "operations, steps, or path length"
    y = make_quantity_channel(alt.Y, "cost", cost, {"type": "log"}, format="~s", tickCount=8)
    lines = (
        chart_with_sequence_rows(
            "power", str(MAX_LOG2_LENGTH + 1), [{"layer": row} for row in COST_EXPRS_BY_LAYER]
        )
        .transform_calculate(n="pow(2, datum.power)", cost=f"max(1, {cases} : 0)")
        .mark_line(strokeWidth=2.5, aria=False)
        .encode(
            x, y, alt.Color("layer:N", scale=scale, sort=list(COST_EXPRS_BY_LAYER)).legend(title="")
        )
    )
    # Where self-attention and the recurrent layer take as many operations.
    shown = alt.value(alt.ExprRef("quantity == 'operations' ? 1 : 0"))
    crossing = chart_with_computed_row(n="d").mark_rule(color=PAPER_COLOUR, strokeDash=[4, 3])
    description = (
        "Line chart of what a layer costs over the length n of the sequence, 1 to "
        f"{2**MAX_LOG2_LENGTH:,}, both axes logarithmic: "
        f"{', '.join(COST_EXPRS_BY_LAYER)}. A list chooses "
        "between operations, sequential steps and path length, another the width d; sliders change "
        "the kernel of the convolution and the neighbours of restricted self-attention."
    )
    layers = [lines, crossing.encode(x="n:Q", opacity=shown)]
    return explorer_of_overlaid_charts(
        "costs", (520, 320), TITLE_EXPR, controls, layers, description
    )
