"""A prediction takes a guess down, gives nothing away, and compares with what was measured."""

from typing import Any

import pytest
import torch

from lessonkit.exercises.check import MAX_COLUMNS
from lessonkit.exercises.predict import Choice, Number, Prediction
from tests.helpers.ask_first_walk import PREDICTIONS, predictions
from tests.helpers.exercise_walk import exercises, modules
from tests.helpers.odd import Odd

BLANK = (None, ..., "", "  ")
NONSENSE = (
    *(Odd(), object(), [], [1, 2], {}, b"no", 1j, "nothing like it", "0,7", True, lambda: 3),
    *(float("nan"), float("inf"), 10**400, torch.zeros(2, 3), torch.empty(0)),
)


def moved() -> Choice:
    return Choice("moved", "Where?", options=("encoder", "the decoder", "neither"))


def share() -> Number:
    return Number("share", "How much?", low=0, high=100, near=5, unit="%", digits=1)


@pytest.fixture(params=PREDICTIONS)
def prediction(request: pytest.FixtureRequest) -> Any:
    each = PREDICTIONS[request.param]
    yield each
    each.predict(None)


def test_the_blank_cell_names_the_options() -> None:
    line = 'guess = None  # "encoder", "the decoder" or "neither"\nex.moved.predict(guess)'
    assert moved().blank == line
    assert share().blank == "guess = None  # a number from 0 to 100 (%)\nex.share.predict(guess)"
    assert moved().question == "> **Predict.** Where?"


def test_a_choice_is_compared_with_what_was_measured() -> None:
    each = moved()
    assert repr(each.predict(" The  Decoder ")) == 'moved: you expect "the decoder". Now see.'
    assert repr(each.compare("encoder")) == 'moved: you expected "the decoder"; it is "encoder".'
    assert repr(each.compare("the decoder")) == 'moved: it is "the decoder", as you expected.'


@pytest.mark.parametrize(
    ("guess", "measured", "says"),
    [
        (50, 45.5, "share: you expected 50.0%, measured 45.5%: near."),
        ("40%", 45, "share: you expected 40.0%, measured 45.0%: near."),
        (torch.tensor(50.0), 44.0, "share: you expected 50.0%, measured 44.0%: too high by 6.0."),
        (2, torch.tensor([45.5]), "share: you expected 2.0%, measured 45.5%: too low by 43.5."),
        (0, 130, "share: you expected 0.0%, measured 130.0%: too low by 130.0."),
        (100, -30, "share: you expected 100.0%, measured -30.0%: too high by 130.0."),
    ],
)
def test_a_number_is_compared_with_what_was_measured(guess: Any, measured: Any, says: str) -> None:
    each = share()
    assert each.predict(guess).status == ""
    assert repr(each.compare(measured)) == says


def test_a_number_as_text_of_a_choice_is_read() -> None:
    each = Choice("shut", "?", options=("0", "3", "nan"))
    assert "as you expected" in repr((each.predict(3), each.compare(f"{3.0:.0f}"))[1])
    assert "as you expected" in repr((each.predict("NaN"), each.compare("nan"))[1])


@pytest.mark.parametrize("guess", [-0.1, 100.1, "200%"])
def test_a_number_out_of_range_is_not_taken_down(guess: Any) -> None:
    each = share()
    verdict = each.predict(guess)
    assert verdict.status == "wrong"
    assert "a number from 0 to 100 (%)" in repr(verdict).replace("\n", " ")
    assert each.compare(50).status == "not attempted"


def test_a_new_guess_replaces_the_one_before_and_a_blank_takes_it_back() -> None:
    each = share()
    each.predict(10)
    each.predict(90)
    assert "expected 90.0%" in repr(each.compare(50))
    each.predict(None)
    assert repr(each.compare(50)) == "share: there is no guess to compare."


def test_what_was_measured_may_be_anything() -> None:
    each = share()
    each.predict(10)
    assert repr(each.compare([1, 2])) == "share: you expected 10.0%; it measured [1, 2]."


@pytest.mark.parametrize("blank", BLANK)
def test_blank_is_not_attempted_and_gives_nothing_away(prediction: Prediction, blank: Any) -> None:
    asked = repr(prediction.predict(blank))
    assert prediction.predict(blank).status == "not attempted"
    said = {repr(prediction.compare(value)) for value in (0.31, 77, *values(prediction))}
    assert said == {f"{prediction.name}: there is no guess to compare."}
    assert prediction.form in " ".join(asked.split())


def test_nonsense_raises_nothing(prediction: Prediction) -> None:
    for value in NONSENSE:
        assert prediction.predict(value).status == "wrong"
        assert "Traceback" not in repr(prediction.compare(value))
    prediction.predict(values(prediction)[0])
    for value in NONSENSE:
        assert repr(prediction.compare(value)).startswith(f"{prediction.name}: ")


def values(prediction: Prediction) -> tuple[Any, ...]:
    if isinstance(prediction, Choice):
        return prediction.options
    assert isinstance(prediction, Number)
    return prediction.low, prediction.high


def test_every_value_that_may_be_guessed_is_taken_down(prediction: Prediction) -> None:
    for value in values(prediction):
        assert prediction.predict(value).status == ""
        compared = repr(prediction.compare(value))
        assert "as you expected" in compared or compared.endswith(": near.")
        assert all(len(line) <= MAX_COLUMNS for line in compared.splitlines())


def test_a_prediction_can_fail(prediction: Prediction) -> None:
    first, last = values(prediction)[0], values(prediction)[-1]
    prediction.predict(first)
    compared = repr(prediction.compare(last))
    assert "as you expected" not in compared
    assert not compared.endswith(": near.")
    if isinstance(prediction, Number):  # a guess at random is seldom near
        assert 2 * prediction.near <= 0.25 * (prediction.high - prediction.low)


def test_every_prediction_has_its_own_name_and_is_reached_under_it() -> None:
    assert {"gender_moved", "no_encoder_heads"} <= {each.name for each in PREDICTIONS.values()}
    for module in modules():
        for name, each in predictions(module).items():
            assert name == each.name
            assert name in module.__all__
            assert name not in exercises(module)
    assert len({each.name for each in PREDICTIONS.values()}) == len(PREDICTIONS)


def test_the_options_differ() -> None:
    for each in PREDICTIONS.values():
        if isinstance(each, Choice):
            assert len({option.casefold() for option in each.options}) == len(each.options) >= 2


def test_a_cell_fits_the_page(prediction: Prediction) -> None:
    assert max(map(len, prediction.blank.splitlines())) <= 80
    assert "\n" not in prediction.asks
    assert prediction.asks.count("?") >= 1
