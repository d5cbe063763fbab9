"""The learning rate (Eq. 3) and label smoothing (§5.4) as the browser computes them."""

import altair as alt

from lessonkit.charts.controls import Rows, choice, colours, layered, one_row, slider, unfold
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

VOCAB_SIZES = (10, 100, 1000, 10_000, 37_000)
SMOOTHING, MAX_SMOOTHING = 0.1, 0.3  # to begin with, and the slider's end
GRID = 200  # a confidence is a multiple of 1 / GRID, above 0 and below 1: no log of zero

# The cross-entropy to a target of 1 - e on the true type plus e / V on every type, where the
# model gives p to the true type and the rest evenly to the others;
# `transformer.training.loss.label_smoothing_loss` in Python.
LOSS = (
    "-(1 - {e}) * log(datum.p) - {e} / vocab_size"
    " * (log(datum.p) + (vocab_size - 1) * log((1 - datum.p) / (vocab_size - 1)))"
)
BEST = "(1 - smoothing + smoothing / vocab_size)"


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


def label_smoothing_explorer(vocab_size: int = 1000) -> alt.LayerChart:
    """Draw a token's loss against the probability that the model gives to the truth (§5.4).

    What the model does not give to the true type it spreads evenly over the others. Without
    smoothing more confidence is always better; with it, too much is punished. The lowest
    point is marked; the thin dashed line is the loss without smoothing. The vocabulary has
    `vocab_size` types to begin with, one of `VOCAB_SIZES`.
    """
    controls = [
        slider("smoothing", SMOOTHING, 0, MAX_SMOOTHING, 0.01),
        choice("vocab_size", vocab_size, VOCAB_SIZES),
    ]
    # Without smoothing the best confidence is 1, so the curve's last point serves.
    best = f"min({BEST}, {GRID - 1} / {GRID})"
    lowest = one_row("point", p=best, loss=LOSS.format(e="smoothing")).encode(x="p:Q", y="loss:Q")
    layers = [
        _losses("0").mark_line(color=PAPER, strokeWidth=1, strokeDash=[4, 3], aria=False),
        _losses("smoothing").mark_line(color=OURS, strokeWidth=3, aria=False),
        lowest.mark_point(color=OURS, filled=True, size=90, aria=False),
    ]
    title = f"'Loss is lowest at confidence ' + format({BEST}, '.3f')"
    description = (
        "Line chart of the loss of one token, in nats, against the probability that "
        f"the model gives to the true one of {vocab_size:,} types. With label smoothing "
        f"{SMOOTHING:g} the loss is lowest at confidence "
        f"{1 - SMOOTHING + SMOOTHING / vocab_size:.3f}; without it (dashed) it falls "
        "all the way to 1. Controls change smoothing and vocab_size."
    )
    return layered("smoothing_loss", (480, 300), title, controls, layers, description)


def _losses(smoothing: str) -> alt.Chart:
    return (
        unfold("point", f"1, {GRID}")
        .transform_calculate(p=f"datum.point / {GRID}", loss=LOSS.format(e=smoothing))
        .encode(
            x=alt.X("p:Q", title="confidence (probability of the true type)"),
            y=alt.Y("loss:Q", title="loss (nats per token)"),
        )
    )
