"""What experiments change about training that no recipe can say, and the fast recipe with it.

Not in the paper: a learning rate that falls to 0 in a line, or stays and then falls, Muon beside
Adam, AdamW, initial weights from counts or with heads that look at their neighbours. These options
are typed among the recipe's own settings. To try another schedule or optimizer, write its function
and enter it in `SCHEDULE_MAKERS` or `OPTIMIZER_FACTORY_MAKERS`. Torch is imported only when it is
needed, because the help of the command line lists the recipes.
"""

import argparse
import dataclasses
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_course.options import parse_settings
from attention_course.training import train_with_options
from transformer.config import PAPER_PARTS_NAME, ModelConfig, Recipe
from transformer.recipes import find_recipe
from transformer.support.checks import check_fields
from transformer.support.errors import UserError, require, unknown_name_error
from transformer.training.schedule import learning_rate

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

    from transformer.data.batches import Example
    from transformer.model import Transformer
    from transformer.training.devices import Precision

LearningRateSchedule = Callable[[int], float]  # the learning rate of a step, from 1
OptimizerFactory = Callable[["nn.Module"], "Optimizer"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of training that no recipe has; the defaults are the paper's."""

    decay: str = "inverse_sqrt"  # how the learning rate falls: a name of `SCHEDULE_MAKERS`
    optimizer: str = "adam"  # a name of `OPTIMIZER_FACTORY_MAKERS`
    muon_rate_factor: float = 1.0  # Muon's learning rate as a multiple of Adam's
    cooccurrence_start: bool = False  # begin with counts of which types occur together
    neighbour_start: bool = False  # begin with heads that look at one position

    def __post_init__(self) -> None:
        check_fields(self)
        for field, known in (("decay", SCHEDULE_MAKERS), ("optimizer", OPTIMIZER_FACTORY_MAKERS)):
            if getattr(self, field) not in known:
                raise unknown_name_error(field, getattr(self, field), known)
        message = (
            f"muon_rate_factor has no effect on {self.optimizer}: leave it out, or set "
            "optimizer=muon"
        )
        require(self.muon_rate_factor == 1.0 or self.optimizer == "muon", message)

    def train_recipe_kwargs(
        self, recipe: Recipe, precision: "Precision | None" = None
    ) -> dict[str, Any]:
        """Return the arguments of `train_recipe` for these options; none for the paper's.

        Args:
            recipe: What is trained.
            precision: Of the training; None is the one that is picked for the hardware.
        """
        arguments: dict[str, Any] = {}
        if make_schedule := SCHEDULE_MAKERS[self.decay]:
            arguments["schedule"] = make_schedule(recipe)
        if make_optimizer := OPTIMIZER_FACTORY_MAKERS[self.optimizer]:
            arguments["optimizer"] = make_optimizer(self, recipe, precision)
        if self.cooccurrence_start or self.neighbour_start:
            message = (
                "cooccurrence_start and neighbour_start are for Transformers of the paper's parts: "
                "leave them out"
            )
            is_paper_network = type(recipe.model) is ModelConfig
            require(is_paper_network and recipe.parts == PAPER_PARTS_NAME, message)
            arguments["initialize"] = self._initialize
        # A run that was begun before there was an option has its default, so that only what is not
        # the default is compared when a run is resumed.
        values = dataclasses.asdict(self)
        changed = {
            name: value for name, value in values.items() if value != _DEFAULT_OPTION_VALUES[name]
        }
        if changed:
            arguments["extra_settings"] = changed
        return arguments

    def _initialize(self, model: "Transformer", examples: "Sequence[Example]") -> None:
        """Change the initial weights of a new network."""
        from experiments.cooccurrence import initialize_from_cooccurrence
        from experiments.neighbours import initialize_heads_to_positions

        if self.cooccurrence_start:
            initialize_from_cooccurrence(model, examples)
        if self.neighbour_start:
            initialize_heads_to_positions(model)


def make_linear_decay_schedule(recipe: Recipe) -> LearningRateSchedule:
    """Return the schedule of `linear_decay_rate` for a recipe."""
    training = recipe.training
    message = f"learning_rate {training.learning_rate}: give it or decay=linear, not both"
    require(training.learning_rate is None, message)
    schedule = partial(
        linear_decay_rate,
        steps=training.steps,
        d_model=recipe.model.d_model,
        warmup_steps=training.warmup_steps,
        factor=training.learning_rate_factor,
    )
    schedule(1)  # refuses what cannot be, before any work
    return schedule


def linear_decay_rate(
    step: int, steps: int, d_model: int, warmup_steps: int, factor: float = 1.0
) -> float:
    """Compute the learning rate of a step, from 1, that is 0 at the last of its steps.

    It rises as the paper's does (§5.3), to the same peak, then falls in a straight line.
    """
    if steps <= warmup_steps:
        raise UserError(f"warmup_steps {warmup_steps} leave no step to decay: give under {steps}")
    if step > steps:
        raise UserError(f"step is {step}, and the rate falls to 0 at {steps}: give no later one")
    rising = learning_rate(min(step, warmup_steps), d_model, warmup_steps, factor)
    return rising * min(1.0, (steps - step) / (steps - warmup_steps))


def make_warmup_stable_decay_schedule(recipe: Recipe) -> LearningRateSchedule:
    """Return the schedule of `warmup_stable_decay_rate` for a recipe, with the paper's peak."""
    from transformer.training.modern import warmup_stable_decay_rate

    training = recipe.training
    message = f"learning_rate {training.learning_rate}: give it or decay=wsd, not both"
    require(training.learning_rate is None, message)
    warmup_steps = training.warmup_steps
    schedule = partial(
        warmup_stable_decay_rate,
        steps=training.steps,
        warmup_steps=warmup_steps,
        peak=learning_rate(
            warmup_steps, recipe.model.d_model, warmup_steps, training.learning_rate_factor
        ),
    )
    schedule(1)  # refuses what cannot be, before any work
    return schedule


def make_adamw_factory(
    options: TrainingOptions, recipe: Recipe, precision: "Precision | None"
) -> OptimizerFactory:
    """Return what makes AdamW, which lets matrices decay."""
    from transformer.training.modern import adamw

    return partial(adamw, config=recipe.training)


def make_muon_and_adam_factory(
    options: TrainingOptions, recipe: Recipe, precision: "Precision | None"
) -> OptimizerFactory:
    """Return what makes Muon, for hidden matrices, and Adam, for all else."""
    import torch

    from experiments.muon import MuonAndAdam
    from transformer.training.devices import Precision, pick_device_and_precision

    is_bf16 = pick_device_and_precision(precision=precision).precision == Precision.BF16
    return partial(
        MuonAndAdam,
        config=recipe.training,
        rate_factor=options.muon_rate_factor,
        precision=torch.bfloat16 if is_bf16 else torch.float32,
    )


# By the name that is typed after --set decay= or optimizer=; None is the paper's (§5.3).
SCHEDULE_MAKERS: dict[str, Callable[[Recipe], LearningRateSchedule] | None] = {
    "inverse_sqrt": None,
    "linear": make_linear_decay_schedule,
    "wsd": make_warmup_stable_decay_schedule,
}
OPTIMIZER_FACTORY_MAKERS: dict[
    str, Callable[[TrainingOptions, Recipe, "Precision | None"], OptimizerFactory] | None
] = {
    "adam": None,
    "adamw": make_adamw_factory,
    "muon": make_muon_and_adam_factory,
}
_DEFAULT_OPTION_VALUES = dataclasses.asdict(TrainingOptions())


def override_recipe_and_options(
    recipe: Recipe, options: TrainingOptions, settings: Mapping[str, Any]
) -> tuple[Recipe, TrainingOptions]:
    """Return a recipe and options with settings as typed: {"steps": "300", "decay": "linear"}."""
    names = {field.name for field in dataclasses.fields(TrainingOptions)}
    of_options = {name: text for name, text in settings.items() if name in names}
    of_recipe = {name: text for name, text in settings.items() if name not in names}
    return recipe.override(of_recipe), dataclasses.replace(options, **of_options)


_PARSED_FAST_TOML = tomllib.loads(Path(__file__).with_name("fast.toml").read_text(encoding="utf-8"))
FAST_RECIPE_OPTIONS = TrainingOptions(**_PARSED_FAST_TOML.pop("options"))
FAST_RECIPE = Recipe.from_dict(_PARSED_FAST_TOML)


def find_recipe_and_options(name: str) -> tuple[Recipe, TrainingOptions]:
    """Return a recipe by its name, the fast one too, and the options that it is trained with."""
    if name == FAST_RECIPE.name:
        return FAST_RECIPE, FAST_RECIPE_OPTIONS
    return find_recipe(name), TrainingOptions()


def train_from_command_line(namespace: argparse.Namespace) -> int:
    """Train a recipe as `attention-course train` does; settings may be these options too."""
    recipe, options = find_recipe_and_options(namespace.recipe)
    settings = parse_settings(namespace.set, namespace.steps)
    recipe, options = override_recipe_and_options(recipe, options, settings)
    return train_with_options(recipe, namespace, options.train_recipe_kwargs)
