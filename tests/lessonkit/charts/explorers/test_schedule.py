"""The explorer of the schedule: the browser computes the rates that the package does."""

from typing import Any

import pytest
from lessonkit.charts.explorers.schedule import SYSTEMS, schedule_explorer

from tests.helpers.vega import points, texts, title, with_controls
from transformer.support.errors import UserError
from transformer.training.schedule import learning_rate


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d_model", "warmup_steps", "factor"),
    [(512, 4000, 1.0), (64, 500, 2.0), (1024, 16_000, 0.25), (192, 6500, 1.75)],
)
def test_schedule_is_the_package_s(d_model: int, warmup_steps: int, factor: float) -> None:
    spec = with_controls(
        schedule_explorer().to_dict(), d_model=d_model, warmup_steps=warmup_steps, factor=factor
    )
    curve = points(spec, 0, "step", "rate")
    assert [step for step, _ in curve][:3] == [1, 100, 200]
    assert curve[-1][0] == 40_000
    for step, rate in curve:
        expected = learning_rate(int(step), d_model, warmup_steps, factor)
        assert rate == pytest.approx(expected, rel=1e-12)
    highest = max(rate for _, rate in curve)
    at = [step for step, rate in curve if rate == highest]
    assert at == [warmup_steps]
    peak = f"{highest:.2e}".replace("e-0", "e-")  # as the browser writes it
    assert title(spec) == f"Learning rate: highest, {peak}, at step {warmup_steps:,}"


@pytest.mark.slow
def test_schedule_shows_earlier_systems_that_stay() -> None:
    assert SYSTEMS == ((512, 4000, 1), (512, 8000, 1), (256, 4000, 1), (512, 4000, 2))
    spec = schedule_explorer().to_dict()
    curves = points(spec, 1, "step", "rate")
    expected = [
        (step, learning_rate(step, d_model, warmup_steps, factor))
        for d_model, warmup_steps, factor in SYSTEMS
        for step in [1, *range(100, 40_001, 100)]
    ]
    assert len(curves) == len(expected)
    for (step, rate), (step_wanted, rate_wanted) in zip(curves, expected, strict=True):
        assert step == step_wanted
        assert rate == pytest.approx(rate_wanted, rel=1e-12)
    moved = with_controls(spec, d_model=128, warmup_steps=1000, factor=2)
    assert points(moved, 1, "step", "rate") == curves
    names = [text for text, *_ in texts(spec, "role-legend-label")]
    assert names[0] == "d_model 512, warm-up 4,000"
    assert names[3] == "d_model 512, warm-up 4,000, factor 2"
    assert all(name in spec["description"] for name in names)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"d_model": 32}, "d_model is 32: the slider goes from 64 to 1024"),
        ({"warmup_steps": 20_000}, "warmup_steps is 20000"),
        ({"factor": 0}, "factor is 0"),
    ],
)
def test_schedule_refuses_what_the_sliders_do_not_reach(
    wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        schedule_explorer(**wrong)
