"""The loss of one token with label smoothing (§5.4), as the browser computes it."""

import altair as alt

from lessonkit.charts.controls import (
    chart_with_computed_row,
    chart_with_sequence_rows,
    explorer_of_overlaid_charts,
    make_drop_down,
    make_slider,
)
from lessonkit.charts.style import OURS_COLOUR, PAPER_COLOUR
from transformer.support.signatures import check_argument_types

VOCAB_SIZE_CHOICES = (10, 100, 1000, 10_000, 37_000)
INITIAL_SMOOTHING, MAX_SMOOTHING = 0.1, 0.3  # to begin with, and the slider's end
# Confidences are multiples of 1 / NUM_CONFIDENCE_STEPS above 0 and below 1: no log of zero.
NUM_CONFIDENCE_STEPS = 200

# The cross-entropy to a target of 1 - e on the true type plus e / V on every type, where the
# model gives p to the true type and the rest evenly to the others;
# `transformer.training.loss.label_smoothing_loss` in Python.
LOSS_EXPR_TEMPLATE = (
    "-(1 - {e}) * log(datum.p) - {e} / vocab_size"
    " * (log(datum.p) + (vocab_size - 1) * log((1 - datum.p) / (vocab_size - 1)))"
)
BEST_CONFIDENCE_EXPR = "(1 - smoothing + smoothing / vocab_size)"


@check_argument_types
def label_smoothing_explorer(vocab_size: int = 1000) -> alt.LayerChart:
    """Draw a token's loss against the probability that the model gives to the truth (§5.4).

    What the model does not give to the true type it spreads evenly over the others. Without
    smoothing more confidence is always better; with it, too much is punished. The lowest
    point is marked; the thin dashed line is the loss without smoothing. The vocabulary has
    `vocab_size` types to begin with, one of `VOCAB_SIZE_CHOICES`.
    """
    controls = [
        make_slider("smoothing", INITIAL_SMOOTHING, 0, MAX_SMOOTHING, 0.01),
        make_drop_down("vocab_size", vocab_size, VOCAB_SIZE_CHOICES),
    ]
    # Without smoothing the best confidence is 1, so the curve's last point serves.
    best = f"min({BEST_CONFIDENCE_EXPR}, {NUM_CONFIDENCE_STEPS - 1} / {NUM_CONFIDENCE_STEPS})"
    lowest = chart_with_computed_row(
        "point", p=best, loss=LOSS_EXPR_TEMPLATE.format(e="smoothing")
    ).encode(x="p:Q", y="loss:Q")
    layers = [
        _chart_of_losses("0").mark_line(
            color=PAPER_COLOUR, strokeWidth=1, strokeDash=[4, 3], aria=False
        ),
        _chart_of_losses("smoothing").mark_line(color=OURS_COLOUR, strokeWidth=3, aria=False),
        lowest.mark_point(color=OURS_COLOUR, filled=True, size=90, aria=False),
    ]
    title = f"'Loss is lowest at confidence ' + format({BEST_CONFIDENCE_EXPR}, '.3f')"
    description = (
        "Line chart of the loss of one token, in nats, against the probability that "
        f"the model gives to the true one of {vocab_size:,} types. With label smoothing "
        f"{INITIAL_SMOOTHING:g} the loss is lowest at confidence "
        f"{1 - INITIAL_SMOOTHING + INITIAL_SMOOTHING / vocab_size:.3f}; without it "
        "(dashed) it falls "
        "all the way to 1. Controls change smoothing and vocab_size."
    )
    return explorer_of_overlaid_charts(
        "smoothing_loss", (480, 300), title, controls, layers, description
    )


def _chart_of_losses(smoothing: str) -> alt.Chart:
    return (
        chart_with_sequence_rows("point", f"1, {NUM_CONFIDENCE_STEPS}")
        .transform_calculate(
            p=f"datum.point / {NUM_CONFIDENCE_STEPS}", loss=LOSS_EXPR_TEMPLATE.format(e=smoothing)
        )
        .encode(
            x=alt.X("p:Q", title="confidence (probability of the true type)"),
            y=alt.Y("loss:Q", title="loss (nats per token)"),
        )
    )
