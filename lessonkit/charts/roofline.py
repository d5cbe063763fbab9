"""What a machine can do at most, as the browser computes it. Not in the paper."""

import altair as alt

from lessonkit.analysis.roofline import MACHINES
from lessonkit.charts.controls import axis, choice, layered, one_row, slider, unfold
from lessonkit.charts.style import OURS, PAPER

WIDTHS = (128, 256, 512, 1024, 2048, 4096)
MIN_INTENSITY, MAX_INTENSITY = 0.1, 4096  # operations per byte
STEPS = 200  # of them from the lowest to the highest
MACHINE_NAMES = tuple(machine.name for machine in MACHINES)


def chosen_value(control: str, values: dict[str, str]) -> str:
    """Return the Vega expression for the value that belongs to what a control has chosen."""
    cases = [f"{control} == '{name}' ? {value}" for name, value in values.items()]
    return "(" + " : ".join([*cases, "0)"])


def machine_value(field: str) -> str:
    """Return the Vega expression for a field of the machine that is chosen."""
    values = {machine.name: f"{getattr(machine, field):g}" for machine in MACHINES}
    return chosen_value("machine", values)


FLOPS, BANDWIDTH = machine_value("flops"), machine_value("bandwidth")
TOKENS = "pow(2, log2_tokens)"
INTENSITY = (
    f"(2 * {TOKENS} * matrix_width * matrix_width / ({machine_value('number_bytes')}"
    f" * (2 * {TOKENS} * matrix_width + matrix_width * matrix_width)))"
)
ATTAINABLE = f"min({FLOPS}, {BANDWIDTH} * {{}})"


def roofline_explorer(matrix_width: int = 512, log2_tokens: int = 12) -> alt.LayerChart:
    """Draw a machine's roofline and the product of so many tokens with a square matrix.

    Not in the paper. The rows and columns of the matrix (one of `WIDTHS`; a parameter called
    `width` would be the chart's own) and the tokens, as a power of 2, are those to begin with.
    """
    controls = [
        slider("log2_tokens", log2_tokens, 0, 15),
        choice("matrix_width", matrix_width, WIDTHS),
        choice("machine", MACHINE_NAMES[0], MACHINE_NAMES),
    ]
    bytes_, rates = [10**power for power in range(-1, 4)], [10**power for power in range(9, 16)]
    reach = {"type": "log", "domain": [MIN_INTENSITY, MAX_INTENSITY]}
    ratio = MAX_INTENSITY / MIN_INTENSITY
    x = axis(alt.X, "intensity", "operations per byte", reach, format="~g", values=bytes_)
    y = axis(alt.Y, "rate", "operations per second", {"type": "log"}, format="~s", values=rates)
    roof = (
        unfold("place", str(STEPS + 1))
        .transform_calculate(intensity=f"{MIN_INTENSITY} * pow({ratio:g}, datum.place / {STEPS})")
        .transform_calculate(rate=ATTAINABLE.format("datum.intensity"))
        .mark_line(color=PAPER, strokeWidth=2.5, aria=False)
    )
    product = one_row(intensity=INTENSITY, rate=ATTAINABLE.format("datum.intensity"))
    dot = product.mark_point(color=OURS, filled=True, size=160, opacity=1, aria=False)
    title = (
        f"format({TOKENS}, ',') + ' tokens: ' + format({INTENSITY}, '.1f') + ' operations a byte, "
        f"at most ' + format(100 * {ATTAINABLE.format(INTENSITY)} / {FLOPS}, '.0f')"
        " + '% of its peak'"
    )
    description = (
        "A roofline: the most operations per second that a machine can do, over operations per "
        "byte, both axes logarithmic. It rises with the memory's bandwidth, then is flat at the "
        f"peak. A dot is a product of {2**log2_tokens:,} tokens with a matrix of width "
        f"{matrix_width:,} on {MACHINE_NAMES[0]}. Controls change tokens, width and machine "
        f"({', '.join(MACHINE_NAMES)})."
    )
    layers = [roof.encode(x, y), dot.encode(x, y)]
    return layered("roofline", (480, 280), title, controls, layers, description)
