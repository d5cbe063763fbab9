"""Recorded runs in `data/results/`; and how much a lesson trains, and where. Not in the paper.

A run of an earlier system's recipe is recorded as systems/NAME.json there, of any other as
NAME.json, a run with another seed as seeds/NAME-SEED.json; other measures have folders of their
own. `experiments` makes the records, and tables of them.
"""

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from transformer.support.errors import UserError, require, unknown_name_error
from transformer.support.files import read_json
from transformer.support.folders import results_folder
from transformer.support.signatures import check_argument_types

# What a run of an experiment can be judged by, the paper's search first, and its name in a record.
READINGS = {
    "beam 4, mean of checkpoints": "beam",
    "greedy, mean of checkpoints": "greedy",
    "greedy, last checkpoint": "last",
}

LESSON_TRAINING_PROFILES = ("quick", "full")
# The variable that names the folder in which lessons keep what they train.
RUNS_FOLDER_VARIABLE = "COURSE_RUNS"
# Checks of the lessons set it: they need to see that a training runs, not good translations.
MAX_STEPS_VARIABLE = "COURSE_MAX_STEPS"


@check_argument_types
def load_result(name: str) -> dict[str, Any]:
    """Read a record by its place in data/results: "multi30k-de-en", "experiments/captions".

    Returns:
        Of a run: recipe, training and evaluation (command, commit, hardware, date ...), log (see
        `transformer.training.report`) and figures (see `transformer.evaluation.evaluate`).
    """
    folder = results_folder()
    known = {
        path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.rglob("*.json")
    }
    if name not in known:
        raise unknown_name_error("recorded run", name, known)
    record: dict[str, Any] = read_json(known[name])
    return record


@check_argument_types
def load_runs(recipe: str) -> dict[str, list[dict[str, Any]]]:
    """Read all of a recipe's runs with several seeds, by the precision of their products.

    Returns:
        For "float32", "bfloat16" or both one record a run (see `load_result`), by seed.
    """
    folder = results_folder()
    known = {path.stem: path for path in (*folder.glob("*.json"), *folder.glob("systems/*.json"))}
    if recipe not in known:
        raise unknown_name_error("recorded run", recipe, known)
    records = map(read_json, (known[recipe], *folder.glob(f"seeds/{recipe}-[0-9]*.json")))
    runs: dict[str, list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda each: int(each["training"]["seed"])):
        runs.setdefault(precision_of_run(record), []).append(record)
    return runs


@contextmanager
def reading_record(name: str) -> Iterator[None]:
    """Turn what Python raises where a record lacks a part, or has another form, into a UserError.

    Only what takes figures out of the record of this name belongs into the block.
    """
    try:
        yield
    except UserError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(
            f"{name} is no such record ({reason}): give one as `load_result` reads it"
        ) from error


def precision_of_run(record: Mapping[str, Any]) -> str:
    """Name the numbers in which a recorded run computed products: float32, bfloat16, float16."""
    training = record.get("training", record)
    if "precision" in training:
        return {"bf16": "bfloat16", "fp16": "float16"}.get(training["precision"], "float32")
    return "bfloat16" if record["recipe"]["training"]["bf16"] else "float32"


@check_argument_types
def describe_run(record: Mapping[str, Any]) -> str:
    """Return one line that says how a recorded run (see `load_result`) came about."""
    with reading_record("record"):
        run = record["training"]
        commit = re.sub(r"\b[0-9a-f]{40}\b", lambda match: match[0][:7], run["commit"])
        return (
            f"Recorded {run['date']} on {run['hardware']}: {run['steps']:,} steps in "
            f"{run['minutes']:,.0f} minutes, seed {run['seed']}, commit {commit}."
        )


@check_argument_types
def scores_by_variant(record: Mapping[str, Any], reading: str = "beam") -> dict[str, list[float]]:
    """Return the BLEU of each variant's runs, in the order of their seeds, by one of `READINGS`.

    The record is that of `python -m experiments experiment`.
    """
    if reading not in READINGS.values():
        raise unknown_name_error("reading", reading, READINGS.values())
    scores: dict[str, list[float]] = {}
    with reading_record("record"):
        for run in record["runs"]:
            scores.setdefault(run["variant"], []).append(run["figures"][reading]["bleu"]["score"])
    return scores


def course_profile() -> str:
    """Return how much a lesson should train here, as `COURSE_PROFILE` says.

    Returns:
        "quick": the embedded corpus and small models, about a minute. "full": real corpora,
        which needs a GPU to be pleasant. If the variable is not set or empty, it is "full" on a
        machine with a GPU.

    Raises:
        UserError: `COURSE_PROFILE` is neither.
    """
    chosen = os.environ.get("COURSE_PROFILE")
    if not chosen:
        import torch  # late: `lessonkit.colab` sets what torch reads as it loads

        return "full" if torch.cuda.is_available() else "quick"
    if chosen not in LESSON_TRAINING_PROFILES:
        raise unknown_name_error("COURSE_PROFILE", chosen, LESSON_TRAINING_PROFILES)
    return chosen


@check_argument_types
def limit_steps(steps: int) -> int:
    """Return the steps of a lesson's training: `steps`, or fewer if `COURSE_MAX_STEPS` says so.

    Raises:
        UserError: `steps` is under 1, or `COURSE_MAX_STEPS` is no whole number from 1 on.
    """
    require(steps >= 1, f"steps is {steps}: it must be 1 or more")
    most = os.environ.get(MAX_STEPS_VARIABLE)
    if not most:
        return steps
    require(
        most.isdecimal() and int(most) >= 1,
        f"{MAX_STEPS_VARIABLE} is {most!r}: it must be a whole number, 1 or more",
    )
    return min(steps, int(most))


@check_argument_types
def lesson_run_folder(name: str) -> Path:
    """Return the folder that a lesson trains in, the same one each time: a run can be resumed.

    Args:
        name: The folder's own name. If `COURSE_RUNS` is set and not empty, the folder is in there
            and stays; if not, it is a temporary one that is removed when Python ends.
    """
    runs_folder = os.environ.get(RUNS_FOLDER_VARIABLE)
    return (Path(runs_folder) if runs_folder else _runs_folder_until_exit()) / name


@cache
def _runs_folder_until_exit() -> Path:
    """Return a new folder, one for this process, that is removed when it ends."""
    temporary = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)
