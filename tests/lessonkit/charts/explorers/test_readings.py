"""The explorer of readings: rows, verdicts and title follow the list, as the package computes."""

from statistics import mean

import pytest
from lessonkit.charts.explorers.readings import readings_explorer

from tests.helpers.vega import as_text, texts, title, with_controls
from transformer.evaluation.significance import difference_interval, verdict
from transformer.support.errors import UserError

READINGS = {
    "beam": {"base": [10.0, 11.0, 12.0], "a": [20.0, 21.0, 22.0], "b": [10.5, 11.5, 12.0]},
    "greedy": {"base": [10.0, 11.0, 12.0], "a": [1.0, 2.0, 2.5], "b": [11.0, 11.1, 10.9]},
}


def explorer() -> dict[str, object]:
    return readings_explorer(READINGS, worth=5, domain=(-20, 20)).to_dict()


@pytest.mark.parametrize("reading", READINGS)
def test_the_browser_shows_the_package_s_figures(reading: str) -> None:
    spec = with_controls(explorer(), reading=reading)
    as_text(spec["layer"][-1], "datum.variant + ' ' + datum.difference + ' ' + datum.verdict")
    base = READINGS[reading]["base"]
    wanted = set()
    for name, runs in list(READINGS[reading].items())[1:]:
        said = verdict(difference_interval(base, runs), worth=5)
        wanted.add(f"{name} {round(mean(runs) - mean(base), 2):g} {said}")
    assert {text for text, *_ in texts(spec, "role-mark") if text} == wanted


def test_the_title_counts_the_verdicts_of_the_reading() -> None:
    spec = explorer()
    assert title(spec) == "beam: 1 higher, 0 lower, 1 no difference, 0 not shown"
    turned = with_controls(spec, reading="greedy")
    assert title(turned) == "greedy: 0 higher, 1 lower, 1 no difference, 0 not shown"
    assert "greedy: 0 higher, 1 lower" in str(spec["description"])


def test_every_run_has_a_tick() -> None:
    spec = with_controls(explorer(), reading="greedy")
    as_text(spec["layer"][2], "datum.variant + ' ' + datum.runs")
    drawn = [text for text, *_ in texts(spec, "role-mark") if text]
    assert {"a -10", "a -9", "a -8.5"} <= set(drawn)


def test_readings_of_other_variants_are_refused() -> None:
    with pytest.raises(UserError, match="'greedy' has other variants"):
        readings_explorer(
            {"beam": READINGS["beam"], "greedy": {"base": [1.0, 2.0]}}, 5, domain=(-1, 1)
        )
    with pytest.raises(UserError, match="add seeds"):
        readings_explorer({"beam": {"base": [1.0, 2.0], "a": [1.0]}}, 5, domain=(-1, 1))
