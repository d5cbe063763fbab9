"""A lesson's training, which may be interrupted, and is short in checks. Not in the paper."""

from pathlib import Path

from lessonkit.records import limit_steps
from transformer.config import Recipe
from transformer.models.folder import holds_run
from transformer.support.signatures import check_argument_types
from transformer.training.recipe import train_recipe
from transformer.training.result import TrainingResult


@check_argument_types
def train_or_resume(recipe: Recipe, folder: Path) -> TrainingResult:
    """Train a lesson's recipe in a folder (`train_recipe`), or go on with the run that it holds.

    Checks of the lessons train no more steps than `COURSE_MAX_STEPS` says.

    Raises:
        UserError: `COURSE_MAX_STEPS` is no whole number from 1 on; and those of `train_recipe`.
    """
    return train_recipe(limit_recipe_steps(recipe), folder, resume=holds_run(folder))


def limit_recipe_steps(recipe: Recipe) -> Recipe:
    """Return a recipe with no more steps than `COURSE_MAX_STEPS` says, if that is set.

    A shortened run is validated half-way, too, so that it has two checkpoints.
    """
    training = recipe.training
    steps = limit_steps(training.steps)
    if steps == training.steps:
        return recipe
    validate_every = min(training.validate_every, max(1, steps // 2))
    return recipe.override({"steps": steps, "validate_every": validate_every})
