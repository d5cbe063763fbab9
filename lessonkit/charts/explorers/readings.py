"""One record read in several ways: which verdicts turn when the reading is changed.

Not in the paper, whose Table 3 has one reading and one run a row.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean

import altair as alt

from lessonkit.charts.controls import choice
from lessonkit.charts.style import OURS, PAPER, SOURCE, TARGET
from transformer.evaluation.compare import difference_interval, verdict
from transformer.support.errors import UserError

VERDICTS = {"higher": OURS, "lower": TARGET, "no difference": SOURCE, "not shown": PAPER}
Scores = Mapping[str, Sequence[float]]


def readings_explorer(
    readings: Mapping[str, Scores], worth: float, domain: tuple[float, float], unit: str = "BLEU"
) -> alt.LayerChart:
    """Draw every variant's difference from the first, with its 95% interval, by one reading.

    A list of the chart changes the reading; colours and shapes say the verdict.

    Args:
        readings: For each reading the figures of each variant's runs, the same variants in
            the same order, two runs or more of each; the first variant is the base.
        worth: The smallest difference worth having (see `compare.verdict`).
        domain: Lowest and highest difference that the axis shows; intervals may go beyond.
        unit: Of the figures.

    Raises:
        UserError: the readings have not the same variants, or a variant has one run.
    """
    variants = list(next(iter(readings.values())))
    for name, scores in readings.items():
        if list(scores) != variants:
            raise UserError(f"reading {name!r} has other variants: give every reading the same")
    rows = [row for name, scores in readings.items() for row in _rows(name, scores, worth)]
    counts = {name: _counted([r for r in rows if r["of"] == name]) for name in readings}
    first = next(iter(readings))
    control = choice("reading", first, list(readings))
    return alt.LayerChart(
        layer=_layers(rows, variants, domain, unit, [alt.param("counts", value=counts), control])
    ).properties(
        name="readings",
        width=420,
        height=20 * (len(variants) - 1),
        title=alt.Title(text=alt.ExprRef("reading + ': ' + counts[reading]"), anchor="start"),
        description=(
            f"For each of {len(variants) - 1} variants the difference of its mean from that of "
            f"{variants[0]}, with a 95% interval and a tick for each run. A list changes the "
            "reading. " + " ".join(f"{name}: {said}." for name, said in counts.items())
        ),
    )


def _layers(
    rows: list[dict[str, object]],
    variants: Sequence[str],
    domain: tuple[float, float],
    unit: str,
    controls: Sequence[alt.Parameter],
) -> list[alt.Chart]:
    """Draw a line at no difference, and of each variant the interval, the runs and the mean."""
    scale = alt.Scale(domain=list(domain), nice=False)
    colors = alt.Scale(domain=list(VERDICTS), range=list(VERDICTS.values()))
    color = alt.Color("verdict:N", scale=colors, legend=alt.Legend(title=f"against {variants[0]}"))
    across = alt.X("difference:Q", title=f"difference from {variants[0]} ({unit})", scale=scale)
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=list(VERDICTS)), legend=None)
    wide = alt.Axis(labelLimit=300)
    shown = (
        alt.Chart(alt.Data(values=rows))
        .transform_filter("datum.of == reading")
        .encode(y=alt.Y("variant:N", sort=list(variants[1:]), title="variant", axis=wide))
    )
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).encode(x="zero:Q")
    interval = shown.encode(x=alt.X("low:Q", scale=scale), x2="high:Q", color=color)
    runs = shown.transform_flatten(["runs"]).encode(x="runs:Q")
    centre = shown.encode(x=across, color=color, shape=shape).add_params(*controls)
    return [
        zero.mark_rule(color=PAPER, strokeDash=[4, 3], aria=False),
        interval.mark_rule(strokeWidth=2, clip=True, aria=False),
        runs.mark_tick(color="black", opacity=0.5, height=10, clip=True, aria=False),
        centre.mark_point(filled=True, size=70, opacity=1, clip=True, aria=False),
    ]


def _rows(reading: str, scores: Scores, worth: float) -> list[dict[str, object]]:
    """Give a row for each variant but the base."""
    base, *others = scores.items()
    rows: list[dict[str, object]] = []
    for variant, runs in others:
        interval = difference_interval(base[1], runs)
        rows.append(
            {
                "of": reading,
                "variant": variant,
                "difference": round(mean(runs) - mean(base[1]), 2),
                "low": round(interval.low, 2),
                "high": round(interval.high, 2),
                "runs": [round(run - mean(base[1]), 2) for run in runs],
                "verdict": verdict(interval, worth),
            }
        )
    return rows


def _counted(rows: Sequence[Mapping[str, object]]) -> str:
    """Say how many variants have each verdict."""
    found = Counter(str(row["verdict"]) for row in rows)
    return ", ".join(f"{found[name]} {name}" for name in VERDICTS)
