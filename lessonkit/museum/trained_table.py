"""What training shows of the museum's faults: which score like the sound model.

Not in the paper. A fault whose cost is smaller than chance looks healthy: a law tells of it, a
score does not. The records are those of `museum.train`.
"""

from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from lessonkit.museum import SPECIMENS
from lessonkit.museum.specimen import RECORD, Specimen
from transformer.evaluation.compare import Interval, difference_interval, mean_interval
from transformer.support.files import read_json
from transformer.support.paths import results_folder

SOUND = "sound"

Runs = list[dict[str, Any]]


def trained() -> dict[str, Specimen]:
    """Give what is trained, by name: the sound model first."""
    sound = Specimen(name=SOUND, about="no fault", group="", trains=True, in_search=True)
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

    Args:
        name: Of the specimen.
        runs: Of `read_runs`.

    Returns:
        Its 95% interval, in points; None of the sound model itself, and where either has fewer than
        two runs.
    """
    base, other = scores(runs[SOUND]), scores(runs[name])
    if name == SOUND or min(len(base), len(other)) < 2:
        return None
    if not trained()[name].in_search:
        return difference_interval(base, other)
    by_seed = {run["seed"]: run["bleu"]["score"] for run in runs[SOUND]}
    return mean_interval([run["bleu"]["score"] - by_seed[run["seed"]] for run in runs[name]])


def section(runs: Mapping[str, Runs], broken: Mapping[str, list[str]]) -> list[str]:
    """Write what was trained as a section of the page, the highest BLEU first.

    Args:
        runs: Of `read_runs`, the sound model's among them.
        broken: The laws that each specimen breaks.

    Returns:
        Lines of Markdown.
    """
    names = sorted(set(runs) - {SOUND}, key=lambda name: (-mean(scores(runs[name])), name))
    hidden = [name for name in names if not told_by_score(name, runs)]
    caught = sum(bool(broken[name]) for name in hidden)
    return [
        "## Trained: which of them a score tells of",
        "",
        f"{len(names)} were trained on the embedded corpus beside the sound model, "
        f"{len(runs[SOUND])} seeds each (`python -m experiments specimens`): BLEU of the "
        "validation text by a beam of 4, perplexity per token there, and the training loss at "
        "the end, means over seeds. In brackets is the 95% interval of the difference from the "
        "sound model's BLEU. A score tells of a fault where that interval lies below 0; for "
        f"{len(hidden)} of them it does not, and a law is broken by {caught} of these.",
        "",
        "| specimen | BLEU | perplexity | loss | told by its score | first law broken |",
        "| --- | ---: | ---: | ---: | --- | --- |",
        _row("the sound model", runs[SOUND], None, ["", ""]),
        *(
            _row(
                f"`{name}`",
                runs[name],
                against_sound(name, runs),
                [
                    "no" if name in hidden else "yes",
                    f"`{broken[name][0]}`" if broken[name] else "none",
                ],
            )
            for name in names
        ),
    ]


def told_by_score(name: str, runs: Mapping[str, Runs]) -> bool:
    """Say whether a specimen's BLEU is shown to be below the sound model's.

    Args:
        name: Of the specimen.
        runs: Of `read_runs`.
    """
    interval = against_sound(name, runs)
    return interval is not None and interval.high < 0


def _row(title: str, runs: Runs, interval: Interval | None, last: list[str]) -> str:
    bleu = f"{mean(scores(runs)):.1f}"
    if interval is not None:
        bleu += f" ({interval.low:+.1f} to {interval.high:+.1f})"
    perplexity = _mean([run["perplexity"] for run in runs])
    loss = _mean([run["curve"][-1][1] for run in runs])
    return "| " + " | ".join([title, bleu, perplexity, loss, *last]) + " |"


def _mean(values: list[float | None]) -> str:
    """Write a mean in three or four figures, or that there was no number."""
    numbers = [each for each in values if each is not None]
    if len(numbers) < len(values):
        return "none"
    return f"{mean(numbers):,.2f}" if mean(numbers) < 100 else f"{mean(numbers):,.0f}"
