"""How often a difference shows, by the number of runs, in a chart that the browser computes anew.

Not in the paper, whose Table 3 has one run a row.
"""

import math
from statistics import NormalDist

import altair as alt

from lessonkit.charts.controls import slider
from lessonkit.charts.style import OURS, PAPER

# Slider: lowest, highest, and how far apart two values are.
SLIDERS = {"difference": (0, 5, 0.25), "deviation": (0.25, 3, 0.25), "runs": (1, 20, 1)}
WIDEST, STEPS = 8, 256  # the curves go from -WIDEST to WIDEST, in so many steps

ERROR = "(deviation * sqrt(2 / runs))"  # the standard error of a difference of two means
# Beyond two standard errors, to either side: 95 of 100 lie within where the deviation is known.
# Of a few runs it is not, and `transformer.evaluation.compare.margin` goes further.
SHOWN = (
    f"(cumulativeNormal(-2 * {ERROR}, difference, {ERROR})"
    f" + 1 - cumulativeNormal(2 * {ERROR}, difference, {ERROR}))"
)


def chance_explorer(
    difference: float = 1.0, deviation: float = 1.0, runs: int = 3
) -> alt.LayerChart:
    """Draw where the difference of two means falls, if one variant is better in truth.

    Each mean is of some runs, and a single run has a known deviation. The dashed curve is of two
    variants that are equal. Between the grey lines, two standard errors to either side,
    a difference is called noise; the title says how often the true one lies outside.

    Args:
        difference: Between the variants in truth, in BLEU, to begin with.
        deviation: Standard deviation of a single run, in BLEU, to begin with.
        runs: Of each variant, to begin with.

    Raises:
        UserError: a value lies outside its slider.
    """
    start: dict[str, float] = {"difference": difference, "deviation": deviation, "runs": runs}
    sliders = [slider(name, value, *SLIDERS[name]) for name, value in start.items()]
    equal = _curve("0").mark_line(color=PAPER, strokeWidth=1, strokeDash=[4, 3], aria=False)
    true = _curve("difference").mark_line(color=OURS, strokeWidth=3, aria=False)
    title = f"'The difference shows in ' + format(100 * {SHOWN}, '.0f') + ' of 100 tables'"
    found = 100 * _shown(difference, deviation * math.sqrt(2 / runs))
    return alt.LayerChart(layer=[_margins(), equal, true.add_params(*sliders)]).properties(
        name="chance",
        width=480,
        height=260,
        title=alt.Title(text=alt.ExprRef(title), anchor="start"),
        description=(
            "Two bell curves: the difference between the means of two variants, in BLEU, if they "
            f"are equal (dashed) and if one is better by {difference:g}. A single run deviates by "
            f"{deviation:g}; {runs} of each. In {found:.0f} of 100 tables the difference lies "
            "beyond two standard errors. Sliders change difference, deviation and runs."
        ),
    )


def _shown(difference: float, error: float) -> float:
    """Give how often the difference of the means lies beyond two standard errors."""
    measured = NormalDist(difference, error)
    return measured.cdf(-2 * error) + 1 - measured.cdf(2 * error)


def _curve(centre: str) -> alt.Chart:
    return (
        alt.Chart(alt.Data(values=[{"point": 0}]))
        .transform_calculate(point=f"sequence({STEPS + 1})")
        .transform_flatten(["point"])
        .transform_calculate(measured=f"-{WIDEST} + {2 * WIDEST} * datum.point / {STEPS}")
        .transform_calculate(density=f"densityNormal(datum.measured, {centre}, {ERROR})")
        .encode(
            x=alt.X("measured:Q", title="difference of the two means (BLEU)"),
            y=alt.Y("density:Q", title="how often (density)"),
        )
    )


def _margins() -> alt.Chart:
    """Draw a line two standard errors to either side of no difference."""
    return (
        alt.Chart(alt.Data(values=[{"side": -1}, {"side": 1}]))
        .transform_calculate(measured=f"2 * datum.side * {ERROR}")
        .mark_rule(color=PAPER, strokeWidth=2, opacity=0.5, aria=False)
        .encode(x="measured:Q")
    )
