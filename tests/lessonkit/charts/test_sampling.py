"""The sampling explorer: the browser's temperature and top-p are those of the exercise."""

import math

import pytest
import torch

from lessonkit.charts import sampling_explorer
from lessonkit.charts.sampling import SHOWN
from tests.helpers.vega import Spec, points, texts, title, with_controls

LOGITS = torch.tensor([0.0, 2.0, 1.0, -1.0, 0.5])
LOG_PROBS = [round(each, 2) for each in LOGITS.log_softmax(dim=-1).tolist()]
TOKENS = ["second", "third", "fifth", "first", "fourth"]  # by probability


def bars(moved: Spec, value: str) -> dict[float, float]:
    """A number of each bar by its rank, of the chart without its other layers."""
    return dict(points({**moved, "layer": moved["layer"][:1]}, 0, "rank", value))


def kept(temperature: float, top_p: float) -> list[float]:
    """The shares of the fewest tokens that reach top_p, the best first, counted by hand."""
    powers = sorted((math.exp(each / temperature) for each in LOG_PROBS), reverse=True)
    few: list[float] = []
    while sum(few) < top_p * sum(powers):
        few.append(powers[len(few)])
    return [power / sum(few) for power in few]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("temperature", "top_p"), [(0.1, 0.9), (0.7, 0.6), (2.0, 0.9), (1.0, 0.05)]
)
def test_what_can_be_drawn_is_what_sampling_draws(temperature: float, top_p: float) -> None:
    spec = sampling_explorer(LOG_PROBS, TOKENS).to_dict()
    moved = with_controls(spec, temperature=temperature, top_p=top_p)
    drawn, green = bars(moved, "length"), bars(moved, "kept_p")
    shares = [drawn[rank] for rank in sorted(drawn) if green[rank]]
    assert shares == pytest.approx(kept(temperature, top_p), abs=1e-9)
    cut, whole = [rank for rank in sorted(drawn) if not green[rank]], bars(moved, "p")
    assert [drawn[rank] for rank in cut] == [whole[rank] for rank in cut]  # these keep their length
    said = [text for text, *_ in texts(moved, "role-mark") if "types" in text]
    assert said == [f"{len(shares)} of 5 types can be drawn"]
    assert title(moved) == f"Temperature {temperature:.1f}, top_p {top_p:.2f}"


def test_of_many_types_the_best_have_a_bar() -> None:
    many = torch.linspace(3, -3, 31).log_softmax(dim=-1).tolist()
    made = sampling_explorer(many, [f"t{n}" for n in range(SHOWN)]).to_dict()
    assert len(bars(made, "p")) == SHOWN
    assert "of 31 types" in made["description"]
