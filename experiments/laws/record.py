"""Try the laws on mutants of the sound models and on sound variants of them, and record it.

Not in the paper. `python -m experiments laws` does, on as many processes as it is told. What has
ended stands in a file of its own, so that the same command resumes.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import torch

from attention_laws import diagnose
from experiments.laws.mutants import SAMPLE_SEED, sample_mutants, try_laws_on_mutant
from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from experiments.laws.variants import VARIANT_EDITS_BY_MODEL, variant_text
from experiments.mutation import Mutant
from transformer.support.errors import UserError
from transformer.support.files import write_json
from transformer.support.provenance import commit_or_version, provenance

# Of each sound model: mutants of the model, and of what trains and searches it.
NUM_MUTANTS_BY_PART = {
    "modern": {"model": 50, "setup": 25},
    "functional": {"model": 50, "setup": 25},
    "paper": {"model": 100, "setup": 50},
}
ADAPTER_KINDS = ("whole", "alone")  # all that an adapter can have; the model by itself
MAX_PROCESSES = 64


class Task(NamedTuple):
    """Something that a process computes by itself; the fields are JSON."""

    kind: str  # a key of `FUNCTIONS_BY_TASK_KIND`
    arguments: tuple[Any, ...]

    @property
    def key(self) -> str:
        """The task as a text, which tells it from all others."""
        return json.dumps(self)


def record_mutants_and_variants(file: Path, processes: int = 1) -> None:
    """Try the laws on mutants and on sound variants of the models, and record what they find.

    Args:
        file: The record.
        processes: Number of processes, one a core.
    """
    if not 1 <= processes <= MAX_PROCESSES:
        raise UserError(f"--processes is {processes}: give 1 to {MAX_PROCESSES}")
    begun = provenance(torch.device("cpu"))
    ended = _EndedTasks(Path("runs") / "laws" / f"{commit_or_version()}.jsonl")
    parts = [(model, part) for model, numbers in NUM_MUTANTS_BY_PART.items() for part in numbers]
    draws = [Task("draw", (*part, NUM_MUTANTS_BY_PART[part[0]][part[1]])) for part in parts]
    samples = _run_tasks(draws, processes, ended)
    mutants = {
        part: [Task("mutant", (part[1], *mutant)) for mutant in samples[draw.key]["mutants"]]
        for part, draw in zip(parts, draws, strict=True)
    }
    variants = [
        Task("variant", (model, variant, kind))
        for model, edits in VARIANT_EDITS_BY_MODEL.items()
        for variant in edits
        for kind in ADAPTER_KINDS
    ]
    # Those that break no law take longest: they are not to be last.
    tasks = [*variants, *(task for of_part in mutants.values() for task in of_part)]
    results = _run_tasks(tasks, processes, ended)
    figures: dict[str, Any] = {"provenance": begun, "seed": SAMPLE_SEED}
    for part, draw in zip(parts, draws, strict=True):
        rows = [results[task.key] for task in mutants[part]]
        figures.setdefault(part[0], {})[part[1]] = {
            "tried": len(rows),
            **{field: sum(bool(row[field]) for row in rows) for field in ("broken", "lost")},
            "alone": sum(bool(row["alone"]) for row in rows) if part[1] == "model" else None,
            **samples[draw.key]["left_out"],
            "mutants": rows,
        }
    alarms = {" ".join(task.arguments): results[task.key] for task in variants}
    false_alarms = {run: laws for run, laws in alarms.items() if laws}
    figures["variants"] = {"runs": len(alarms), "alarms": false_alarms}
    write_json(file, figures)


class _EndedTasks:
    """What tasks returned, in a file with a line each, so that they need not be done again."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.results: dict[str, Any] = {}
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                # The last line may be cut short.
                with suppress(ValueError):
                    key, result = json.loads(line)
                    self.results[key] = result

    def add(self, key: str, result: Any) -> None:
        """Keep a result, in the file too."""
        self.results[key] = result
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps([key, result]) + "\n")


def _run_tasks(tasks: Iterable[Task], processes: int, ended: _EndedTasks) -> Mapping[str, Any]:
    """Return the result of each task by its key, of this run or of one before; print each."""
    waiting = [task for task in tasks if task.key not in ended.results]
    start, count = time.perf_counter(), len(waiting)
    # A process of its own for each, since threads of torch would spin against each other.
    with ProcessPoolExecutor(processes, get_context("spawn"), _prepare_process) as pool:
        try:
            futures = {
                pool.submit(FUNCTIONS_BY_TASK_KIND[x.kind], *x.arguments): x for x in waiting
            }
            for number, future in enumerate(as_completed(futures), start=1):
                task = futures[future]
                ended.add(task.key, future.result())
                seconds = time.perf_counter() - start
                print(
                    f"{number}/{count} {seconds:.0f} s: {_describe(task, future.result())}",
                    flush=True,
                )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return ended.results


def _prepare_process() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)


def _describe(task: Task, result: Any) -> str:
    """Return what a task found, in a line."""
    if task.kind == "draw":
        return f"{task.arguments[0]} {task.arguments[1]}: {len(result['mutants'])} mutants drawn"
    if task.kind == "variant":
        return f"{' '.join(task.arguments)}: {', '.join(result) or 'no law broken'}"
    alone = f"; alone {result['alone'] or 'missed'}" if task.arguments[0] == "model" else ""
    missed = f"not judged: {', '.join(result['lost'])}" if result["lost"] else "MISSED"
    return f"{result['broken'] or missed}{alone}: {result['mutant']}"


def _draw_mutants(model_name: str, part: str, number: int) -> dict[str, Any]:
    """Return mutants of a part of a model, and what was left out."""
    mutants, left_out = sample_mutants(SOUND_MODELS[model_name], number, of_setup=part == "setup")
    return {"mutants": mutants, "left_out": left_out}


def _try_laws_on_mutant(part: str, *fields: Any) -> dict[str, Any]:
    """Return what the laws find; of a mutant of the setup the model by itself is sound."""
    return try_laws_on_mutant(Mutant(*fields), alone=part == "model")


def false_alarms_of_variant(model_name: str, variant: str, kind: str) -> list[str]:
    """Return the laws that are called broken on a sound variant, or lost to an error."""
    module = run_as_module(variant_text(model_name, variant))
    report = diagnose(module.make_adapter() if kind == "whole" else module.make_model())
    lost = [line.law for line in report.lines if line.lost]
    return [*report.broken_laws, *lost] or (["not judged"] if report.exit_status else [])


FUNCTIONS_BY_TASK_KIND: Mapping[str, Callable[..., Any]] = {
    "draw": _draw_mutants,
    "mutant": _try_laws_on_mutant,
    "variant": false_alarms_of_variant,
}
