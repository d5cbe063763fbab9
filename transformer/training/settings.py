"""The settings that shape a run: saved in its checkpoints, and compared when it is resumed.

Not in the paper. A run resumed under other settings would end with weights that no uninterrupted
run has, so that it is refused. Only `steps` may differ: a run may be made longer.
"""

import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import Any

from transformer.config import REMOVED_TRAINING_SETTINGS, TrainingConfig
from transformer.parts import non_paper_part_class_names, require_same_parts
from transformer.support.errors import UserError, require
from transformer.training.checkpoint import TrainingState

# In a parameter group: a factor on each step's learning rate, 1 where there is none.
RATE_FACTOR_KEY = "rate_factor"
RELATIVE_RATE_TOLERANCE = 1e-9  # processors differ in the last bits of a power


def run_settings(
    state: TrainingState,
    config: TrainingConfig,
    d_model: int,
    precision: str,
    schedule: Callable[[int], float],
    extra_settings: Mapping[str, Any],
    cuda_graphs: bool,
) -> dict[str, Any]:
    """Return all that shapes a run, as JSON has it: numbers, strings, lists and dictionaries.

    A schedule is known by its rates at four steps, an optimizer by its class and by the
    hyperparameters of its parameter groups, a part of the model that is not the paper's by its
    class.
    """
    graph_settings = {"cuda_graphs": True} if cuda_graphs else {}
    parameter_groups = []
    for group in state.optimizer.param_groups:
        own = {key: value for key, value in group.items() if key not in ("params", "lr")}
        parameter_groups.append({RATE_FACTOR_KEY: 1.0} | own)
    sample = {1, min(config.warmup_steps, config.steps), max(1, config.steps // 2), config.steps}
    settings = asdict(config) | {
        "d_model": d_model,
        "precision": precision,
        "parts": non_paper_part_class_names(state.model),
        "optimizer": type(state.optimizer).__name__,
        "parameter_groups": parameter_groups,
        "learning_rates": {step: schedule(step) for step in sorted(sample)},
        "extra_settings": {**extra_settings, **graph_settings},
    }
    try:
        json.dumps(settings["extra_settings"])
    except (TypeError, ValueError) as error:  # values or keys of other kinds, or a circle
        message = f"extra_settings are no JSON ({error}): give what json.dumps takes"
        raise UserError(message) from error
    text = json.dumps(settings, default=str)
    # An infinite number becomes a string, which every reader of JSON understands.
    return dict(json.loads(text, parse_constant=str))


def require_same_run_settings(
    saved: Mapping[str, Any], current: Mapping[str, Any], schedule: Callable[[int], float]
) -> None:
    """Raise a UserError unless a run with the saved settings may go on with the current ones.

    What an earlier version of this code did not save is not compared; a setting that it did not
    have yet has its default.
    """
    for name, value in saved.items():
        removed = f"the run was begun with {name}={value}, which this version does not have"
        require(
            name in current or value == REMOVED_TRAINING_SETTINGS.get(name),
            f"{removed}: resume it with the version that began it",
        )
    defaults = asdict(TrainingConfig())
    _require_same_values([*defaults, "d_model", "precision"], defaults | dict(saved), current)
    require_same_parts("the run", saved.get("parts", {}), current["parts"])
    # The names that a user typed come before what they led to.
    if "extra_settings" in saved:
        require_equal_but_for_steps(saved["extra_settings"], current["extra_settings"])
    if "optimizer" in saved:
        require(
            saved["optimizer"] == current["optimizer"],
            f"the run was begun with {saved['optimizer']} and cannot go on with "
            f"{current['optimizer']}: in Python pass the `optimizer` that it was begun with, or "
            "begin in another folder",
        )
    if "parameter_groups" in saved:
        _require_same_parameter_groups(saved["parameter_groups"], current["parameter_groups"])
    for step, rate in saved.get("learning_rates", {}).items():
        if int(step) <= current["steps"]:
            _require_same_rate(int(step), rate, schedule(int(step)))


def require_equal_but_for_steps(saved: Mapping[str, Any], current: Mapping[str, Any]) -> None:
    """Raise a UserError unless two mappings, of any depth, are equal but for `steps`."""
    for key in dict.fromkeys([*saved, *current]):
        before, now = saved.get(key), current.get(key)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            require_equal_but_for_steps(before, now)
        elif before != now and key != "steps":
            begun = f"with {key}={before}" if key in saved else f"without {key}"
            change = f"with {key}={now}" if key in current else "without it"
            remedy = f"give {key}={before}" if key in saved else "leave it out"
            raise UserError(
                f"the run was begun {begun} and cannot go on {change}: "
                f"{remedy}, or begin in another folder"
            )


def _require_same_values(
    names: Collection[str], saved: Mapping[str, Any], current: Mapping[str, Any]
) -> None:
    """Compare some of the settings, which both have."""
    require_equal_but_for_steps(
        {name: saved[name] for name in names}, {name: current[name] for name in names}
    )


def _require_same_parameter_groups(
    saved: list[dict[str, Any]], current: list[dict[str, Any]]
) -> None:
    """Compare the hyperparameters of an optimizer's groups that both versions of it have."""
    require(
        len(saved) == len(current),
        f"the run was begun with {len(saved)} groups of parameters, and there are {len(current)}: "
        "give the optimizer that it was begun with",
    )
    for before, now in zip(saved, current, strict=True):
        _require_same_values(before.keys() & now.keys(), before, now)


def _require_same_rate(step: int, saved: float, current: float) -> None:
    """Compare the learning rates of a step, but for their last bits."""
    require(
        math.isclose(saved, current, rel_tol=RELATIVE_RATE_TOLERANCE),
        f"the run was begun with a learning rate of {saved:.6g} at step {step} and cannot go on "
        f"with {current:.6g}: give the schedule that it was begun with (and its number of steps if "
        "it depends on that), or begin in another folder",
    )
