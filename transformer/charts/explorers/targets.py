"""What label smoothing asks for, as bars that the browser computes anew (§5.4)."""

from collections.abc import Sequence

import altair as alt

from transformer.charts.controls import choice, slider
from transformer.charts.explorers.smoothing import MAX_SMOOTHING
from transformer.charts.style import OURS, PAPER
from transformer.support.errors import UserError

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
    _check(types, true_type)
    size = len(types)
    base = _base(types)
    colour = alt.condition("datum.type == true_type", alt.value(OURS), alt.value(PAPER))
    bars = base.mark_bar(aria=False).encode(color=colour)
    figures = base.mark_text(dy=-8, fontSize=12, aria=False).encode(
        text=alt.Text("wanted:Q", format=".3f")
    )
    return alt.LayerChart(
        layer=[bars.add_params(*_controls(types, true_type, smoothing)), figures]
    ).properties(
        name="smoothing_targets",
        width=80 * size,
        height=240,
        title=alt.Title(text=alt.ExprRef(TITLE.format(size=size)), anchor="start"),
        description=(
            f"Bar chart of the target probabilities of {size} types ({', '.join(types)}). "
            f"With label smoothing {smoothing:g} over all types the true one, {true_type}, gets "
            f"{1 - smoothing + smoothing / size:.3f} and each other {smoothing / size:.3f}. "
            "Controls change smoothing, the form (over all types, or over all but the true one "
            "and padding) and which type is the true one."
        ),
    )


def _controls(types: Sequence[str], true_type: str, smoothing: float) -> list[alt.Parameter]:
    return [
        slider("smoothing", smoothing, 0, MAX_SMOOTHING, 0.01),
        choice("form", FORMS[0], list(FORMS)),
        choice("true_type", true_type, types),
    ]


def _base(types: Sequence[str]) -> alt.Chart:
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


def _check(types: Sequence[str], true_type: str) -> None:
    if len(types) < 3:
        raise UserError(f"{len(types)} types are too few: give 3 or more")
    if types[0] != PAD:
        raise UserError(f"the first type is {types[0]!r}: put {PAD!r} there")
    if len(set(types)) < len(types):
        raise UserError(f"a type is named twice in {list(types)}: give each once")
    if true_type not in types:
        raise UserError(f"true_type is {true_type!r}: give one of {list(types)}")
