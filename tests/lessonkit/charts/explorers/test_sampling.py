"""The sampling explorer: the browser's temperature and top-p are those of the exercise."""

import math

import pytest
import torch
from lessonkit.charts.explorers.sampling import SHOWN, sampling_explorer

from tests.helpers.vega import Spec, points, texts, title, with_controls
from transformer.support.errors import UserError

LOGITS = torch.tensor([0.0, 2.0, 1.0, -1.0, 0.5])
LOG_PROBS = [round(each, 2) for each in LOGITS.log_softmax(dim=-1).tolist()]
TOKENS = ["second", "third", "fifth", "first", "fourth"]  # by probability


def spec(temperature: float = 1.0, top_p: float = 0.9) -> Spec:
    made: Spec = sampling_explorer(LOG_PROBS, TOKENS).to_dict()
    return with_controls(made, temperature=temperature, top_p=top_p)


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
@pytest.mark.parametrize("temperature", [0.1, 0.7, 2.0])
@pytest.mark.parametrize("top_p", [0.05, 0.6, 0.9])
def test_what_can_be_drawn_is_what_sampling_draws(temperature: float, top_p: float) -> None:
    moved = spec(temperature, top_p)
    drawn, green = bars(moved, "length"), bars(moved, "kept_p")
    shares = [drawn[rank] for rank in sorted(drawn) if green[rank]]
    assert shares == pytest.approx(kept(temperature, top_p), abs=1e-9)
    said = [text for text, *_ in texts(moved, "role-mark") if "types" in text]
    assert said == [f"{len(shares)} of 5 types can be drawn"]
    assert title(moved) == f"Temperature {temperature:.1f}, top_p {top_p:.2f}"


def test_a_type_that_is_cut_keeps_its_length() -> None:
    lengths = bars(spec(1.0, 0.05), "length")
    whole = kept(1.0, 1.0)
    assert lengths[1] == pytest.approx(1.0)
    assert [lengths[rank] for rank in (2, 3, 4, 5)] == pytest.approx(whole[1:], abs=1e-9)


def test_with_nothing_cut_all_can_be_drawn() -> None:
    said = [text for text, *_ in texts(spec(1.0, 1.0), "role-mark")]
    assert "5 of 5 types can be drawn" in said


def test_of_many_types_the_best_have_a_bar() -> None:
    many = torch.linspace(3, -3, 31).log_softmax(dim=-1).tolist()
    made = sampling_explorer(many, [f"t{n}" for n in range(SHOWN)]).to_dict()
    assert len(bars(made, "p")) == SHOWN
    assert "of 31 types" in made["description"]


def test_it_refuses() -> None:
    with pytest.raises(UserError, match="4 texts for 5 bars: give 5, the best first"):
        sampling_explorer(LOG_PROBS, TOKENS[:4])
    with pytest.raises(UserError, match=r"temperature is 3: the slider goes from 0\.1 to 2"):
        sampling_explorer(LOG_PROBS, TOKENS, temperature=3)
    with pytest.raises(UserError, match=r"top_p is 0: the slider goes from 0\.05 to 1"):
        sampling_explorer(LOG_PROBS, TOKENS, top_p=0)
