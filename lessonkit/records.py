"""Recorded runs: what `data/results/` holds, read for the lessons. Not in the paper.

A run of an earlier system's recipe is recorded as systems/NAME.json there, of any other as
NAME.json, a run with another seed as seeds/NAME-SEED.json; other measures have folders of their
own. `experiments` makes the records.
"""

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from transformer.config import LENGTH_PENALTY
from transformer.evaluation.compare import chance_of
from transformer.support.errors import unknown_name
from transformer.support.files import read_json, results_folder

# What a run of an experiment can be judged by, the paper's search first, and its name in a record.
READINGS = {
    "beam 4, mean of checkpoints": "beam",
    "greedy, mean of checkpoints": "greedy",
    "greedy, last checkpoint": "last",
}
LEVEL = 0.05  # largest probability of a mean this far above the speed run's goal by chance

_TALKS = "IWSLT talks, German to English, at most 20 tokens, 10 epochs"


class Published(NamedTuple):
    """What one of the five earlier systems reported of itself: four notebooks, one homework."""

    figures: str  # what was reached, as it was counted there
    conditions: str  # on which text, and for how long
    bleu: float | None = None  # among the figures, if it is of a whole test set


PUBLISHED: dict[str, Published] = {
    "annotated": Published(
        "training loss 2.4 to 2.6; no BLEU", "IWSLT talks, German to English, 6,000 steps"
    ),
    "both-ways-fr-en": Published(
        "BLEU 0.2290, smoothed, of one sentence", "IWSLT talks, French to English, 3 epochs on a T4"
    ),
    "both-ways-en-fr": Published(
        "BLEU 0.0000; its loss never fell", "IWSLT talks, English to French, 3 epochs on a T4"
    ),
    "tatoeba": Published(
        "loss of a sentence 46.2 after round 2; no BLEU",
        "Tatoeba, French to English, 200 rounds, an hour of GPU",
    ),
    "multi30k": Published(
        "BLEU 36.52 (an older copy: 35.53), validation perplexity 5.06",
        "Multi30k, German to English, 10 epochs, greedy, lower-cased tokens",
        36.52,
    ),
    "homework-seq2seq": Published("loss 3.23, perplexity 25.36, BLEU 6.32", _TALKS, 6.32),
    "homework-seq2seq-attention": Published(
        "loss 2.71, perplexity 15.05, BLEU 17.77", _TALKS, 17.77
    ),
    "homework-megatron": Published("loss 2.7, perplexity 15, BLEU 9.68", _TALKS, 9.68),
    "homework-soundwave": Published("loss 2.8, perplexity 16, BLEU 7.08", _TALKS, 7.08),
}

# The columns of the table of systems: a field's name, and its heading.
SYSTEM_COLUMNS = {
    "recipe": "recipe",
    "published": "published",
    "published_on": "on",
    "bleu": "ours: BLEU (13a)",
    "lowercased": "BLEU (tokens, lower case)",
    "loss": "loss",
    "perplexity": "perplexity",
    "validation_perplexity": "validation perplexity",
    "ours_on": "on",
    "parameters": "parameters",
    "speed": "tokens/s",
    "minutes": "minutes",
    "hardware": "hardware",
}
# Fields of words: they stand at the left of their cells, numbers at the right.
WORDS = {"recipe", "test_set", "precision", "hardware", "date"}
WORDS |= {"published", "published_on", "ours_on"}


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
        raise unknown_name("recorded run", name, known)
    record: dict[str, Any] = read_json(known[name])
    return record


def load_runs(recipe: str) -> dict[str, list[dict[str, Any]]]:
    """Read all of a recipe's runs with several seeds, by the precision of their products.

    Returns:
        For "float32", "bfloat16" or both one record a run (see `load_result`), by seed.
    """
    folder = results_folder()
    known = {path.stem: path for path in (*folder.glob("*.json"), *folder.glob("systems/*.json"))}
    if recipe not in known:
        raise unknown_name("recorded run", recipe, known)
    records = map(read_json, (known[recipe], *folder.glob(f"seeds/{recipe}-[0-9]*.json")))
    runs: dict[str, list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda each: int(each["training"]["seed"])):
        runs.setdefault(precision(record), []).append(record)
    return runs


def precision(record: Mapping[str, Any]) -> str:
    """Name the numbers in which a recorded run computed products: float32, bfloat16, float16."""
    training = record.get("training", record)
    if "precision" in training:
        return {"bf16": "bfloat16", "fp16": "float16"}.get(training["precision"], "float32")
    return "bfloat16" if record["recipe"]["training"]["bf16"] else "float32"


def origin(record: Mapping[str, Any]) -> str:
    """Say in one line how a recorded run (see `load_result`) came about."""
    run = record["training"]
    commit = re.sub(r"\b[0-9a-f]{40}\b", lambda found: found[0][:7], run["commit"])
    return (
        f"Recorded {run['date']} on {run['hardware']}: {run['steps']:,} steps in "
        f"{run['minutes']:,.0f} minutes, seed {run['seed']}, commit {commit}."
    )


def scores(record: Mapping[str, Any], reading: str = "beam") -> dict[str, list[float]]:
    """Give the BLEU of each variant's runs, in the order of their seeds, by one of `READINGS`.

    The record is that of `python -m experiments experiment`.
    """
    found: dict[str, list[float]] = {}
    for run in record["runs"]:
        found.setdefault(run["variant"], []).append(run["figures"][reading]["bleu"]["score"])
    return found


def load_speed_runs() -> list[dict[str, Any]]:
    """Read every record of the speed run (docs/records.md), the first first."""
    return [read_json(path) for path in sorted((results_folder() / "records").glob("*.json"))]


def standing(record: Mapping[str, Any]) -> tuple[float, float, float, bool]:
    """Sum up a record of the speed run.

    Returns:
        The mean of the seconds; the mean BLEU; the probability of a mean so far above the goal if
        the recipe's own were the goal; whether the goal counts as reached.
    """
    points = [run["bleu"] for run in record["runs"]]
    chance = chance_of(points, record["goal"])
    seconds = statistics.mean(run["seconds"] for run in record["runs"])
    return seconds, statistics.mean(points), chance, chance < LEVEL


def machine_of(record: Mapping[str, Any]) -> str:
    """Say what a speed run was made on: the processor, its threads or processes, the precision."""
    on = record["hardware"]
    if record["processes"] > 1:  # torchrun gives each of them one thread
        on = f"{on.partition(', ')[0]}, {record['processes']} processes"
    return f"{on}, {precision(record)}"


def systems_table() -> str:
    """Give a row of a Markdown table for each earlier system: its own report, and our run.

    Loss (nats) and perplexity are per token of the test set; they depend on what a token is.
    """
    rows = []
    for name, report in PUBLISHED.items():
        path = results_folder() / "systems" / f"{name}.json"
        theirs = {"published": report.figures, "published_on": report.conditions}
        ours = _system(read_json(path)) if path.exists() else {"bleu": "not run yet"}
        rows.append(dict.fromkeys(SYSTEM_COLUMNS, "") | ours | theirs | {"recipe": f"`{name}`"})
    return markdown(SYSTEM_COLUMNS, rows)


def markdown(columns: Mapping[str, str], rows: Sequence[Mapping[str, str]]) -> str:
    """Give rows, for each field its cell, as a Markdown table; columns are fields and headings."""
    rule = ["---" if field in WORDS else "---:" for field in columns]
    cells = [[row[field] for field in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in ([*columns.values()], rule, *cells))


def run_cells(record: Mapping[str, Any]) -> dict[str, str]:
    """Give the cells of a recorded run, by the name of the field."""
    run, figures = record["training"], record["figures"]
    low, high = figures["bleu"]["interval"]
    src_lang, tgt_lang = figures["src_lang"], figures["tgt_lang"]
    return {
        "recipe": f"`{record['recipe']['name']}`",
        "test_set": f"{figures['corpus']} {figures['split']}, {src_lang}-{tgt_lang}",
        "bleu": f"{figures['bleu']['score']:.2f} ({low:.2f} to {high:.2f})",
        "lowercased": f"{figures['bleu_tokenised_lowercased']:.2f}",
        "chrf": f"{figures['chrf']['score']:.2f}",
        "perplexity": f"{figures['perplexity']:.2f}",
        "beam": search(figures),
        "parameters": f"{figures['parameters']:,}",
        "minutes": f"{run['minutes']:,.0f}" if run["minutes"] >= 10 else f"{run['minutes']:.1f}",
        "hardware": run["hardware"].replace(" 1 threads", " 1 thread"),  # as older records say
        "date": run["date"],
    }


def _system(record: Mapping[str, Any]) -> dict[str, str]:
    """Give the cells of our run of an earlier system's recipe."""
    run, cells = record["training"], run_cells(record)
    speeds = [line["tokens_per_second"] for line in record["log"] if line["tokens_per_second"]]
    return {
        **cells,
        "loss": f"{record['figures']['loss']:.2f}",
        "validation_perplexity": f"{math.exp(run['validation_loss']):.2f}",
        "ours_on": f"{cells['test_set']}, {run['steps']:,} steps, beam {cells['beam']}",
        "speed": f"{statistics.median(speeds):,.0f}",
    }


def search(figures: Mapping[str, Any]) -> str:
    """Give the beam of a record's figures, and the penalty's alpha where it is not the paper's."""
    alpha = figures.get("alpha", LENGTH_PENALTY)  # early records have none: it was the paper's
    beam = str(figures["beam_size"])
    return beam if alpha == LENGTH_PENALTY else f"{beam}, alpha {alpha:g}"
