"""Label smoothing as a curve that the browser computes anew: loss against confidence (§5.4)."""

import altair as alt

from transformer.charts.controls import choice, slider
from transformer.charts.style import OURS, PAPER
from transformer.support.errors import UserError

VOCAB_SIZES = (10, 100, 1000, 10_000, 37_000)
MAX_SMOOTHING = 0.3
GRID = 200  # a confidence is a multiple of 1 / GRID, above 0 and below 1: no log of zero

# The cross-entropy to a target of 1 - e on the true type plus e / V on every type, where the
# model gives p to the true type and the rest evenly to the others;
# `transformer.training.loss.label_smoothing_loss` in Python.
LOSS = (
    "-(1 - {e}) * log(datum.p) - {e} / vocab_size"
    " * (log(datum.p) + (vocab_size - 1) * log((1 - datum.p) / (vocab_size - 1)))"
)
BEST = "(1 - smoothing + smoothing / vocab_size)"


def label_smoothing_explorer(vocab_size: int = 1000, smoothing: float = 0.1) -> alt.LayerChart:
    """Draw a token's loss against the probability that the model gives to the truth (§5.4).

    What the model does not give to the true type it spreads evenly over the others. Without
    smoothing more confidence is always better; with it, too much is punished. The lowest
    point is marked; the thin dashed line is the loss without smoothing.

    Args:
        vocab_size: Types of the vocabulary to begin with, one of `VOCAB_SIZES`.
        smoothing: Probability moved away from the true type, to begin with.

    Raises:
        UserError: a value is not among the control's.
    """
    if vocab_size not in VOCAB_SIZES:
        raise UserError(f"vocab_size is {vocab_size}: give one of {VOCAB_SIZES}")
    controls = [
        slider("smoothing", smoothing, 0, MAX_SMOOTHING, 0.01),
        choice("vocab_size", vocab_size, VOCAB_SIZES),
    ]
    title = f"'Loss is lowest at confidence ' + format({BEST}, '.3f')"
    plain = _curve(LOSS.format(e="0")).mark_line(
        color=PAPER, strokeWidth=1, strokeDash=[4, 3], aria=False
    )
    smoothed = _curve(LOSS.format(e="smoothing")).mark_line(color=OURS, strokeWidth=3, aria=False)
    return alt.LayerChart(layer=[plain, smoothed.add_params(*controls), _lowest()]).properties(
        name="smoothing_loss",
        width=480,
        height=300,
        title=alt.Title(text=alt.ExprRef(title), anchor="start"),
        description=(
            "Line chart of the loss of one token, in nats, against the probability that "
            f"the model gives to the true one of {vocab_size:,} types. With label smoothing "
            f"{smoothing:g} the loss is lowest at confidence "
            f"{1 - smoothing + smoothing / vocab_size:.3f}; without it (dashed) it falls "
            "all the way to 1. Controls change smoothing and vocab_size."
        ),
    )


def _curve(loss: str) -> alt.Chart:
    return (
        alt.Chart(alt.Data(values=[{"point": 0}]))
        .transform_calculate(point=f"sequence(1, {GRID})")
        .transform_flatten(["point"])
        .transform_calculate(p=f"datum.point / {GRID}")
        .transform_calculate(loss=loss)
        .encode(
            x=alt.X("p:Q", title="confidence (probability of the true type)"),
            y=alt.Y("loss:Q", title="loss (nats per token)"),
        )
    )


def _lowest() -> alt.Chart:
    """Mark the best confidence; without smoothing it is 1, so the curve's last point serves."""
    return (
        alt.Chart(alt.Data(values=[{"point": 0}]))
        .transform_calculate(p=f"min({BEST}, {GRID - 1} / {GRID})")
        .transform_calculate(loss=LOSS.format(e="smoothing"))
        .mark_point(color=OURS, filled=True, size=90, aria=False)
        .encode(x="p:Q", y="loss:Q")
    )
