"""What the experiments are: a recipe, what all runs share, and what each run changes (§6.2).

`run.py` trains and measures them. No torch in here: the command line's help lists them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.training_parts import Parts, changed
from transformer.config import Recipe
from transformer.recipes.named import find_recipe
from transformer.support.errors import unknown_name


@dataclass(frozen=True)
class Experiment:
    """A recipe, and what is changed in it.

    Attributes:
        name: Of the experiment, and of its record in data/results/experiments.
        recipe: Name of the recipe that all runs begin from.
        budget: Settings that all runs share, as typed after `--set`; those of
            `training_parts.Parts`, too.
        variants: What each run changes, by the name that a table gives it. The first
            changes nothing: the others are held against it.
        faults: What is switched on in a variant's network (see `faults.FAULTS`).
    """

    name: str
    recipe: str
    budget: Mapping[str, str]
    variants: Mapping[str, Mapping[str, str]]
    faults: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def run_recipe(self, variant: str, seed: int) -> Recipe:
        """Give the recipe of one run."""
        return self.changed(variant, seed)[0]

    def changed(self, variant: str, seed: int) -> tuple[Recipe, Parts]:
        """Give the recipe of one run, and the parts of its training that no recipe says."""
        settings = {**self.budget, **self.variants[variant], "seed": str(seed)}
        settings.pop("precision", None)
        return changed(find_recipe(self.recipe), settings)

    def precision(self, variant: str) -> str:
        """Name the precision of a variant's runs."""
        return {"precision": "float32", **self.budget, **self.variants[variant]}["precision"]

    def about(self) -> dict[str, Any]:
        """Give what all runs of a record have in common."""
        return {"experiment": self.name, "recipe": self.recipe, "budget": dict(self.budget)}

    def switched_on(self, variant: str) -> list[str]:
        """Give the faults in a variant's network."""
        return list(self.faults.get(variant, ()))


# A quarter of the recipe's steps; the rate has the same peak.
_CAPTIONS = Experiment(
    name="captions",
    recipe="multi30k-de-en",
    budget={
        "steps": "2000",
        "warmup_steps": "500",
        "learning_rate_factor": "1.265",
        "validate_every": "200",
        "average_last": "5",
        "precision": "bf16",
    },
    variants={
        "the recipe": {},
        "dropout 0.1, as the paper's base": {"dropout": "0.1"},
        "no label smoothing": {"label_smoothing": "0"},
        "norm after the sum, as the paper": {"pre_norm": "false"},
        "three tables in place of one": {"tie_source_target": "false", "tie_softmax": "false"},
        "whole words": {"tokenizer": "words"},
        "2 layers a stack": {"num_layers": "2"},
    },
)

# The rows of Table 3 (§6.2), about the small model of lesson 00 in place of the base model.
_TABLE_3 = Experiment(
    name="table-3",
    recipe="demo",
    budget={},
    variants={
        "base": {},
        "A: 1 head": {"num_heads": "1"},
        "A: 2 heads": {"num_heads": "2"},
        "A: 8 heads": {"num_heads": "8"},
        "A: 16 heads": {"num_heads": "16"},
        "B: d_k 8": {"d_k": "8"},
        "B: d_k 16": {"d_k": "16"},
        "C: 1 layer": {"num_layers": "1"},
        "C: 3 layers": {"num_layers": "3"},
        "C: d_model 64": {"d_model": "64"},
        "C: d_model 256": {"d_model": "256"},
        "C: d_ff 128": {"d_ff": "128"},
        "C: d_ff 512": {"d_ff": "512"},
        "D: dropout 0.1": {"dropout": "0.1"},
        "D: dropout 0.2": {"dropout": "0.2"},
        "D: label smoothing 0.1": {"label_smoothing": "0.1"},
        "D: label smoothing 0.2": {"label_smoothing": "0.2"},
        "E: learned positions": {"positions": "learned"},
    },
)

# The faults of the homework one at a time, then together: what each variant switches on.
_FAULT_NAMES = (
    "self-attention returns its own input",
    "the decoder's self-attention is lost",
    "one projection for queries, keys and values",
    "padding is attended to",
)
_SWITCHED_ON = {**{fault: (fault,) for fault in _FAULT_NAMES}, "all four": _FAULT_NAMES}

# The homework's ten epochs on captions.
_HOMEWORK = Experiment(
    name="homework",
    recipe="homework-megatron",
    budget={"corpus": "multi30k", "steps": "4530", "validate_every": "453"},
    variants={"mended": {}, **{variant: {} for variant in _SWITCHED_ON}},
    faults=_SWITCHED_ON,
)

# The same faults in the small model of lesson 00: minutes a run, so that three seeds can be had.
_FAULTS = Experiment(
    name="faults",
    recipe="demo",
    budget={},
    variants={"sound": {}, **{variant: {} for variant in _SWITCHED_ON}},
    faults=_SWITCHED_ON,
)

# Matrix products in 16 bits or in 32, from the same weights and batches: half the recipe's steps,
# at rates that fall to 0, so that runs end quietly.
_PRECISION = Experiment(
    name="precision",
    recipe="demo",
    budget={"steps": "300", "warmup_steps": "75", "decay": "linear"},
    variants={
        "float32": {},
        "bfloat16 products": {"precision": "bf16"},
        "float16 products": {"precision": "fp16"},
    },
)

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one for one in (_CAPTIONS, _TABLE_3, _HOMEWORK, _FAULTS, _PRECISION)
}


def find(name: str) -> Experiment:
    """Give the experiment of this name."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
