"""A training step shared by several GPUs (§5.2), as the browser computes it."""

from collections.abc import Mapping
from typing import NamedTuple

import altair as alt

from lessonkit.analysis.roofline import FLOAT32_BYTES
from lessonkit.charts.controls import (
    DataRows,
    chart_with_sequence_rows,
    colour_scale,
    explorer_of_overlaid_charts,
    make_drop_down,
    make_quantity_channel,
    make_slider,
)
from lessonkit.charts.roofline import (
    FLOPS_EXPR,
    MACHINE_NAMES,
    chosen_value_expr,
    machine_value_expr,
)
from lessonkit.charts.style import OURS_COLOUR, TARGET_COLOUR
from transformer.support.checks import check_has_items
from transformer.support.signatures import check_argument_types

MAX_LOG2_GPUS = 8  # as a power of 2
NUM_GPUS_EXPR = "pow(2, log2_gpus)"
MILLISECONDS_DOMAIN = (0.03, 300_000)  # of a step: wide enough for all that the controls hold
TOKENS_PER_STEP_CHOICES = (25_000, 100_000, 400_000)  # on either side; the paper's first


class TrainingStepCost(NamedTuple):
    """What a model's training step needs of the GPUs that share it."""

    parameters: int  # each has a gradient that is exchanged
    flops: int  # operations of a step with `TOKENS_PER_STEP_CHOICES[0]` tokens on either side


@check_argument_types
def all_reduce_explorer(models: Mapping[str, TrainingStepCost]) -> alt.LayerChart:
    """Draw the milliseconds of a step over the number of GPUs: computing, and exchanging (§5.2).

    The GPUs share one step, so the more they are the fewer tokens each has. Gradients are
    exchanged in a ring (see `analysis.roofline.all_reduce_seconds`) and nothing is done meanwhile.
    The first of the models, by name, is trained to begin with.
    """
    check_has_items("models", models)
    first = next(iter(models))
    controls = [
        make_slider("log2_gpus", 3, 1, MAX_LOG2_GPUS),
        make_slider("reached", 40, 10, 100, 10),
        make_drop_down("machine", MACHINE_NAMES[0], MACHINE_NAMES),
        make_drop_down("model", first, models),
        make_drop_down("tokens", TOKENS_PER_STEP_CHOICES[0], TOKENS_PER_STEP_CHOICES),
    ]
    computing, exchanging = _computing_and_exchanging_exprs(models, NUM_GPUS_EXPR)
    both = f"({computing} + {exchanging})"
    title = (
        f"format({NUM_GPUS_EXPR}, 'd') + ' GPUs: a step of ' + format({both}, '.1f') + ' ms, ' + "
        f"format(100 * {exchanging} / {both}, '.0f') + '% of it exchange'"
    )
    parts: DataRows = [{"part": "computing"}, {"part": "exchanging"}]
    powers = chart_with_sequence_rows("power", f"1, {MAX_LOG2_GPUS + 1}", parts)
    lines = _encode_milliseconds_over_gpus(
        powers.transform_calculate(n="pow(2, datum.power)"), models, "datum.n"
    )
    chosen = alt.Chart(alt.Data(values=parts)).transform_calculate(n=NUM_GPUS_EXPR)
    dots = _encode_milliseconds_over_gpus(chosen, models, NUM_GPUS_EXPR)
    layers = [
        lines.mark_line(strokeWidth=2.5, aria=False),
        dots.mark_point(filled=True, size=120, opacity=1, aria=False),
    ]
    description = (
        "Milliseconds of a training step over the number of GPUs that share it, 2 to "
        f"{2**MAX_LOG2_GPUS}, both axes logarithmic: computing falls, exchanging gradients hardly "
        f"changes. Dots mark 8 GPUs, {MACHINE_NAMES[0]}, the {first} model, "
        f"{TOKENS_PER_STEP_CHOICES[0]:,} "
        "tokens a step. Controls change the number of GPUs, the share of their peak that they "
        "reach, the kind of GPU, the model, and the tokens of a step."
    )
    return explorer_of_overlaid_charts("exchange", (480, 280), title, controls, layers, description)


def _computing_and_exchanging_exprs(
    models: Mapping[str, TrainingStepCost], gpus: str
) -> tuple[str, str]:
    """Return expressions for how long so many GPUs compute a step, and exchange its gradients."""
    flops = chosen_value_expr("model", {name: str(each.flops) for name, each in models.items()})
    sizes = chosen_value_expr(
        "model", {name: str(each.parameters) for name, each in models.items()}
    )
    rate = f"({gpus} * {FLOPS_EXPR} * reached / 100)"
    sent = f"(2 * ({gpus} - 1) / {gpus} * {FLOAT32_BYTES} * {sizes})"
    computing = f"(1000 * {flops} * tokens / {TOKENS_PER_STEP_CHOICES[0]} / {rate})"
    return computing, f"(1000 * {sent} / {machine_value_expr('link')})"


def _encode_milliseconds_over_gpus(
    chart: alt.Chart, models: Mapping[str, TrainingStepCost], gpus: str
) -> alt.Chart:
    computing, exchanging = _computing_and_exchanging_exprs(models, gpus)
    counts = [2**power for power in range(1, MAX_LOG2_GPUS + 1)]
    reach = {"type": "log", "base": 2, "domain": [2, 2**MAX_LOG2_GPUS]}
    x = make_quantity_channel(alt.X, "n", "GPUs", reach, format="d", values=counts)
    times = [10**power for power in range(-1, 6)]
    reach = {"type": "log", "domain": MILLISECONDS_DOMAIN}
    y = make_quantity_channel(
        alt.Y, "milliseconds", "milliseconds a step", reach, format="~g", values=times
    )
    scale = colour_scale(["computing", "exchanging"], [OURS_COLOUR, TARGET_COLOUR])
    return chart.transform_calculate(
        milliseconds=f"datum.part == 'computing' ? {computing} : {exchanging}"
    ).encode(x, y, alt.Color("part:N", scale=scale).legend(title=""))
