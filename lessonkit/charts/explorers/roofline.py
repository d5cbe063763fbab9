"""What a machine can do with a product of this size, computed in the browser (not in the paper)."""

import altair as alt

from lessonkit.analysis.machines import MACHINES
from lessonkit.charts.controls import choice, slider
from lessonkit.charts.style import OURS, PAPER
from transformer.support.errors import UserError

WIDTHS = (128, 256, 512, 1024, 2048, 4096)
MOST_TOKENS = 15  # as a power of 2
LEAST, MOST, STEPS = 0.1, 4096, 200  # of the operations per byte, and how many are drawn

NAMES = tuple(each.name for each in MACHINES)


def of_machine(field: str) -> str:
    """Give the expression for a field of the machine that is chosen."""
    cases = [f"machine == '{each.name}' ? {getattr(each, field):g}" for each in MACHINES]
    return "(" + " : ".join([*cases, "0)"])


FLOPS, BANDWIDTH = of_machine("flops"), of_machine("bandwidth")
TOKENS = "pow(2, log2_tokens)"
INTENSITY = (
    f"(2 * {TOKENS} * matrix_width * matrix_width / ({of_machine('number_bytes')}"
    f" * (2 * {TOKENS} * matrix_width + matrix_width * matrix_width)))"
)


def roofline_explorer(
    matrix_width: int = 512, log2_tokens: int = 12, machine: str = NAMES[0]
) -> alt.LayerChart:
    """Draw a machine's roofline and the product of so many tokens with a square matrix.

    Args:
        matrix_width: Rows and columns of the matrix, one of `WIDTHS`, to begin with. (A
            parameter called `width` would be the chart's own.)
        log2_tokens: Vectors multiplied together, as a power of 2, to begin with.
        machine: Name of one of `machines.MACHINES`, to begin with.

    Raises:
        UserError: a value is none of these.
    """
    for name, value, known in (
        ("matrix_width", matrix_width, WIDTHS),
        ("machine", machine, NAMES),
    ):
        if value not in known:
            raise UserError(f"{name} is {value}: give one of {', '.join(map(str, known))}")
    controls = [
        slider("log2_tokens", log2_tokens, 0, MOST_TOKENS),
        choice("matrix_width", matrix_width, WIDTHS),
        choice("machine", machine, NAMES),
    ]
    title = (
        f"format({TOKENS}, ',') + ' tokens: ' + format({INTENSITY}, '.1f') + ' operations a byte, "
        f"at most ' + format(100 * {_attainable(INTENSITY)} / {FLOPS}, '.0f') + '% of its peak'"
    )
    return alt.LayerChart(layer=[_roof().add_params(*controls), _product()]).properties(
        name="roofline",
        width=480,
        height=280,
        title=alt.Title(text=alt.ExprRef(title), anchor="start"),
        description="A roofline: the most operations per second that a machine can do, over "
        "operations per byte, both axes logarithmic. It rises with the memory's bandwidth, then "
        f"is flat at the peak. A dot is a product of {2**log2_tokens:,} tokens with a matrix of "
        f"width {matrix_width:,} on {machine}. Controls change tokens, width and machine "
        f"({', '.join(NAMES)}).",
    )


def _attainable(operations_per_byte: str) -> str:
    return f"min({FLOPS}, {BANDWIDTH} * {operations_per_byte})"


def _encoded(chart: alt.Chart) -> alt.Chart:
    return chart.encode(
        x=alt.X(
            "intensity:Q",
            title="operations per byte",
            scale=alt.Scale(type="log", domain=[LEAST, MOST]),
            axis=alt.Axis(format="~g", values=[10**power for power in range(-1, 4)]),
        ),
        y=alt.Y(
            "rate:Q",
            title="operations per second",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format="~s", values=[10**power for power in range(9, 16)]),
        ),
    )


def _roof() -> alt.Chart:
    chart = (
        alt.Chart(alt.Data(values=[{"place": 0}]))
        .transform_calculate(place=f"sequence({STEPS + 1})")
        .transform_flatten(["place"])
        .transform_calculate(
            intensity=f"{LEAST} * pow({MOST / LEAST:g}, datum.place / {STEPS})",
        )
        .transform_calculate(rate=_attainable("datum.intensity"))
    )
    return _encoded(chart.mark_line(color=PAPER, strokeWidth=2.5, aria=False))


def _product() -> alt.Chart:
    chart = (
        alt.Chart(alt.Data(values=[{"place": 0}]))
        .transform_calculate(intensity=INTENSITY)
        .transform_calculate(rate=_attainable("datum.intensity"))
    )
    return _encoded(chart.mark_point(color=OURS, filled=True, size=160, opacity=1, aria=False))
