"""Several runs: dots and means, how often a difference shows, verdicts by reading."""

import math
from random import Random
from statistics import NormalDist, mean

import pytest
from matplotlib.axes import Axes

from lessonkit.charts import chance_explorer, draw_seeds, readings_explorer
from tests.helpers.vega import points, title, values, with_controls
from transformer.evaluation.compare import difference_interval, margin, verdict

READINGS = {
    "beam": {"base": [10.0, 11.0, 12.0], "a": [20.0, 21.0, 22.0], "b": [10.5, 11.5, 12.0]},
    "greedy": {"base": [10.0, 11.0, 12.0], "a": [1.0, 2.0, 2.5], "b": [11.0, 11.1, 10.9]},
}


def test_dots_means_names_and_what_may_be_chance(ax: Axes) -> None:
    scores = {"as it is": [37.0, 39.0, 41.0], "less": [31.0], "more": [40.0, 43.0]}
    assert draw_seeds(scores, ax, "BLEU", "What it costs", margin=1.5) is ax
    *rows, across = ax.lines
    dots, bars = rows[::2], rows[1::2]
    assert [list(line.get_xdata()) for line in dots] == list(scores.values())
    assert [list(line.get_ydata()) for line in dots] == [[0, 0, 0], [1], [2, 2]]
    assert [list(line.get_xdata()) for line in bars] == [[39, 39], [31, 31], [41.5, 41.5]]
    assert list(across.get_xdata()) == [39, 39]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(scores)
    assert ax.yaxis_inverted()
    assert [text.get_text() for text in ax.texts] == ["39.0", "31.0", "41.5"]
    assert (ax.get_xlabel(), ax.get_title()) == ("BLEU", "What it costs")
    (band,) = ax.patches
    assert (band.get_x(), band.get_width()) == (37.5, 3.0)


@pytest.mark.slow
@pytest.mark.parametrize(("difference", "deviation", "runs"), [(1.0, 0.5, 7), (5.0, 3.0, 1)])
def test_curves_and_lines_of_chance(difference: float, deviation: float, runs: int) -> None:
    spec = with_controls(
        chance_explorer().to_dict(), difference=difference, deviation=deviation, runs=runs
    )
    error = deviation * math.sqrt(2 / runs)
    for layer, centre in ((1, 0.0), (2, difference)):
        drawn = points(spec, layer, "measured", "density")
        assert [x for x, _ in drawn] == [point / 16 for point in range(-128, 129)]
        wanted = [NormalDist(centre, error).pdf(x) for x, _ in drawn]
        assert [y for _, y in drawn] == pytest.approx(wanted, rel=1e-6, abs=1e-12)
    lines = [x for x, _ in points(spec, 0, "measured", "side")]
    assert lines == pytest.approx([-2 * error, 2 * error])
    # Where the deviation is known from very many runs, this is the package's margin, nearly.
    pairs = {str(i): [0.0, deviation * math.sqrt(2)] for i in range(2000)}
    assert margin(pairs, runs) == pytest.approx(2 * error, rel=0.03)


def test_the_title_says_how_often_a_drawn_difference_shows() -> None:
    spec = chance_explorer().to_dict()
    assert title(spec) == "The difference shows in 22 of 100 tables"
    assert "In 22 of 100 tables" in spec["description"]
    chance, beyond = Random(1), 0
    for _ in range(4000):
        a, b = (mean(chance.gauss(centre, 1) for _ in range(3)) for centre in (0, 1))
        beyond += abs(a - b) > 2 * math.sqrt(2 / 3)
    assert beyond / 40 == pytest.approx(22, abs=2)


def test_readings_have_the_package_s_figures_and_a_tick_for_each_run() -> None:
    spec = readings_explorer(READINGS, worth=5, domain=(-20, 20)).to_dict()
    assert title(spec) == "beam: 1 higher, 0 lower, 1 no difference, 0 not shown"
    spec = with_controls(spec, reading="greedy")
    assert title(spec) == "greedy: 0 higher, 1 lower, 1 no difference, 0 not shown"
    base, *others = READINGS["greedy"].values()
    ticks = values(spec, (2,), "datum.variant", "datum.runs")
    means = values(spec, (-1,), "datum.variant", "datum.difference", "datum.verdict")
    for name, runs in zip("ab", others, strict=True):
        assert [[name, f"{round(run - mean(base), 2):g}"] for run in runs] == [
            tick for tick in ticks if tick[0] == name
        ]
        said = verdict(difference_interval(base, runs), worth=5)
        assert [name, f"{round(mean(runs) - mean(base), 2):g}", said] in means
