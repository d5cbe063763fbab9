"""What experiments change about training that no recipe can say, and the fast recipe with it.

Not in the paper: a rate that falls to 0 in a line, Muon beside Adam, weights that begin with counts
or with a look at the neighbours. Their settings are typed among the recipe's own. No torch in here
until it is needed: the command line's help lists what is made of them.
"""

import argparse
import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_course.commands import parse_settings, train_as_typed
from transformer.config import ModelConfig, Recipe
from transformer.recipes import find_recipe
from transformer.support.checks import check_fields
from transformer.support.errors import UserError, require
from transformer.training.schedule import learning_rate

if TYPE_CHECKING:
    from transformer.data.batches import Example
    from transformer.model import Transformer
    from transformer.training.devices import Precision


class Decay(StrEnum):
    """How the learning rate falls after its warm-up."""

    INVERSE_SQRT = "inverse_sqrt"  # §5.3: with the inverse square root of the step
    LINEAR = "linear"  # in a straight line, to 0 at the last step


class Optimizers(StrEnum):
    """What turns gradients into updates."""

    ADAM = "adam"  # §5.3
    MUON = "muon"  # on hidden matrices, Adam on all else


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of training that are not the paper's; the defaults are."""

    decay: Decay = Decay.INVERSE_SQRT
    optimizer: Optimizers = Optimizers.ADAM
    muon_rate_factor: float = 1.0  # Muon's learning rate as a multiple of Adam's
    cooccurrence_start: bool = False  # begin with counts of which types occur together
    neighbour_start: bool = False  # begin with heads that look at a place

    def __post_init__(self) -> None:
        check_fields(self)
        message = "muon_rate_factor has no effect on adam: leave it out, or set optimizer=muon"
        require(self.muon_rate_factor == 1.0 or self.optimizer == Optimizers.MUON, message)

    def options(self, recipe: Recipe, precision: "Precision | None" = None) -> dict[str, Any]:
        """Give what `train_recipe` takes beside the recipe and the precision, which Muon shares."""
        import torch

        from experiments.muon import MuonAndAdam
        from transformer.training.devices import Precision, pick_device_and_precision

        found: dict[str, Any] = {}
        training, d_model = recipe.training, recipe.model.d_model
        if self.decay == Decay.LINEAR:
            message = f"learning_rate {training.learning_rate}: give it or decay=linear, not both"
            require(training.learning_rate is None, message)
            shape = d_model, training.warmup_steps, training.learning_rate_factor
            linear_decay_rate(1, training.steps, *shape)
            found["schedule"] = lambda step: linear_decay_rate(step, training.steps, *shape)
        if self.optimizer == Optimizers.MUON:
            rounded = pick_device_and_precision(precision=precision).precision == Precision.BF16
            found["optimizer"] = partial(
                MuonAndAdam,
                config=training,
                rate_factor=self.muon_rate_factor,
                precision=torch.bfloat16 if rounded else torch.float32,
            )
        if self.cooccurrence_start or self.neighbour_start:
            message = "cooccurrence_start and neighbour_start are for Transformers: leave them out"
            require(isinstance(recipe.model, ModelConfig), message)
            found["initialize"] = self._begin
        # A run of before a part came has its default: what is not the default tells them apart.
        changed_parts = {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if value != getattr(Parts(), name)
        }
        if changed_parts:
            found["extra_settings"] = changed_parts
        return found

    def _begin(self, model: "Transformer", examples: "Sequence[Example]") -> None:
        """Change the weights that a new network begins with."""
        from experiments.cooccurrence import begin_with_cooccurrence
        from experiments.neighbours import begin_with_neighbours

        if self.cooccurrence_start:
            begin_with_cooccurrence(model, examples)
        if self.neighbour_start:
            begin_with_neighbours(model)


def linear_decay_rate(
    step: int, steps: int, d_model: int, warmup_steps: int, factor: float = 1.0
) -> float:
    """Compute the rate of one step, from 1, of a schedule that is 0 at the last of its steps.

    It rises as the paper's does (§5.3), to the same peak, then falls in a straight line.
    """
    if steps <= warmup_steps:
        raise UserError(f"warmup_steps {warmup_steps} leave no step to decay: give under {steps}")
    if step > steps:
        raise UserError(f"step is {step}, and the rate falls to 0 at {steps}: give no later one")
    rising = learning_rate(min(step, warmup_steps), d_model, warmup_steps, factor)
    return rising * min(1.0, (steps - step) / (steps - warmup_steps))


def changed(
    recipe: Recipe, settings: Mapping[str, Any], parts: Parts | None = None
) -> tuple[Recipe, Parts]:
    """Change settings of a recipe and of the parts, as typed: {"steps": "300", "decay": "linear"}.

    No parts are the paper's.
    """
    names = {field.name for field in dataclasses.fields(Parts)}
    own = {name: text for name, text in settings.items() if name in names}
    others = {name: text for name, text in settings.items() if name not in names}
    return recipe.override(others), dataclasses.replace(parts or Parts(), **own)


_TABLE = tomllib.loads(Path(__file__).with_name("fast.toml").read_text(encoding="utf-8"))
FAST_PARTS = Parts(**_TABLE.pop("parts"))
FAST = Recipe.from_dict(_TABLE)


def find(name: str) -> tuple[Recipe, Parts]:
    """Give a recipe by its name, the fast one too, with the parts that it is trained with."""
    return (FAST, FAST_PARTS) if name == FAST.name else (find_recipe(name), Parts())


def train(options: argparse.Namespace) -> int:
    """Train a recipe as `python -m transformer train` does, its parts' settings among its own."""
    recipe, parts = find(options.recipe)
    settings = parse_settings(options.set, options.steps)
    recipe, parts = changed(recipe, settings, parts)
    return train_as_typed(recipe, options, parts.options)
