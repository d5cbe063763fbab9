"""The explorer of chance: the browser's curves and title against Python's own distribution."""

import math
from random import Random
from statistics import NormalDist, mean
from typing import Any

import pytest
from lessonkit.charts.explorers.significance import chance_explorer

from tests.helpers.vega import points, title, with_controls
from transformer.evaluation.significance import margin
from transformer.support.errors import UserError

SETTINGS = [(1.0, 1.0, 3), (0.0, 0.5, 7), (5.0, 3.0, 1), (0.5, 0.25, 20)]


@pytest.mark.slow
@pytest.mark.parametrize(("difference", "deviation", "runs"), SETTINGS)
def test_curves_are_the_two_distributions(difference: float, deviation: float, runs: int) -> None:
    spec = with_controls(
        chance_explorer().to_dict(), difference=difference, deviation=deviation, runs=runs
    )
    error = deviation * math.sqrt(2 / runs)
    for layer, centre in ((1, 0.0), (2, difference)):
        drawn = points(spec, layer, "measured", "density")
        assert [x for x, _ in drawn] == [point / 16 for point in range(-128, 129)]
        wanted = [NormalDist(centre, error).pdf(x) for x, _ in drawn]
        assert [y for _, y in drawn] == pytest.approx(wanted, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("difference", "deviation", "runs"), SETTINGS)
def test_lines_stand_two_standard_errors_off(
    difference: float, deviation: float, runs: int
) -> None:
    spec = with_controls(
        chance_explorer().to_dict(), difference=difference, deviation=deviation, runs=runs
    )
    wanted = 2 * deviation * math.sqrt(2 / runs)
    drawn = [x for x, _ in points(spec, 0, "measured", "side")]
    assert drawn == pytest.approx([-wanted, wanted])
    # Where the deviation is known from very many runs, this is the package's margin, nearly.
    pairs = {str(i): [0.0, deviation * math.sqrt(2)] for i in range(2000)}
    assert margin(pairs, runs) == pytest.approx(wanted, rel=0.03)


def test_the_title_says_how_often_a_drawn_difference_shows() -> None:
    spec = chance_explorer().to_dict()
    assert title(spec) == "The difference shows in 22 of 100 tables"
    chance, beyond = Random(1), 0
    for _ in range(4000):
        a, b = (mean(chance.gauss(centre, 1) for _ in range(3)) for centre in (0, 1))
        beyond += abs(a - b) > 2 * math.sqrt(2 / 3)
    assert beyond / 40 == pytest.approx(22, abs=2)
    assert title(with_controls(spec, difference=0)) == "The difference shows in 5 of 100 tables"
    assert "In 22 of 100 tables" in spec["description"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"difference": 6}, "difference is 6: the slider goes from 0 to 5"),
        ({"deviation": 0}, "deviation is 0: the slider goes from"),
        ({"runs": 0}, "runs is 0: the slider goes from 1 to 20"),
    ],
)
def test_values_that_the_sliders_do_not_reach(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        chance_explorer(**wrong)
