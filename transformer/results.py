"""Recorded runs: what `data/results/*.json` holds, and how to say where it comes from."""

from pathlib import Path
from typing import Any

from transformer.errors import UserError, unknown_name
from transformer.training.checkpoint import read_json


def results_folder() -> Path:
    """Give the checkout's data/results.

    Raises:
        UserError: this is no checkout; recorded runs do not travel in the wheel.
    """
    folder = Path(__file__).resolve().parents[1] / "data" / "results"
    if not folder.is_dir():
        raise UserError("recorded runs are in the repository only: clone it")
    return folder


def load_result(name: str) -> dict[str, Any]:
    """Read a recorded run.

    Args:
        name: The file's name without ".json".

    Returns:
        recipe, training and evaluation (command, commit, hardware, date ...), figures (see
        `transformer.evaluation`) and log (see `transformer.training.log`).

    Raises:
        UserError: there is no such run; the nearest name is given.
    """
    known = {path.stem: path for path in results_folder().glob("*.json")}
    if name not in known:
        raise unknown_name("recorded run", name, known)
    record: dict[str, Any] = read_json(known[name])
    return record


def origin(record: dict[str, Any]) -> str:
    """Say in one line how a recorded run came about."""
    run = record["training"]
    return (
        f"Recorded {run['date']} on {run['hardware']}: {run['steps']:,} steps in "
        f"{run['minutes']:.0f} minutes, seed {run['seed']}, commit {run['commit'][:7]}."
    )
