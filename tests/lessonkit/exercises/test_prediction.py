"""A prediction gives nothing away, notes every guess that fits, and compares it."""

import pytest
import torch

from lessonkit.exercises.message import MAX_LINE_WIDTH
from lessonkit.exercises.prediction import Prediction
from tests.helpers import exercise_walk as walk

MOVED = Prediction("moved", "Where?", options=("encoder", "the decoder", "neither"))
SHARE = Prediction("share", "How much?", low=0, high=100, tolerance=5, unit="%", digits=1)


def test_guesses_are_compared_with_what_was_measured() -> None:
    line = 'guess = None  # "encoder", "the decoder" or "neither"\nex.moved.predict(guess)'
    assert MOVED.blank_cell == line
    assert SHARE.blank_cell == "guess = None  # a number from 0 to 100 (%)\nex.share.predict(guess)"
    assert repr(MOVED.predict(" The  Decoder ")) == 'moved: you expect "the decoder". Now see.'
    shut = Prediction("shut", "?", options=("0", "3", "nan"))
    for each, guess, measured, says in (
        (MOVED, "the decoder", "encoder", 'you expected "the decoder"; it is "encoder".'),
        (MOVED, "the decoder", "the decoder", 'it is "the decoder", as you expected.'),
        (shut, 3, f"{3.0:.0f}", 'it is "3", as you expected.'),
        (shut, "NaN", "nan", 'it is "nan", as you expected.'),
        (SHARE, 50, 45.5, "you expected 50.0%, measured 45.5%: near."),
        (SHARE, "40%", 45, "you expected 40.0%, measured 45.0%: near."),
        (SHARE, torch.tensor(50.0), 44.0, "you expected 50.0%, measured 44.0%: too high by 6.0."),
        (SHARE, 2, torch.tensor([45.5]), "you expected 2.0%, measured 45.5%: too low by 43.5."),
    ):
        assert each.predict(guess).status == ""
        assert repr(each.compare(measured)) == f"{each.name}: {says}"


def test_a_new_guess_replaces_the_one_before_and_one_out_of_range_is_not_taken_down() -> None:
    for guess in (-0.1, 100.1, "200%"):
        SHARE.predict(50)
        verdict = SHARE.predict(guess)
        assert verdict.status == "wrong"
        assert "is not a number from 0 to 100 (%). Nothing was taken down." in repr(verdict)
        assert "no guess" in repr(SHARE.compare(45))


@pytest.mark.parametrize("name", walk.PREDICTIONS)
def test_a_prediction_gives_nothing_away_takes_every_guess_down_and_can_fail(name: str) -> None:
    each = walk.PREDICTIONS[name]
    values = tuple(each.options) or (each.low, each.high)
    for blank in walk.BLANK:
        verdict = each.predict(blank)
        assert verdict.status == "not attempted"
        assert each.allowed_guesses_description in " ".join(repr(verdict).split())
        said = {repr(each.compare(value)) for value in (0.31, 77, *values)}
        assert said == {f"{name}: there is no guess to compare."}
    for value in walk.NONSENSE:
        assert each.predict(value).status == "wrong"
    for value in values:
        assert each.predict(value).status == ""
        compared = repr(each.compare(value))
        assert all(len(line) <= MAX_LINE_WIDTH for line in compared.splitlines())
        compared = " ".join(compared.split())
        assert "as you expected" in compared or compared.endswith(": near.")
        assert all(repr(each.compare(odd)).startswith(f"{name}: ") for odd in walk.NONSENSE)
    compared = " ".join(repr(each.compare(values[0])).split())  # after a guess of the last
    assert "as you expected" not in compared
    assert not compared.endswith(": near.")
    each.predict(None)
    assert max(map(len, each.blank_cell.splitlines())) <= 80
    assert "?" in each.question
    if each.options:
        assert len({option.casefold() for option in each.options}) == len(each.options) >= 2
    else:  # a guess at random is seldom near
        assert 2 * each.tolerance <= 0.25 * (each.high - each.low)


def test_every_prediction_has_its_own_name_and_is_reached_under_it() -> None:
    for module in walk.MODULES:
        for name, each in walk.predictions(module).items():
            assert walk.PREDICTIONS[name] is each
            assert name == each.name
            assert name not in walk.exercises(module)
