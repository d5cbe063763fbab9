"""The learning rate over the steps (§5.3, Eq. 3), as the browser computes it."""

import altair as alt

from lessonkit.charts.controls import (
    DataRows,
    chart_with_sequence_rows,
    colour_scale,
    explorer_of_overlaid_charts,
    make_slider,
)
from lessonkit.charts.style import OURS_COLOUR, PAPER_COLOUR

# Width, warm-up steps and factor: the paper's, which `tatoeba` keeps; the two that `both-ways`
# draws beside it; and what `annotated` trains with.
EARLIER_SYSTEM_SCHEDULES = ((512, 4000, 1), (512, 8000, 1), (256, 4000, 1), (512, 4000, 2))
EARLIER_SYSTEM_DASHES = ([8, 4], [2, 3], [8, 3, 2, 3], [1, 0])  # of their lines, in pixels
STEPS_PER_POINT = 100  # from one point of a curve to the next
NUM_CURVE_POINTS = 400

# Eq. 3 in the language of Vega; `transformer.training.schedule.learning_rate` in Python.
LEARNING_RATE_EXPR_TEMPLATE = (
    "{0}factor * pow({0}d_model, -0.5)"
    " * min(pow(datum.step, -0.5), datum.step * pow({0}warmup_steps, -1.5))"
)
PEAK_LEARNING_RATE_EXPR = "factor * pow(d_model * warmup_steps, -0.5)"
PEAK_STEP_TEXT_EXPR = "', at step ' + format(warmup_steps, ',')"


def schedule_explorer() -> alt.LayerChart:
    """Draw the learning rate over the steps, with a slider for each of its parts (§5.3, Eq. 3).

    The browser computes the curve, so it moves without a kernel. Thin grey lines show the
    curves of the paper and of three earlier systems for comparison; they stay.
    """
    controls = [
        make_slider("d_model", 512, 64, 1024, 64),
        make_slider("warmup_steps", 4000, 500, 16000, 500),
        make_slider("factor", 1.0, 0.25, 2, 0.25),
    ]
    names = [_system_label(*system) for system in EARLIER_SYSTEM_SCHEDULES]
    others: DataRows = [
        {"curve": name, "d_model": d, "warmup_steps": w, "factor": f}
        for name, (d, w, f) in zip(names, EARLIER_SYSTEM_SCHEDULES, strict=True)
    ]
    legend = alt.Legend(title="for comparison", orient="top-right", symbolSize=600, labelLimit=240)
    dash = alt.StrokeDash(
        "curve:N", scale=colour_scale(names, EARLIER_SYSTEM_DASHES), legend=legend
    )
    own = _chart_of_learning_rates([{"curve": "yours"}], LEARNING_RATE_EXPR_TEMPLATE.format(""))
    theirs = _chart_of_learning_rates(others, LEARNING_RATE_EXPR_TEMPLATE.format("datum.")).encode(
        dash
    )
    layers = [
        own.mark_line(color=OURS_COLOUR, strokeWidth=3, aria=False),
        theirs.mark_line(color=PAPER_COLOUR, strokeWidth=1.5, aria=False),
    ]
    title = (
        f"'Learning rate: highest, ' + format({PEAK_LEARNING_RATE_EXPR}, '.2e') + "
        f"{PEAK_STEP_TEXT_EXPR}"
    )
    description = (
        f"Line chart of the learning rate over {NUM_CURVE_POINTS * STEPS_PER_POINT:,} "
        "steps. It rises in "
        "proportion to the step for 4,000 warm-up steps, then falls as one over the square root of "
        "the step (d_model 512, factor 1). Sliders change d_model, warmup_steps and factor. Grey "
        f"lines: {'; '.join(names)}."
    )
    return explorer_of_overlaid_charts("schedule", (560, 300), title, controls, layers, description)


def _system_label(d_model: int, warmup_steps: int, factor: int) -> str:
    return f"d_model {d_model}, warm-up {warmup_steps:,}" + f", factor {factor}" * (factor != 1)


def _chart_of_learning_rates(rows: DataRows, rate: str) -> alt.Chart:
    """Unfold each row into the points of one curve."""
    return (
        chart_with_sequence_rows("point", str(NUM_CURVE_POINTS + 1), rows)
        .transform_calculate(step=f"max(1, {STEPS_PER_POINT} * datum.point)", rate=rate)
        .encode(
            x=alt.X("step:Q", title="step (updates of the weights)"),
            y=alt.Y("rate:Q", title="learning rate"),
        )
    )
