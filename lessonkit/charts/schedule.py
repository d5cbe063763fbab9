"""The learning rate over the steps (§5.3, Eq. 3), as the browser computes it."""

import altair as alt

from lessonkit.charts.controls import Rows, colours, layered, slider, unfold
from lessonkit.charts.style import OURS, PAPER

# Width, warm-up steps and factor: the paper's, which `tatoeba` keeps; the two that `both-ways`
# draws beside it; and what `annotated` trains with.
SYSTEMS = ((512, 4000, 1), (512, 8000, 1), (256, 4000, 1), (512, 4000, 2))
DASHES = ([8, 4], [2, 3], [8, 3, 2, 3], [1, 0])  # of their lines, in pixels
STRIDE, POINTS = 100, 400  # steps from one point of a curve to the next; points of a curve

# Eq. 3 in the language of Vega; `transformer.training.schedule.learning_rate` in Python.
RATE = (
    "{0}factor * pow({0}d_model, -0.5)"
    " * min(pow(datum.step, -0.5), datum.step * pow({0}warmup_steps, -1.5))"
)
PEAK = "factor * pow(d_model * warmup_steps, -0.5)"
AT_STEP = "', at step ' + format(warmup_steps, ',')"


def schedule_explorer() -> alt.LayerChart:
    """Draw the learning rate over the steps, with a slider for each of its parts (§5.3, Eq. 3).

    The browser computes the curve, so it moves without a kernel. Thin grey lines show the
    curves of the paper and of three earlier systems for comparison; they stay.
    """
    controls = [
        slider("d_model", 512, 64, 1024, 64),
        slider("warmup_steps", 4000, 500, 16000, 500),
        slider("factor", 1.0, 0.25, 2, 0.25),
    ]
    names = [_label(*system) for system in SYSTEMS]
    others: Rows = [
        {"curve": name, "d_model": d, "warmup_steps": w, "factor": f}
        for name, (d, w, f) in zip(names, SYSTEMS, strict=True)
    ]
    legend = alt.Legend(title="for comparison", orient="top-right", symbolSize=600, labelLimit=240)
    dash = alt.StrokeDash("curve:N", scale=colours(names, DASHES), legend=legend)
    own = _rates([{"curve": "yours"}], RATE.format(""))
    theirs = _rates(others, RATE.format("datum.")).encode(dash)
    layers = [
        own.mark_line(color=OURS, strokeWidth=3, aria=False),
        theirs.mark_line(color=PAPER, strokeWidth=1.5, aria=False),
    ]
    title = f"'Learning rate: highest, ' + format({PEAK}, '.2e') + {AT_STEP}"
    description = (
        f"Line chart of the learning rate over {POINTS * STRIDE:,} steps. It rises in "
        "proportion to the step for 4,000 warm-up steps, then falls as one over the square root of "
        "the step (d_model 512, factor 1). Sliders change d_model, warmup_steps and factor. Grey "
        f"lines: {'; '.join(names)}."
    )
    return layered("schedule", (560, 300), title, controls, layers, description)


def _label(d_model: int, warmup_steps: int, factor: int) -> str:
    return f"d_model {d_model}, warm-up {warmup_steps:,}" + f", factor {factor}" * (factor != 1)


def _rates(rows: Rows, rate: str) -> alt.Chart:
    """Unfold each row into the points of one curve."""
    return (
        unfold("point", str(POINTS + 1), rows)
        .transform_calculate(step=f"max(1, {STRIDE} * datum.point)", rate=rate)
        .encode(
            x=alt.X("step:Q", title="step (updates of the weights)"),
            y=alt.Y("rate:Q", title="learning rate"),
        )
    )
