"""Table 1's explorer: the browser computes what `lessonkit.analysis.costs` does."""

import pytest

from lessonkit.analysis.costs import table_1
from lessonkit.charts.explorers.costs import COSTS, QUANTITIES, costs_explorer
from tests.helpers.vega import points, title, with_controls
from transformer.support.errors import UserError


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize(("d", "kernel", "neighbours"), [(512, 3, 16), (64, 5, 4), (1024, 9, 64)])
def test_costs_are_the_package_s(quantity: str, d: int, kernel: int, neighbours: int) -> None:
    spec = with_controls(
        costs_explorer().to_dict(), quantity=quantity, d=d, kernel=kernel, neighbours=neighbours
    )
    drawn = points(spec, 0, "n", "cost")
    lengths = [2**power for power in range(13)]
    wanted = [
        (n, max(1, getattr(table_1(n, d, kernel, neighbours)[layer], quantity)))
        for layer in COSTS
        for n in lengths
    ]
    assert [n for n, _ in drawn] == [n for n, _ in wanted]
    assert [cost for _, cost in drawn] == pytest.approx([cost for _, cost in wanted], rel=1e-9)


def test_the_title_says_where_they_cross() -> None:
    spec = costs_explorer(d=128).to_dict()
    assert title(spec).endswith("while n is under 128")
    assert title(with_controls(spec, d=1024)).endswith("while n is under 1024")
    assert title(with_controls(spec, quantity="sequential")).startswith("Only the recurrent")
    assert title(with_controls(spec, quantity="path")).startswith("Only self-attention")


def test_a_width_that_the_list_has_not() -> None:
    with pytest.raises(UserError, match="d is 100: give one of 32, 64"):
        costs_explorer(d=100)
