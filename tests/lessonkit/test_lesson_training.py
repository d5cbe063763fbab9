"""Trainings of lessons: short in checks, taken up again after an interruption."""

from pathlib import Path

import pytest

from lessonkit.lesson_training import limit_recipe_steps, train_or_resume
from lessonkit.records import MAX_STEPS_VARIABLE, limit_steps
from tests.helpers import TINY
from transformer.recipes import find_recipe
from transformer.support.errors import UserError


def test_a_check_shortens_trainings_and_they_keep_two_checkpoints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = find_recipe("demo")  # of 600 steps, validated every 100
    for most, steps, validate_every in (("", 600, 100), ("7", 7, 3), ("601", 600, 100)):
        monkeypatch.setenv(MAX_STEPS_VARIABLE, most)
        training = limit_recipe_steps(recipe).training
        assert (training.steps, training.validate_every) == (steps, validate_every)
        assert limit_steps(5) == 5
    for most in ("0", "-3", "few"):
        monkeypatch.setenv(MAX_STEPS_VARIABLE, most)
        with pytest.raises(UserError, match=f"COURSE_MAX_STEPS is '{most}'"):
            limit_steps(5)


def test_a_lesson_trains_and_goes_on_where_it_stopped(
    tmp_path: Path, few_sentences: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = find_recipe("demo").override(TINY | {"validate_every": "1"})
    for most in (2, 3):
        monkeypatch.setenv(MAX_STEPS_VARIABLE, str(most))
        assert train_or_resume(recipe, tmp_path / "run").step == most
