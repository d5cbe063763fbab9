"""What training shows of the museum's faults: which score like the sound model.

Not in the paper. A fault whose cost is smaller than chance looks healthy: a law tells of it, a
score does not. The records are those of `experiments.museum_training`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lessonkit.museum import SPECIMENS
from lessonkit.museum.specimen import RECORD, Specimen
from transformer.evaluation.compare import Interval, difference_interval, mean_interval
from transformer.support.files import read_json, results_folder

SOUND = "sound"

Runs = list[dict[str, Any]]


def trained() -> dict[str, Specimen]:
    """Give what is trained, by name: the sound model first."""
    sound = Specimen(name=SOUND, about="no fault", trains=True, in_search=True)
    return {each.name: each for each in (sound, *SPECIMENS) if each.trains}


def read_runs() -> dict[str, Runs]:
    """Read the runs of each specimen that was trained, by its name."""
    files = sorted((results_folder() / RECORD).parent.glob("*.json"))
    records = [read_json(file) for file in files if file.name != Path(RECORD).name]
    return {record["specimen"]: record["runs"] for record in records}


def scores(runs: Runs) -> list[float]:
    """Give the BLEU of each run."""
    return [run["bleu"]["score"] for run in runs]


def against_sound(name: str, runs: Mapping[str, Runs]) -> Interval | None:
    """Give the interval of how far a specimen's BLEU is above the sound model's.

    A fault of the search has the sound model's own weights, so that the two are compared seed by
    seed; any other is compared by its mean.

    Returns:
        The 95% interval, in points; None of the sound model itself, and where either has fewer than
        two runs.
    """
    base, other = scores(runs[SOUND]), scores(runs[name])
    if name == SOUND or min(len(base), len(other)) < 2:
        return None
    if not trained()[name].in_search:
        return difference_interval(base, other)
    by_seed = {run["seed"]: run["bleu"]["score"] for run in runs[SOUND]}
    return mean_interval([run["bleu"]["score"] - by_seed[run["seed"]] for run in runs[name]])


def told_by_score(name: str, runs: Mapping[str, Runs]) -> bool:
    """Say whether a specimen's BLEU is shown to be below the sound model's."""
    interval = against_sound(name, runs)
    return interval is not None and interval.high < 0
