"""Experiments: one recipe, one thing changed at a time, over some seeds (as in §6.2, Table 3).

`python -m experiments experiment captions` trains what is missing and writes the record
after each run. Stopped at any point, the same command goes on. Changes are compared on
the *validation* text; the test text is for the recipe that is chosen in the end. An experiment in
which nothing is chosen has "test" among its measures: each run is measured on the test text, once.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.plans import Experiment, find_experiment
from lessonkit.museum.trainable import builder_with_faults
from transformer.config import BEAM_SIZE
from transformer.data import corpora
from transformer.evaluation.evaluate import evaluate_translator
from transformer.models.folder import (
    LOG,
    RUN,
    ModelDescription,
    Network,
    holds_run,
    read_recipe,
    saved_steps,
    step_weights_path,
)
from transformer.models.translator import Translator
from transformer.support.errors import UserError, unknown_name_error
from transformer.support.files import check_writable_file, read_json, write_json
from transformer.training.devices import Precision, pick_device, pick_device_and_precision
from transformer.training.recipe import train_recipe
from transformer.training.report import read_log

# In a run's folder, beside what training leaves.
FIGURES_FILE_NAME = "figures.json"
INJECTED_FAULTS_FILE_NAME = "faults.json"  # a list of names; a recipe has no faults

# What a run can be measured by: a split of its corpus ("" for its first test set), and the size of
# the beam. "last" is of the last checkpoint, where some are averaged; the others are of the model.
MEASURES = {
    "beam": ("validation", BEAM_SIZE),
    "greedy": ("validation", 1),
    "last": ("validation", 1),
    "test": ("", BEAM_SIZE),
}


def record_experiment(
    name: str, out: Path | None, file: Path, seeds: Sequence[int], only: Sequence[str]
) -> None:
    """Run a named experiment in the folder `out`, or runs/NAME, as `run_experiment`."""
    run_experiment(find_experiment(name), out or Path("runs") / name, file, seeds=seeds, only=only)


def run_experiment(
    experiment: Experiment,
    out: Path,
    record: Path,
    *,
    seeds: Sequence[int] = (1,),
    only: Sequence[str] = (),
    on_line: Callable[[str], None] = print,
) -> None:
    """Train and measure each variant with each seed, and add each to the record.

    Runs that have ended are not made again, and those that were stopped go on. What cannot be done
    is a UserError before any training. `out` is the runs' folder, and the record a JSON
    file of every run that has ended, here or earlier; `only` names some variants.
    """
    order = list(experiment.variants)
    if unknown := set(only) - set(order):
        raise unknown_name_error("variant", min(unknown), order)
    runs = [
        (variant, seed, out / f"{order.index(variant)}-{seed}")
        for seed in seeds
        for variant in only or order
    ]
    slow = pick_device_and_precision().precision != Precision.BF16
    if slow and any(experiment.precision_name(run[0]) == Precision.BF16 for run in runs):
        raise UserError(
            f"{experiment.name!r} computes in bfloat16, for which this processor has no "
            "instructions: run it on one that has them"
        )
    check_record_of_experiment(record, experiment)
    for variant, seed, folder in runs:
        check_run_folder(folder, experiment, variant, seed)
    for number, (variant, seed, folder) in enumerate(runs, start=1):
        on_line(f"run {number} of {len(runs)}: {variant}, seed {seed}")
        if not (folder / RUN).exists():
            _train_or_resume(experiment, variant, seed, folder, on_line)
        if not (folder / FIGURES_FILE_NAME).exists():
            build = builder_with_faults(*experiment.active_faults(variant))
            figures = measure_run(folder, build, experiment.measures)
            write_json(folder / FIGURES_FILE_NAME, figures)
        add_run_to_record(record, experiment, make_run_record_entry(experiment, variant, folder))


def _train_or_resume(
    experiment: Experiment, variant: str, seed: int, folder: Path, on_line: Callable[[str], None]
) -> None:
    """Begin a run or go on with it; Ctrl-C is passed on once it is saved."""
    faults = experiment.active_faults(variant)
    begun = holds_run(folder)
    if not begun:
        write_json(folder / INJECTED_FAULTS_FILE_NAME, faults)
    recipe, options = experiment.recipe_and_options(variant, seed)
    precision = Precision(experiment.precision_name(variant))
    result = train_recipe(
        recipe,
        folder,
        resume=begun,
        precision=precision,
        build=builder_with_faults(*faults),
        on_begin=on_line,
        on_report=lambda report: on_line(str(report)),
        **options.train_recipe_kwargs(recipe, precision),
    )
    if result.interrupted:
        raise KeyboardInterrupt


def check_record_of_experiment(record: Path, experiment: Experiment) -> None:
    """Refuse a record of another experiment, recipe or budget, or with variants unknown to it."""
    check_writable_file(record)
    if not record.exists():
        return
    held, wanted = read_json(record), experiment.shared_record_fields()
    if not isinstance(held, dict) or {key: held.get(key) for key in wanted} != wanted:
        raise UserError(
            f"{record} is no record of {experiment.name!r} with its recipe and budget of today: "
            "give another --record, or remove the file"
        )
    if unknown := {run["variant"] for run in held["runs"]} - set(experiment.variants):
        raise UserError(
            f"{record} has a run of {min(unknown)!r}, which is no variant of "
            f"{experiment.name!r}: rename it there, or give another --record"
        )


def check_run_folder(folder: Path, experiment: Experiment, variant: str, seed: int) -> None:
    """Refuse a folder with a run whose settings or faults are not the variant's of today."""
    if not holds_run(folder):
        return
    same = (
        read_recipe(folder).name_and_sections()
        == experiment.recipe_and_options(variant, seed)[0].name_and_sections()
    )
    file = folder / INJECTED_FAULTS_FILE_NAME
    faults = read_json(file) if file.exists() else []
    if not same or faults != experiment.active_faults(variant):
        raise UserError(
            f"{folder} holds another run than {variant!r} with seed {seed}: "
            "choose another --out, or remove the folder"
        )


def measure_run(
    folder: Path, build: Callable[[ModelDescription], Network], measures: Sequence[str]
) -> dict[str, Any]:
    """Measure a run, with what made its network, by each of the measures.

    "last" is left out where no checkpoints are averaged.
    """
    data = read_recipe(folder).data
    figures = {}
    for name in measures:
        split, beam_size = MEASURES[name]
        weights = None
        if name == "last":
            steps = saved_steps(folder)
            if not steps:
                continue
            weights = step_weights_path(folder, steps[-1])
        translator = Translator.load(folder, pick_device(), weights=weights, build=build)
        split = split or corpora.default_test_split(data.corpus)
        text = corpora.load(data.corpus, split, data.src_lang, data.tgt_lang)
        figures[name] = evaluate_translator(translator, text, beam_size=beam_size)
    return figures


def make_run_record_entry(experiment: Experiment, variant: str, folder: Path) -> dict[str, Any]:
    """Gather what a record holds of a run; validation has steps and the loss (nats per token)."""
    training = read_json(folder / RUN)
    log = [line for line in read_log(folder / LOG) if line["kind"] == "validation"]
    return {
        "variant": variant,
        "seed": training["seed"],
        "changes": dict(experiment.variants[variant]),
        "faults": experiment.active_faults(variant),
        "training": training,
        "figures": read_json(folder / FIGURES_FILE_NAME),
        "validation": [[line["step"], round(line["loss"], 4)] for line in log],
    }


def add_run_to_record(record: Path, experiment: Experiment, run: dict[str, Any]) -> None:
    """Put a run into a record, in place of an earlier one of its variant and seed."""
    runs = read_json(record)["runs"] if record.exists() else []
    order = list(experiment.variants)
    runs = [old for old in runs if (old["variant"], old["seed"]) != (run["variant"], run["seed"])]
    runs = sorted([*runs, run], key=lambda one: (order.index(one["variant"]), one["seed"]))
    write_json(record, experiment.shared_record_fields() | {"runs": runs})
