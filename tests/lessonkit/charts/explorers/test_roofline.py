"""The browser's roofline is the package's."""

import pytest
from lessonkit.charts.explorers.roofline import roofline_explorer

from lessonkit.analysis.machines import MACHINES, attainable, intensity
from tests.helpers.vega import points, title, with_controls
from transformer.support.errors import UserError

SETTINGS = [(0, 128, 0), (5, 4096, 1), (13, 512, 2)]


@pytest.mark.slow
@pytest.mark.parametrize(("power", "width", "place"), SETTINGS)
def test_roof_and_product_are_computed_as_in_python(power: int, width: int, place: int) -> None:
    machine = MACHINES[place]
    spec = with_controls(
        roofline_explorer().to_dict(), log2_tokens=power, matrix_width=width, machine=machine.name
    )
    for x, y in points(spec, 0, "intensity", "rate"):
        assert y == pytest.approx(attainable(machine, x), rel=1e-6)
    ((x, y),) = points(spec, 1, "intensity", "rate")
    assert x == pytest.approx(intensity(2**power, width, machine.number_bytes))
    assert y == pytest.approx(attainable(machine, x))
    share = 100 * attainable(machine, x) / machine.flops
    assert title(spec).endswith(f"at most {share:.0f}% of its peak")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"matrix_width": 100}, "matrix_width is 100: give one of 128, 256"),
        ({"machine": "H300"}, "machine is H300: give one of P100 on PCIe"),
        ({"log2_tokens": 16}, "log2_tokens is 16: the slider goes from 0 to 15"),
    ],
)
def test_values_that_the_controls_do_not_hold(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        roofline_explorer(**wrong)
