"""Training: curves as given, and the browser's numbers are those of the package."""

import math
from statistics import NormalDist, mean
from typing import Any

import pytest
import torch
from matplotlib.axes import Axes

from lessonkit.analysis.significance import difference_interval, difference_verdict, margin_of_error
from lessonkit.charts import (
    differences_explorer,
    draw_loss,
    label_smoothing_explorer,
    power_explorer,
    schedule_explorer,
)
from lessonkit.charts.schedule import EARLIER_SYSTEM_SCHEDULES
from tests.helpers.vega import points, title, values, with_controls
from transformer.training.loss import label_smoothing_loss
from transformer.training.schedule import learning_rate


@pytest.mark.slow
def test_the_schedule_is_the_package_s() -> None:
    d_model, warmup_steps, factor = 192, 6500, 1.75
    spec = with_controls(
        schedule_explorer().to_dict(), d_model=d_model, warmup_steps=warmup_steps, factor=factor
    )
    curve = points(spec, 0, "step", "rate")
    assert [step for step, _ in curve] == [1, *range(100, 40_001, 100)]
    wanted = [learning_rate(int(step), d_model, warmup_steps, factor) for step, _ in curve]
    assert [rate for _, rate in curve] == pytest.approx(wanted, rel=1e-12)
    peak = f"{max(wanted):.2e}".replace("e-0", "e-")  # as the browser writes it
    assert title(spec) == f"Learning rate: highest, {peak}, at step {warmup_steps:,}"
    others = points(spec, 1, "step", "rate")  # they stay
    wanted = [
        learning_rate(int(step), *each) for each in EARLIER_SYSTEM_SCHEDULES for step, _ in curve
    ]
    assert [rate for _, rate in others] == pytest.approx(wanted, rel=1e-12)


def _loss(p: float, vocab_size: int, smoothing: float) -> float:
    """The package's loss of a model that gives p to the truth and the rest to the others."""
    others = math.log((1 - p) / (vocab_size - 1))
    log_probs = torch.full((1, 1, vocab_size), others, dtype=torch.float64)
    log_probs[..., 5] = math.log(p)
    sums = label_smoothing_loss(log_probs, torch.tensor([[5]]), smoothing=smoothing, pad_id=0)
    return float(sums.loss)


@pytest.mark.slow
@pytest.mark.parametrize(("vocab_size", "smoothing"), [(1000, 0.0), (10, 0.3), (100, 0.1)])
def test_the_smoothed_loss_is_the_package_s(vocab_size: int, smoothing: float) -> None:
    spec = with_controls(
        label_smoothing_explorer().to_dict(), vocab_size=vocab_size, smoothing=smoothing
    )
    curve = points(spec, 1, "p", "loss")
    assert len(curve) == 199
    wanted = [_loss(p, vocab_size, smoothing) for p, _ in curve]
    assert [loss for _, loss in curve] == pytest.approx(wanted, rel=1e-9)
    plain = points(spec, 0, "p", "loss")
    assert [loss for _, loss in plain] == pytest.approx([-math.log(p) for p, _ in plain], abs=1e-12)
    ((_, lowest),) = points(spec, 2, "p", "loss")
    assert lowest <= min(wanted) + 1e-12
    best = 1 - smoothing + smoothing / vocab_size
    assert title(spec) == f"Loss is lowest at confidence {best:.3f}"


LOG: list[dict[str, Any]] = [
    {"kind": "training", "step": 3, "loss": 7.0},
    {"kind": "training", "step": 5, "loss": 5.5},
    {"kind": "validation", "step": 5, "loss": 5.75},
    {"kind": "training", "step": 7, "loss": 4.0},
]


def drawn(ax: Axes) -> dict[object, list[tuple[float, float]]]:
    return {line.get_label(): list(map(tuple, line.get_xydata())) for line in ax.lines}


def legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_loss_over_steps(ax: Axes) -> None:
    assert draw_loss(LOG, ax, "the demo") is ax
    assert drawn(ax) == {"training": [(3, 7), (5, 5.5), (7, 4)], "validation": [(5, 5.75)]}
    assert (ax.get_title(), ax.get_ylim()[0]) == ("the demo", 0)
    ax.clear()
    assert legend(draw_loss(LOG[:2], ax)) == ["training"]  # before the first validation


READINGS = {
    "beam": {"base": [10.0, 11.0, 12.0], "a": [20.0, 21.0, 22.0], "b": [10.5, 11.5, 12.0]},
    "greedy": {"base": [10.0, 11.0, 12.0], "a": [1.0, 2.0, 2.5], "b": [11.0, 11.1, 10.9]},
}


@pytest.mark.slow
@pytest.mark.parametrize(("difference", "deviation", "runs"), [(1.0, 0.5, 7), (5.0, 3.0, 1)])
def test_curves_and_lines_of_chance(difference: float, deviation: float, runs: int) -> None:
    spec = with_controls(
        power_explorer().to_dict(), difference=difference, deviation=deviation, runs=runs
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
    assert margin_of_error(pairs, runs) == pytest.approx(2 * error, rel=0.03)


def test_readings_have_the_package_s_figures_and_a_tick_for_each_run() -> None:
    spec = differences_explorer(READINGS, worth=5, domain=(-20, 20)).to_dict()
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
        said = difference_verdict(difference_interval(base, runs), worth=5)
        assert [name, f"{round(mean(runs) - mean(base), 2):g}", said] in means
