"""The learning-rate schedule as a chart that the browser computes anew (§5.3)."""

import altair as alt

from lessonkit.charts.controls import slider
from lessonkit.charts.style import OURS, PAPER

# Width, warm-up steps and factor: the paper's, which `tatoeba` keeps; the two that `both-ways`
# draws beside it; and what `annotated` trains with.
SYSTEMS = ((512, 4000, 1), (512, 8000, 1), (256, 4000, 1), (512, 4000, 2))
DASHES = ([8, 4], [2, 3], [8, 3, 2, 3], [1, 0])  # of their lines, in pixels
STRIDE, POINTS = 100, 400  # steps from one point of a curve to the next; points of a curve

# Slider: lowest, highest, and how far apart two values are.
SLIDERS = {
    "d_model": (64, 1024, 64),
    "warmup_steps": (500, 16000, 500),
    "factor": (0.25, 2, 0.25),
}

# Eq. 3 in the language of Vega; `transformer.training.schedule.learning_rate` in Python.
RATE = (
    "{factor} * pow({d_model}, -0.5)"
    " * min(pow(datum.step, -0.5), datum.step * pow({warmup_steps}, -1.5))"
)
TITLE = (
    "'Learning rate: highest, ' + format({peak}, '.2e') + ', at step ' + format(warmup_steps, ',')"
)
PEAK = "factor * pow(d_model * warmup_steps, -0.5)"


def schedule_explorer(
    d_model: int = 512, warmup_steps: int = 4000, factor: float = 1.0
) -> alt.LayerChart:
    """Draw the learning rate over the steps, with a slider for each of its parts (§5.3, Eq. 3).

    The browser computes the curve, so it moves without a kernel. Thin grey lines show the
    curves of the paper and of three earlier systems for comparison; they stay.

    Args:
        d_model: Width that the slider begins with.
        warmup_steps: Steps of rising rate that the slider begins with.
        factor: What multiplies the curve, to begin with.

    Raises:
        UserError: a value lies outside its slider.
    """
    start = {"d_model": d_model, "warmup_steps": warmup_steps, "factor": factor}
    sliders = [slider(name, value, *SLIDERS[name]) for name, value in start.items()]
    return alt.LayerChart(
        layer=[_own_curve().add_params(*sliders), _reference_curves()]
    ).properties(
        name="schedule",
        width=560,
        height=300,
        title=alt.Title(text=alt.ExprRef(TITLE.format(peak=PEAK)), anchor="start"),
        description=(
            f"Line chart of the learning rate over {POINTS * STRIDE:,} steps. It rises in "
            f"proportion to the step for {warmup_steps:,} warm-up steps, then falls as "
            f"one over the square root of the step (d_model {d_model}, factor {factor:g}). Sliders "
            "change d_model, warmup_steps and factor. Grey lines: "
            + "; ".join(_label(*system) for system in SYSTEMS)
            + "."
        ),
    )


def _label(d_model: int, warmup_steps: int, factor: int) -> str:
    return f"d_model {d_model}, warm-up {warmup_steps:,}" + f", factor {factor}" * (factor != 1)


def _curves(rows: list[dict[str, object]], rate: str) -> alt.Chart:
    """Unfold each row into the points of one curve."""
    return (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(point=f"sequence({POINTS + 1})")
        .transform_flatten(["point"])
        .transform_calculate(step=f"max(1, {STRIDE} * datum.point)")
        .transform_calculate(rate=rate)
        .encode(
            x=alt.X("step:Q", title="step (updates of the weights)"),
            y=alt.Y("rate:Q", title="learning rate"),
        )
    )


def _own_curve() -> alt.Chart:
    rate = RATE.format(d_model="d_model", warmup_steps="warmup_steps", factor="factor")
    curve = _curves([{"curve": "yours"}], rate)
    return curve.mark_line(color=OURS, strokeWidth=3, aria=False)


def _reference_curves() -> alt.Chart:
    rows: list[dict[str, object]] = [
        {"curve": _label(d, w, f), "d_model": d, "warmup_steps": w, "factor": f}
        for d, w, f in SYSTEMS
    ]
    rate = RATE.format(
        d_model="datum.d_model", warmup_steps="datum.warmup_steps", factor="datum.factor"
    )
    names = alt.Scale(domain=[str(row["curve"]) for row in rows], range=DASHES)
    legend = alt.Legend(title="for comparison", orient="top-right", symbolSize=600, labelLimit=240)
    return (
        _curves(rows, rate)
        .mark_line(color=PAPER, strokeWidth=1.5, aria=False)
        .encode(strokeDash=alt.StrokeDash("curve:N", scale=names, legend=legend))
    )
