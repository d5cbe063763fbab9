"""What a run may be resumed with: nothing that would have made it another run."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.helpers.tiny_training import CONFIG, Tiny, file_contents, run_tiny
from transformer.config import TrainingConfig
from transformer.models.folder import LAST, read_recipe
from transformer.models.translator import Translator
from transformer.models.weights import load_tensors
from transformer.support.errors import UserError
from transformer.training.loop import new_state
from transformer.training.recipe import train_recipe
from transformer.training.report import read_log
from transformer.training.settings import (
    require_equal_but_for_steps,
    require_same_run_settings,
    run_settings,
)

# Their README says what made them: a run from before formats had versions, and one of format 1.
OLDER_RUNS = [Path(__file__).with_name(name) for name in ("older_run", "run_of_format_1")]


def descent(model: nn.Module, momentum: float = 0.5, factor: float = 1.0) -> torch.optim.Optimizer:
    first, *others = model.parameters()
    groups: list[dict[str, Any]] = [{"params": [first]}, {"params": others}]
    if factor != 1.0:
        groups[1]["rate_factor"] = factor
    return torch.optim.SGD(groups, lr=0.0, momentum=momentum)


def falling(step: int, steps: int = CONFIG.steps) -> float:
    return 0.1 * (1 - step / steps)


BEGUN: dict[str, Any] = {
    "optimizer": descent,
    "schedule": falling,
    "extra_settings": {"start": "counts"},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"optimizer": None}, "begun with SGD and cannot go on with Adam: "),
        ({"optimizer": partial(descent, momentum=0.25)}, "momentum=0.5 .* with momentum=0.25: "),
        ({"optimizer": partial(descent, factor=2.0)}, "rate_factor=1.0 .* with rate_factor=2.0: "),
        (
            {"optimizer": lambda model: torch.optim.SGD(model.parameters(), momentum=0.5)},
            "begun with 2 groups of parameters, and there are 1: ",
        ),
        ({"schedule": None}, "begun with a learning rate of 0.0916667 at step 1 and cannot go on "),
        ({"schedule": lambda step: 2 * falling(step)}, "of 0.0916667 at step 1 .* with 0.183333: "),
        ({"extra_settings": {"start": "heads"}}, "start=counts and cannot go on with start=heads"),
        ({"extra_settings": None}, "with start=counts and cannot go on without it: give start="),
        (
            {"extra_settings": {"start": "counts", "decay": "linear"}},
            "begun without decay and cannot go on with decay=linear: leave it out, or begin in",
        ),
    ],
)
def test_what_shapes_a_run_is_refused_when_it_changes(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    run_tiny(tmp_path, Tiny(), stop_after=4, **BEGUN)
    before = file_contents(tmp_path)
    with pytest.raises(UserError, match=f"the run was .*{message}"):
        run_tiny(tmp_path, Tiny(), resume=True, **BEGUN | change)
    assert file_contents(tmp_path) == before
    assert run_tiny(tmp_path, Tiny(), resume=True, **BEGUN).step == CONFIG.steps


def test_extra_settings_that_are_no_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="extra_settings are no JSON "):
        run_tiny(tmp_path, Tiny(), extra_settings={"start": {("counts", 3): 5}})


def test_a_longer_run_keeps_the_rates_of_the_steps_that_it_had(tmp_path: Path) -> None:
    run_tiny(tmp_path / "1", Tiny(), schedule=falling)
    longer = replace(CONFIG, steps=15)
    with pytest.raises(UserError, match=r"learning rate of 0\.0916667 at step 1 and cannot"):
        run_tiny(tmp_path / "1", Tiny(), longer, schedule=partial(falling, steps=15), resume=True)
    run_tiny(tmp_path / "2", Tiny(), schedule=lambda step: 0.1)
    result = run_tiny(tmp_path / "2", Tiny(), longer, schedule=lambda step: 0.1, resume=True)
    assert result.step == 15


def settings(config: TrainingConfig = CONFIG, rate: float = 0.1) -> dict[str, Any]:
    state = new_state(Tiny(), config, optimizer=descent)
    return run_settings(state, config, 16, "float32", lambda step: rate, {}, cuda_graphs=False)


def hold(saved: dict[str, Any], given: dict[str, Any], rate: float = 0.1) -> None:
    schedule: Callable[[int], float] = lambda step: rate  # noqa: E731
    require_same_run_settings(saved, given, schedule)


def test_a_run_of_before_a_setting_came_has_its_default() -> None:
    given = settings()
    older = {name: value for name, value in given.items() if name != "clip_norm"}
    hold(older, given)
    with pytest.raises(UserError, match=r"begun with clip_norm=0\.0 and cannot .* clip_norm=1\.0"):
        hold(older, settings(replace(CONFIG, clip_norm=1.0)))
    # What no earlier version saved cannot be compared.
    for name in ("parameter_groups", "learning_rates", "extra_settings"):
        del older[name]
    hold(older, given)
    message = "begun with smoothing=all, which this version does not have: resume it with the"
    with pytest.raises(UserError, match=message):
        hold(older | {"smoothing": "all"}, given)
    # A setting that was removed is no other if its value is what every run has now.
    hold(older | {"smooth_over_all": True, "accumulate": 1}, given)
    with pytest.raises(UserError, match="begun with smooth_over_all=False, which this version"):
        hold(older | {"smooth_over_all": False}, given)


def test_rates_may_differ_in_their_last_bits_as_processors_do() -> None:
    hold(settings(), settings(), rate=0.1 * (1 + 1e-15))
    with pytest.raises(UserError, match=r"a learning rate of 0\.1 at step 1"):
        hold(settings(), settings(), rate=0.1 * (1 + 1e-6))


def test_only_the_steps_may_be_others() -> None:
    begun: dict[str, object] = {"name": "a", "model": {"d_model": 8}}
    require_equal_but_for_steps(begun | {"steps": 5}, begun | {"steps": 7})
    for given, message in (
        (begun | {"name": "b"}, "begun with name=a and cannot go on with name=b: give name=a"),
        (begun | {"model": {"d_model": 7}}, "d_model=8 and cannot go on with d_model=7"),
        (begun | {"new": 1}, "without new and cannot go on with new=1: leave it out"),
        ({"model": {"d_model": 8}}, "name=a and cannot go on without it: give name=a"),
    ):
        with pytest.raises(UserError, match=message):
            require_equal_but_for_steps(begun, given)


@pytest.mark.parametrize("older_run", OLDER_RUNS, ids=lambda path: path.name)
def test_an_older_versions_run_resumes_and_its_model_translates(
    tmp_path: Path, older_run: Path
) -> None:
    shutil.copytree(older_run, tmp_path / "run")
    assert len(Translator.load(tmp_path / "run").translate(["A dog."], beam_size=1)) == 1
    recipe = read_recipe(tmp_path / "run").override({"steps": 9})
    result = train_recipe(recipe, tmp_path / "run", resume=True, on_begin=lambda line: None)
    assert (result.step, result.interrupted) == (9, False)
    log = read_log(tmp_path / "run" / "log.jsonl")
    assert [line["step"] for line in log] == [2, 3, 4, 6, 6, 8, 9]
    assert log[:5] == read_log(older_run / "log.jsonl")
    assert log[-1]["loss"] < log[1]["loss"]
    counts = {
        float(tensor)
        for name, tensor in load_tensors(tmp_path / "run" / LAST)[0].items()
        if name.startswith("optimizer/") and name.endswith("/step")
    }
    assert counts == {9.0}  # Adam went on from its sixth step
