"""What a machine can do at most, as the browser computes it. Not in the paper."""

import altair as alt

from lessonkit.analysis.roofline import MACHINES
from lessonkit.charts.controls import (
    chart_with_computed_row,
    chart_with_sequence_rows,
    explorer_of_overlaid_charts,
    make_drop_down,
    make_quantity_channel,
    make_slider,
)
from lessonkit.charts.style import OURS_COLOUR, PAPER_COLOUR
from transformer.support.signatures import check_argument_types

MATRIX_WIDTH_CHOICES = (128, 256, 512, 1024, 2048, 4096)
MIN_INTENSITY, MAX_INTENSITY = 0.1, 4096  # operations per byte
NUM_INTENSITY_STEPS = 200  # of them from the lowest to the highest
MACHINE_NAMES = tuple(machine.name for machine in MACHINES)


def chosen_value_expr(control: str, values: dict[str, str]) -> str:
    """Return the Vega expression for the value that belongs to what a control has chosen."""
    cases = [f"{control} == '{name}' ? {value}" for name, value in values.items()]
    return "(" + " : ".join([*cases, "0)"])


def machine_value_expr(field: str) -> str:
    """Return the Vega expression for a field of the machine that is chosen."""
    values = {machine.name: f"{getattr(machine, field):g}" for machine in MACHINES}
    return chosen_value_expr("machine", values)


FLOPS_EXPR, BANDWIDTH_EXPR = machine_value_expr("flops"), machine_value_expr("bandwidth")
NUM_TOKENS_EXPR = "pow(2, log2_tokens)"
INTENSITY_EXPR = (
    f"(2 * {NUM_TOKENS_EXPR} * matrix_width * matrix_width / ({machine_value_expr('number_bytes')}"
    f" * (2 * {NUM_TOKENS_EXPR} * matrix_width + matrix_width * matrix_width)))"
)
ATTAINABLE_FLOPS_EXPR_TEMPLATE = f"min({FLOPS_EXPR}, {BANDWIDTH_EXPR} * {{}})"


@check_argument_types
def roofline_explorer(matrix_width: int = 512, log2_tokens: int = 12) -> alt.LayerChart:
    """Draw a machine's roofline and the product of so many tokens with a square matrix.

    Not in the paper. The rows and columns of the matrix (one of `MATRIX_WIDTH_CHOICES`; a
    parameter called `width` would be the chart's own) and the tokens, as a power of 2, are those to
    begin with.
    """
    controls = [
        make_slider("log2_tokens", log2_tokens, 0, 15),
        make_drop_down("matrix_width", matrix_width, MATRIX_WIDTH_CHOICES),
        make_drop_down("machine", MACHINE_NAMES[0], MACHINE_NAMES),
    ]
    bytes_, rates = [10**power for power in range(-1, 4)], [10**power for power in range(9, 16)]
    reach = {"type": "log", "domain": [MIN_INTENSITY, MAX_INTENSITY]}
    x = make_quantity_channel(
        alt.X, "intensity", "operations per byte", reach, format="~g", values=bytes_
    )
    y = make_quantity_channel(
        alt.Y, "rate", "operations per second", {"type": "log"}, format="~s", values=rates
    )
    product = chart_with_computed_row(
        intensity=INTENSITY_EXPR, rate=ATTAINABLE_FLOPS_EXPR_TEMPLATE.format("datum.intensity")
    )
    dot = product.mark_point(color=OURS_COLOUR, filled=True, size=160, opacity=1, aria=False)
    title = (
        f"format({NUM_TOKENS_EXPR}, ',') + ' tokens: ' + format({INTENSITY_EXPR}, '.1f') "
        "+ ' operations a byte, "
        f"at most ' + format(100 * {ATTAINABLE_FLOPS_EXPR_TEMPLATE.format(INTENSITY_EXPR)} / "
        f"{FLOPS_EXPR}, '.0f')"
        " + '% of its peak'"
    )
    description = (
        "A roofline: the most operations per second that a machine can do, over operations per "
        "byte, both axes logarithmic. It rises with the memory's bandwidth, then is flat at the "
        f"peak. A dot is a product of {2**log2_tokens:,} tokens with a matrix of width "
        f"{matrix_width:,} on {MACHINE_NAMES[0]}. Controls change tokens, width and machine "
        f"({', '.join(MACHINE_NAMES)})."
    )
    layers = [_draw_roof().encode(x, y), dot.encode(x, y)]
    return explorer_of_overlaid_charts("roofline", (480, 280), title, controls, layers, description)


def _draw_roof() -> alt.Chart:
    """Draw the line of what a machine can do at most; its axes are not encoded yet."""
    ratio = MAX_INTENSITY / MIN_INTENSITY
    return (
        chart_with_sequence_rows("place", str(NUM_INTENSITY_STEPS + 1))
        .transform_calculate(
            intensity=f"{MIN_INTENSITY} * pow({ratio:g}, datum.place / {NUM_INTENSITY_STEPS})"
        )
        .transform_calculate(rate=ATTAINABLE_FLOPS_EXPR_TEMPLATE.format("datum.intensity"))
        .mark_line(color=PAPER_COLOUR, strokeWidth=2.5, aria=False)
    )
