"""A step shared by several GPUs: computing against exchanging, computed in the browser (§5.2)."""

from typing import NamedTuple

import altair as alt

from lessonkit.analysis.machines import FLOAT32
from lessonkit.charts.controls import choice, slider
from lessonkit.charts.explorers.roofline import NAMES, of_machine
from lessonkit.charts.style import OURS, TARGET
from transformer.support.errors import UserError

MOST_GPUS = 8  # as a power of 2
MILLISECONDS = (0.03, 300_000)  # of a step: wide enough for all that the controls hold
TOKENS = (25_000, 100_000, 400_000)  # of a step, on either side; the paper's first


class Shared(NamedTuple):
    """A model whose step is shared.

    Attributes:
        parameters: Of the model; each has a gradient that is exchanged.
        flops: Operations of a step with `TOKENS[0]` tokens on either side.
    """

    parameters: int
    flops: int


def exchange_explorer(models: dict[str, Shared], machine: str = NAMES[0]) -> alt.LayerChart:
    """Draw the milliseconds of a step over the number of GPUs: computing, and exchanging.

    The GPUs share one step, so the more they are the fewer tokens each has. Gradients are
    exchanged in a ring (see `machines.exchange_seconds`) and nothing is done meanwhile.

    Args:
        models: What is trained, by name; the first to begin with.
        machine: Name of one of `machines.MACHINES`, to begin with.

    Raises:
        UserError: there is no model, or no such machine.
    """
    if not models:
        raise UserError("no model to share: give one or more")
    if machine not in NAMES:
        raise UserError(f"machine is {machine}: give one of {', '.join(NAMES)}")
    first, gpus = next(iter(models)), "pow(2, log2_gpus)"
    controls = [
        slider("log2_gpus", 3, 1, MOST_GPUS),
        slider("reached", 40, 10, 100, 10),
        choice("machine", machine, NAMES),
        choice("model", first, tuple(models)),
        choice("tokens", TOKENS[0], TOKENS),
    ]
    both = f"({_computing(models, gpus)} + {_exchanging(models, gpus)})"
    title = (
        f"format({gpus}, 'd') + ' GPUs: a step of ' + format({both}, '.1f') + ' ms, ' + "
        f"format(100 * {_exchanging(models, gpus)} / {both}, '.0f') + '% of it exchange'"
    )
    layers = [_lines(models).add_params(*controls), _chosen(models, gpus)]
    return alt.LayerChart(layer=layers).properties(
        name="exchange",
        width=480,
        height=280,
        title=alt.Title(text=alt.ExprRef(title), anchor="start"),
        description="Milliseconds of a training step over the number of GPUs that share it, 2 to "
        f"{2**MOST_GPUS}, both axes logarithmic: computing falls, exchanging gradients hardly "
        f"changes. Dots mark 8 GPUs, {machine}, the {first} model, {TOKENS[0]:,} tokens a step. "
        "Controls change the number of GPUs, the share of their peak that they reach, the kind "
        "of GPU, the model, and the tokens of a step.",
    )


def _of_model(models: dict[str, Shared], field: str) -> str:
    """Give the expression for a field of the model that is chosen."""
    cases = [f"model == '{name}' ? {getattr(each, field)}" for name, each in models.items()]
    return "(" + " : ".join([*cases, "0)"])


def _computing(models: dict[str, Shared], gpus: str) -> str:
    """Give the expression for the milliseconds in which so many GPUs compute a step."""
    rate = f"({gpus} * {of_machine('flops')} * reached / 100)"
    return f"(1000 * {_of_model(models, 'flops')} * tokens / {TOKENS[0]} / {rate})"


def _exchanging(models: dict[str, Shared], gpus: str) -> str:
    """Give the expression for the milliseconds in which they exchange its gradients."""
    sent = f"(2 * ({gpus} - 1) / {gpus} * {FLOAT32} * {_of_model(models, 'parameters')})"
    return f"(1000 * {sent} / {of_machine('link')})"


def _either(models: dict[str, Shared], gpus: str) -> str:
    computing, exchanging = _computing(models, gpus), _exchanging(models, gpus)
    return f"datum.part == 'computing' ? {computing} : {exchanging}"


def _encoded(chart: alt.Chart) -> alt.Chart:
    scale = alt.Scale(domain=["computing", "exchanging"], range=[OURS, TARGET])
    return chart.encode(
        x=alt.X(
            "n:Q",
            title="GPUs",
            scale=alt.Scale(type="log", base=2, domain=[2, 2**MOST_GPUS]),
            axis=alt.Axis(format="d", values=[2**power for power in range(1, MOST_GPUS + 1)]),
        ),
        y=alt.Y(
            "milliseconds:Q",
            title="milliseconds a step",
            scale=alt.Scale(type="log", domain=MILLISECONDS),
            axis=alt.Axis(format="~g", values=[10**power for power in range(-1, 6)]),
        ),
        color=alt.Color("part:N", scale=scale, legend=alt.Legend(title="")),
    )


def _parts() -> alt.Chart:
    return alt.Chart(alt.Data(values=[{"part": "computing"}, {"part": "exchanging"}]))


def _lines(models: dict[str, Shared]) -> alt.Chart:
    chart = (
        _parts()
        .transform_calculate(power=f"sequence(1, {MOST_GPUS + 1})")
        .transform_flatten(["power"])
        .transform_calculate(n="pow(2, datum.power)")
        .transform_calculate(milliseconds=_either(models, "datum.n"))
    )
    return _encoded(chart.mark_line(strokeWidth=2.5, aria=False))


def _chosen(models: dict[str, Shared], gpus: str) -> alt.Chart:
    chart = (
        _parts().transform_calculate(n=gpus).transform_calculate(milliseconds=_either(models, gpus))
    )
    return _encoded(chart.mark_point(filled=True, size=120, opacity=1, aria=False))
