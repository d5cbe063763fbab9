"""Label smoothing as the browser computes it anew: loss against confidence, and targets (§5.4)."""

from collections.abc import Sequence

import altair as alt

from lessonkit.charts.controls import choice, slider
from lessonkit.charts.style import OURS, PAPER
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

PAD = "<pad>"
FORMS = ("over all types", "over the others")  # `over_all` True and False in the package

# `transformer.training.loss.smoothed_targets` in the language of Vega.
SHARE = f"(form == '{FORMS[0]}' ? smoothing / {{size}} : smoothing / ({{size}} - 2))"
TRUE_SHARE = f"(1 - smoothing + (form == '{FORMS[0]}' ? smoothing / {{size}} : 0))"
WANTED = (
    f"true_type == '{PAD}' ? 0 : datum.type == true_type ? {TRUE_SHARE}"
    f" : datum.type == '{PAD}' && form == '{FORMS[1]}' ? 0 : {SHARE}"
)
TITLE = (
    f"'Target ' + true_type + (true_type == '{PAD}' ? ': nothing is asked for'"
    f" : ': ' + format({TRUE_SHARE}, '.3f') + ' for it, ' + format(1 - {TRUE_SHARE}, '.3f')"
    " + ' for all others together')"
)


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


def smoothed_targets_explorer(
    types: Sequence[str], true_type: str, smoothing: float = 0.1
) -> alt.LayerChart:
    """Draw the distribution that the model shall come to, a bar for each type (§5.4).

    Controls change the smoothing, which type is the true one, and the form: the mass is spread
    over every type, or over all but the true one and padding. A target that is padding asks
    for nothing.

    Args:
        types: A small vocabulary, 3 types or more, no two alike; "<pad>" is the first.
        true_type: The true type to begin with.
        smoothing: Probability moved away from the true type, to begin with.

    Raises:
        UserError: the vocabulary is too small, names a type twice or does not begin with
            "<pad>"; the true type is not in it; smoothing is outside its slider.
    """
    _check_types(types, true_type)
    size = len(types)
    base = _target_places(types)
    colour = alt.condition("datum.type == true_type", alt.value(OURS), alt.value(PAPER))
    bars = base.mark_bar(aria=False).encode(color=colour)
    figures = base.mark_text(dy=-8, fontSize=12, aria=False).encode(
        text=alt.Text("wanted:Q", format=".3f")
    )
    return alt.LayerChart(
        layer=[bars.add_params(*_target_controls(types, true_type, smoothing)), figures]
    ).properties(
        name="smoothing_targets",
        width=80 * size,
        height=240,
        title=alt.Title(text=alt.ExprRef(TITLE.format(size=size)), anchor="start"),
        description=(
            f"Bar chart of the target probabilities of {size} types ({', '.join(types)}). "
            f"{_asked(true_type, smoothing, size)} "
            "Controls change smoothing, the form (over all types, or over all but the true one "
            "and padding) and which type is the true one."
        ),
    )


def _asked(true_type: str, smoothing: float, size: int) -> str:
    """Say what the bars are: nothing is asked for at padding."""
    if true_type == PAD:
        return f"The target is {PAD}: nothing is asked for."
    share = smoothing / size
    return (
        f"With label smoothing {smoothing:g} over all types the true one, {true_type}, gets "
        f"{1 - smoothing + share:.3f} and each other {share:.3f}."
    )


def _target_controls(types: Sequence[str], true_type: str, smoothing: float) -> list[alt.Parameter]:
    return [
        slider("smoothing", smoothing, 0, MAX_SMOOTHING, 0.01),
        choice("form", FORMS[0], list(FORMS)),
        choice("true_type", true_type, types),
    ]


def _target_places(types: Sequence[str]) -> alt.Chart:
    """Give what bars and figures share: a place and a height for each type."""
    labels = alt.Axis(labelAngle=0)
    return (
        alt.Chart(alt.Data(values=[{"id": i, "type": name} for i, name in enumerate(types)]))
        .transform_calculate(wanted=WANTED.format(size=len(types)))
        .encode(
            x=alt.X("type:N", sort=list(types), title="type of the vocabulary", axis=labels),
            y=alt.Y("wanted:Q", title="probability asked for", scale=alt.Scale(domain=[0, 1])),
        )
    )


def _check_types(types: Sequence[str], true_type: str) -> None:
    if len(types) < 3:
        raise UserError(f"{len(types)} types are too few: give 3 or more")
    if types[0] != PAD:
        raise UserError(f"the first type is {types[0]!r}: put {PAD!r} there")
    if len(set(types)) < len(types):
        raise UserError(f"a type is named twice in {list(types)}: give each once")
    if true_type not in types:
        raise UserError(f"true_type is {true_type!r}: give one of {list(types)}")
