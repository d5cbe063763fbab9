"""The experiments: a recipe, what all runs share, and what each run changes (§6.2).

They stand in plans.toml; `run.py` trains and measures them. This module imports no torch, because
the help of the command line lists them.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.training_options import TrainingOptions, override_recipe_and_options
from transformer.config import Recipe
from transformer.recipes import find_recipe
from transformer.support.errors import unknown_name_error


@dataclass(frozen=True)
class Experiment:
    """A recipe, and what is changed in it: nothing in the first variant.

    Settings are as typed after `--set`; they may be `TrainingOptions`, too, and a variant's may
    name another recipe, as `recipe`, to which the budget applies as well.
    """

    name: str  # of the experiment, and of its record in data/results/experiments
    recipe: str  # name of the recipe that all runs begin from
    budget: Mapping[str, str]  # settings that all runs share
    variants: Mapping[str, Mapping[str, str]]  # what each run changes, by its name in a table
    faults: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of a variant's network
    # What each run is measured by: names of run.py's MEASURES.
    measures: Sequence[str] = ("beam", "greedy", "last")

    def recipe_and_options(self, variant: str, seed: int) -> tuple[Recipe, TrainingOptions]:
        """Return the recipe of one run, and what of its training no recipe says."""
        settings = {**self.budget, **self.variants[variant], "seed": str(seed)}
        settings.pop("precision", None)
        recipe = find_recipe(settings.pop("recipe", self.recipe))
        return override_recipe_and_options(recipe, TrainingOptions(), settings)

    def precision_name(self, variant: str) -> str:
        """Return the name of the precision of a variant's runs."""
        settings = {**self.budget, **self.variants[variant]}
        return settings.get("precision", "float32")

    def shared_record_fields(self) -> dict[str, Any]:
        """Return what all runs of a record have in common."""
        return {"experiment": self.name, "recipe": self.recipe, "budget": dict(self.budget)}

    def active_faults(self, variant: str) -> list[str]:
        """Return the faults in a variant's network."""
        return list(self.faults.get(variant, ()))


def _experiment_from_table(name: str, table: Mapping[str, Any]) -> Experiment:
    """Make an experiment from its table, with its faults, if it has some.

    One that is `like` another takes over what it does not set itself, in its budget too.
    """
    if "like" in table:
        base = PARSED_PLANS_TOML["experiments"][table["like"]]
        table = base | table | {"budget": base["budget"] | table.get("budget", {})}
    variants, faults = dict(table.get("variants", {})), {}
    if "faults" in table:
        faults = {fault: [fault] for fault in table["faults"]}
        faults[table["all_faults"]] = table["faults"]
        variants = {table["sound"]: {}} | {variant: {} for variant in faults}
    measured = {"measures": table["measures"]} if "measures" in table else {}
    return Experiment(name, table["recipe"], table.get("budget", {}), variants, faults, **measured)


PARSED_PLANS_TOML = tomllib.loads(
    Path(__file__).with_name("plans.toml").read_text(encoding="utf-8")
)
EXPERIMENTS = {
    name: _experiment_from_table(name, table)
    for name, table in PARSED_PLANS_TOML["experiments"].items()
}


def find_experiment(name: str) -> Experiment:
    """Return the experiment of this name."""
    if name not in EXPERIMENTS:
        raise unknown_name_error("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
