"""What a machine can do at most, and a step shared by several, as the browser computes them.

The roofline is not in the paper; sharing a step is §5.2.
"""

from typing import NamedTuple

import altair as alt

from lessonkit.analysis.roofline import FLOAT32, MACHINES
from lessonkit.charts.controls import Rows, axis, choice, colours, layered, one_row, slider, unfold
from lessonkit.charts.style import OURS, PAPER, TARGET

WIDTHS = (128, 256, 512, 1024, 2048, 4096)
MIN_INTENSITY, MAX_INTENSITY, STEPS = (
    0.1,
    4096,
    200,
)  # of the operations per byte, and how many are drawn
MAX_LOG2_GPUS = 8  # as a power of 2
MILLISECONDS = (0.03, 300_000)  # of a step: wide enough for all that the controls hold
TOKENS_A_STEP = (25_000, 100_000, 400_000)  # on either side; the paper's first
NAMES = tuple(each.name for each in MACHINES)


def _either(control: str, values: dict[str, str]) -> str:
    """Give the expression for the value that belongs to what a control has chosen."""
    cases = [f"{control} == '{name}' ? {value}" for name, value in values.items()]
    return "(" + " : ".join([*cases, "0)"])


def _of_machine(field: str) -> str:
    return _either("machine", {each.name: f"{getattr(each, field):g}" for each in MACHINES})


FLOPS, BANDWIDTH = _of_machine("flops"), _of_machine("bandwidth")
TOKENS = "pow(2, log2_tokens)"
GPUS = "pow(2, log2_gpus)"
INTENSITY = (
    f"(2 * {TOKENS} * matrix_width * matrix_width / ({_of_machine('number_bytes')}"
    f" * (2 * {TOKENS} * matrix_width + matrix_width * matrix_width)))"
)
ATTAINABLE = f"min({FLOPS}, {BANDWIDTH} * {{}})"


class Shared(NamedTuple):
    """A model whose step is shared."""

    parameters: int  # each has a gradient that is exchanged
    flops: int  # operations of a step with `TOKENS_A_STEP[0]` tokens on either side


def roofline_explorer(matrix_width: int = 512, log2_tokens: int = 12) -> alt.LayerChart:
    """Draw a machine's roofline and the product of so many tokens with a square matrix.

    Not in the paper. The rows and columns of the matrix (one of `WIDTHS`; a parameter called
    `width` would be the chart's own) and the tokens, as a power of 2, are those to begin with.
    """
    controls = [
        slider("log2_tokens", log2_tokens, 0, 15),
        choice("matrix_width", matrix_width, WIDTHS),
        choice("machine", NAMES[0], NAMES),
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
        f"{matrix_width:,} on {NAMES[0]}. Controls change tokens, width and machine "
        f"({', '.join(NAMES)})."
    )
    layers = [roof.encode(x, y), dot.encode(x, y)]
    return layered("roofline", (480, 280), title, controls, layers, description)


def exchange_explorer(models: dict[str, Shared]) -> alt.LayerChart:
    """Draw the milliseconds of a step over the number of GPUs: computing, and exchanging (§5.2).

    The GPUs share one step, so the more they are the fewer tokens each has. Gradients are
    exchanged in a ring (see `machines.all_reduce_seconds`) and nothing is done meanwhile. The first
    of the models, by name, is trained to begin with.
    """
    first = next(iter(models))
    controls = [
        slider("log2_gpus", 3, 1, MAX_LOG2_GPUS),
        slider("reached", 40, 10, 100, 10),
        choice("machine", NAMES[0], NAMES),
        choice("model", first, models),
        choice("tokens", TOKENS_A_STEP[0], TOKENS_A_STEP),
    ]
    computing, exchanging = _milliseconds(models, GPUS)
    both = f"({computing} + {exchanging})"
    title = (
        f"format({GPUS}, 'd') + ' GPUs: a step of ' + format({both}, '.1f') + ' ms, ' + "
        f"format(100 * {exchanging} / {both}, '.0f') + '% of it exchange'"
    )
    parts: Rows = [{"part": "computing"}, {"part": "exchanging"}]
    powers = unfold("power", f"1, {MAX_LOG2_GPUS + 1}", parts)
    lines = _over_gpus(powers.transform_calculate(n="pow(2, datum.power)"), models, "datum.n")
    chosen = alt.Chart(alt.Data(values=parts)).transform_calculate(n=GPUS)
    dots = _over_gpus(chosen, models, GPUS)
    layers = [
        lines.mark_line(strokeWidth=2.5, aria=False),
        dots.mark_point(filled=True, size=120, opacity=1, aria=False),
    ]
    description = (
        "Milliseconds of a training step over the number of GPUs that share it, 2 to "
        f"{2**MAX_LOG2_GPUS}, both axes logarithmic: computing falls, exchanging gradients hardly "
        f"changes. Dots mark 8 GPUs, {NAMES[0]}, the {first} model, {TOKENS_A_STEP[0]:,} tokens a "
        "step. Controls change the number of GPUs, the share of their peak that they reach, the "
        "kind of GPU, the model, and the tokens of a step."
    )
    return layered("exchange", (480, 280), title, controls, layers, description)


def _milliseconds(models: dict[str, Shared], gpus: str) -> tuple[str, str]:
    """Give expressions for how long so many GPUs compute a step, and exchange its gradients."""
    flops = _either("model", {name: str(each.flops) for name, each in models.items()})
    sizes = _either("model", {name: str(each.parameters) for name, each in models.items()})
    rate = f"({gpus} * {FLOPS} * reached / 100)"
    sent = f"(2 * ({gpus} - 1) / {gpus} * {FLOAT32} * {sizes})"
    computing = f"(1000 * {flops} * tokens / {TOKENS_A_STEP[0]} / {rate})"
    return computing, f"(1000 * {sent} / {_of_machine('link')})"


def _over_gpus(chart: alt.Chart, models: dict[str, Shared], gpus: str) -> alt.Chart:
    computing, exchanging = _milliseconds(models, gpus)
    counts = [2**power for power in range(1, MAX_LOG2_GPUS + 1)]
    reach = {"type": "log", "base": 2, "domain": [2, 2**MAX_LOG2_GPUS]}
    x = axis(alt.X, "n", "GPUs", reach, format="d", values=counts)
    times = [10**power for power in range(-1, 6)]
    reach = {"type": "log", "domain": MILLISECONDS}
    y = axis(alt.Y, "milliseconds", "milliseconds a step", reach, format="~g", values=times)
    scale = colours(["computing", "exchanging"], [OURS, TARGET])
    return chart.transform_calculate(
        milliseconds=f"datum.part == 'computing' ? {computing} : {exchanging}"
    ).encode(x, y, alt.Color("part:N", scale=scale).legend(title=""))
