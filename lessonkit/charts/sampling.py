"""A next token drawn: temperature and top-p as the browser computes them anew.

Not in the paper: Holtzman et al. (2020), "The Curious Case of Neural Text Degeneration".
"""

import json
from collections.abc import Sequence

import altair as alt

from lessonkit.charts.controls import axis, layered, slider
from lessonkit.charts.style import OURS, PAPER
from transformer.support.errors import UserError

SHOWN = 12  # the most probable types, a bar each


def sampling_explorer(
    log_probs: Sequence[float], tokens: Sequence[str], temperature: float = 1.0, top_p: float = 0.9
) -> alt.LayerChart:
    """Draw how probable each next token is, once temperature and top-p have changed it.

    Not in the paper. Green bars can be drawn, and their lengths sum to 1 with those that are not
    shown; grey ones are cut, and have the length that they had before. Each type of the vocabulary
    has its log probability (nats), in any order; the 12 most probable ones have texts, the best
    first.
    """
    bars = min(SHOWN, len(log_probs))
    if len(tokens) != bars:
        raise UserError(f"{len(tokens)} texts for {bars} bars: give {bars}, the best first")
    controls = [
        slider("temperature", temperature, 0.1, 2.0, 0.1),
        slider("top_p", top_p, 0.05, 1, 0.05),
    ]
    ranked = _ranked(log_probs)
    places = _places(ranked, tokens)
    kept = alt.condition("datum.kept", alt.value(OURS), alt.value(PAPER))
    figures = places.mark_text(aria=False, align="left", dx=4).encode(
        text=alt.Text("length:Q", format=".1%"), color=kept
    )
    types = f"{len(log_probs):,}"
    number = (
        ranked.transform_filter("datum.kept")
        .transform_aggregate(many="count()")
        .transform_calculate(text=f"format(datum.many, ',') + ' of {types} types can be drawn'")
        .mark_text(aria=False, align="right", baseline="bottom", fontSize=13)
        .encode(x=alt.value(474), y=alt.value("height"), text="text:N", color=alt.value(OURS))
    )
    title = "'Temperature ' + format(temperature, '.1f') + ', top_p ' + format(top_p, '.2f')"
    description = (
        f"Bar chart of the {bars} most probable next tokens ({', '.join(tokens)}) with "
        f"temperature {temperature:g} and top_p {top_p:g}: those that can be drawn in green, "
        f"those cut in grey, of {types} types. Controls change temperature and top_p."
    )
    layers = [places.mark_bar(aria=False).encode(color=kept), figures, number]
    return layered("sampling", (480, 22 * bars), title, controls, layers, description)


def _ranked(log_probs: Sequence[float]) -> alt.Chart:
    """Give each type a rank, its probability with the temperature, and its share of what is kept.

    The numbers stand in one text: a list of thousands would fill a notebook with lines.
    """
    numbers = " ".join(f"{each:.2f}" for each in sorted(log_probs, reverse=True))
    return (
        alt.Chart(alt.Data(values=[{"log_prob": numbers}]))
        .transform_calculate(log_prob="split(datum.log_prob, ' ')")
        .transform_flatten(["log_prob"])
        .transform_window(rank="row_number()")
        .transform_calculate(power="exp(toNumber(datum.log_prob) / temperature)")
        .transform_joinaggregate(total="sum(power)")
        .transform_calculate(p="datum.power / datum.total")
        .transform_window(reached="sum(p)", frame=[None, 0])
        .transform_calculate(kept="datum.reached - datum.p < top_p")
        .transform_calculate(kept_p="datum.kept ? datum.p : 0")
        .transform_joinaggregate(kept_sum="sum(kept_p)")
        .transform_calculate(length="datum.kept ? datum.p / datum.kept_sum : datum.p")
    )


def _places(ranked: alt.Chart, tokens: Sequence[str]) -> alt.Chart:
    """Give what bars and figures share: a row for each of the best, and a length."""
    texts = json.dumps(list(tokens), ensure_ascii=False)
    x = axis(alt.X, "length", "probability of being drawn", {"domain": [0, 1]}, format="%")
    return (
        ranked.transform_filter(f"datum.rank <= {len(tokens)}")
        .transform_calculate(token=f"{texts}[datum.rank - 1]")
        .encode(x, alt.Y("token:N", sort=list(tokens), title="next token"))
    )
