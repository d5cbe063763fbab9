"""How much of a difference is chance: statistical power, and variants with several runs.

Not in the paper, whose Table 3 has one run a row.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import NormalDist, mean

import altair as alt

from lessonkit.analysis.significance import difference_interval, difference_verdict
from lessonkit.charts.controls import (
    DataRows,
    chart_with_sequence_rows,
    colour_scale,
    explorer_of_overlaid_charts,
    make_drop_down,
    make_slider,
)
from lessonkit.charts.style import (
    INK_COLOUR,
    OURS_COLOUR,
    PAPER_COLOUR,
    SOURCE_COLOUR,
    TARGET_COLOUR,
)
from transformer.support.checks import check_has_items
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

# The curves go from -MAX_PLOTTED_DIFFERENCE to MAX_PLOTTED_DIFFERENCE in so many steps.
MAX_PLOTTED_DIFFERENCE = 8
NUM_CURVE_STEPS = 256
STANDARD_ERROR_EXPR = "(deviation * sqrt(2 / runs))"  # of a difference of two means
# The power: how often a difference lies beyond two standard errors, to either side. If the
# deviation is known, 95 of 100 lie within. Of a few runs it is not, and
# `lessonkit.analysis.significance.margin_of_error` goes further.
POWER_EXPR = (
    f"(cumulativeNormal(-2 * {STANDARD_ERROR_EXPR}, difference, {STANDARD_ERROR_EXPR})"
    f" + 1 - cumulativeNormal(2 * {STANDARD_ERROR_EXPR}, difference, {STANDARD_ERROR_EXPR}))"
)
COLOUR_BY_VERDICT = {
    "higher": OURS_COLOUR,
    "lower": TARGET_COLOUR,
    "no difference": SOURCE_COLOUR,
    "not shown": PAPER_COLOUR,
}
ScoresByVariant = Mapping[str, Sequence[float]]


@check_argument_types
def power_explorer(
    difference: float = 1.0, deviation: float = 1.0, runs: int = 3
) -> alt.LayerChart:
    """Draw where the difference of two means falls if one variant is truly better.

    Each mean is of some runs, and a single run has a known deviation (BLEU, as the difference). The
    dashed curve is of two variants that are equal. Between the grey lines, two standard errors to
    either side, a difference is called noise; the title says how often the true one lies outside.
    The arguments are what the sliders begin with.
    """
    controls = [
        make_slider("difference", difference, 0, 5, 0.25),
        make_slider("deviation", deviation, 0.25, 3, 0.25),
        make_slider("runs", runs, 1, 20),
    ]
    margins = (
        alt.Chart(alt.Data(values=[{"side": -1}, {"side": 1}]))
        .transform_calculate(measured=f"2 * datum.side * {STANDARD_ERROR_EXPR}")
        .mark_rule(color=PAPER_COLOUR, strokeWidth=2, opacity=0.5, aria=False)
        .encode(x="measured:Q")
    )
    layers = [
        margins,
        _chart_of_density("0").mark_line(
            color=PAPER_COLOUR, strokeWidth=1, strokeDash=[4, 3], aria=False
        ),
        _chart_of_density("difference").mark_line(color=OURS_COLOUR, strokeWidth=3, aria=False),
    ]
    error = deviation * math.sqrt(2 / runs)
    measured = NormalDist(difference, error)
    power = 100 * (measured.cdf(-2 * error) + 1 - measured.cdf(2 * error))
    title = f"'The difference shows in ' + format(100 * {POWER_EXPR}, '.0f') + ' of 100 tables'"
    description = (
        "Two bell curves: the difference between the means of two variants, in BLEU, if they are "
        f"equal (dashed) and if one is better by {difference:g}. A single run deviates by "
        f"{deviation:g}; {runs} of each. In {power:.0f} of 100 tables the difference lies "
        "beyond two standard errors. Sliders change difference, deviation and runs."
    )
    return explorer_of_overlaid_charts("chance", (480, 260), title, controls, layers, description)


def _chart_of_density(centre: str) -> alt.Chart:
    step = f"{2 * MAX_PLOTTED_DIFFERENCE} * datum.point / {NUM_CURVE_STEPS}"
    return (
        chart_with_sequence_rows("point", str(NUM_CURVE_STEPS + 1))
        .transform_calculate(
            measured=f"-{MAX_PLOTTED_DIFFERENCE} + {step}",
            density=f"densityNormal(datum.measured, {centre}, {STANDARD_ERROR_EXPR})",
        )
        .encode(
            x=alt.X("measured:Q", title="difference of the two means (BLEU)"),
            y=alt.Y("density:Q", title="how often (density)"),
        )
    )


@check_argument_types
def differences_explorer(
    readings: Mapping[str, ScoresByVariant], worth: float, domain: tuple[float, float]
) -> alt.LayerChart:
    """Draw every variant's difference from the first, with its 95% interval, by one reading.

    A list of the chart changes the reading; colours and shapes say the verdict.

    Args:
        readings: For each reading the figures (BLEU) of each variant's runs, the same variants in
            the same order, two runs or more of each; the first variant is the base.
        worth: The smallest difference worth having (see `compare.verdict`).
        domain: Lowest and highest difference that the axis shows; intervals may go beyond.
    """
    check_has_items("readings", readings)
    variants = list(next(iter(readings.values())))
    for name, scores in readings.items():
        if list(scores) != variants:
            raise UserError(f"reading {name!r} has other variants: give every reading the same")
    rows: DataRows = []
    for name, scores in readings.items():
        rows += _difference_rows(name, scores, worth)
    occurrences = Counter((row["of"], row["verdict"]) for row in rows)
    counts = {}
    for name in readings:
        parts = [f"{occurrences[name, outcome]} {outcome}" for outcome in COLOUR_BY_VERDICT]
        counts[name] = ", ".join(parts)
    controls = [
        alt.param("counts", value=counts),
        make_drop_down("reading", next(iter(readings)), readings),
    ]
    description = (
        f"For each of {len(variants) - 1} variants the difference of its mean from that of "
        f"{variants[0]}, with a 95% interval and a tick for each run. A list changes the reading. "
        + " ".join(f"{name}: {verdicts}." for name, verdicts in counts.items())
    )
    layers = _difference_layers(rows, variants, domain)
    size, title = (420, 20 * (len(variants) - 1)), "reading + ': ' + counts[reading]"
    return explorer_of_overlaid_charts("readings", size, title, controls, layers, description)


def _difference_layers(
    rows: DataRows, variants: Sequence[str], domain: tuple[float, float]
) -> list[alt.Chart]:
    """Draw a line at no difference, and of each variant the interval, the runs and the mean."""
    scale = alt.Scale(domain=list(domain), nice=False)
    legend = alt.Legend(title=f"against {variants[0]}")
    color = alt.Color(
        "verdict:N",
        scale=colour_scale(COLOUR_BY_VERDICT, COLOUR_BY_VERDICT.values()),
        legend=legend,
    )
    across = alt.X("difference:Q", title=f"difference from {variants[0]} (BLEU)", scale=scale)
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=list(COLOUR_BY_VERDICT)), legend=None)
    wide = alt.Axis(labelLimit=300)
    shown = (
        alt.Chart(alt.Data(values=rows))
        .transform_filter("datum.of == reading")
        .encode(y=alt.Y("variant:N", sort=list(variants[1:]), title="variant", axis=wide))
    )
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).encode(x="zero:Q")
    interval = shown.encode(x=alt.X("low:Q", scale=scale), x2="high:Q", color=color)
    runs = shown.transform_flatten(["runs"]).encode(x="runs:Q")
    centre = shown.encode(x=across, color=color, shape=shape)
    return [
        zero.mark_rule(color=PAPER_COLOUR, strokeDash=[4, 3], aria=False),
        interval.mark_rule(strokeWidth=2, clip=True, aria=False),
        runs.mark_tick(color=INK_COLOUR, opacity=0.8, height=10, clip=True, aria=False),
        centre.mark_point(filled=True, size=70, opacity=1, clip=True, aria=False),
    ]


def _difference_rows(reading: str, scores: ScoresByVariant, worth: float) -> DataRows:
    """Return a row for each variant but the base."""
    (_, base), *others = scores.items()
    rows: DataRows = []
    for variant, runs in others:
        interval = difference_interval(base, runs)
        rows.append(
            {
                "of": reading,
                "variant": variant,
                "difference": round(mean(runs) - mean(base), 2),
                "low": round(interval.low, 2),
                "high": round(interval.high, 2),
                "runs": [round(run - mean(base), 2) for run in runs],
                "verdict": difference_verdict(interval, worth),
            }
        )
    return rows
