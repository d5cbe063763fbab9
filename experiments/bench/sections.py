"""The benchmarks, a section each: measured, recorded, and shown in docs/benchmarks.md.

Not in the paper.
"""

import statistics
from pathlib import Path
from typing import Any

import torch

from attention_course.status import keep_freed_memory
from experiments.bench import export, gpu, training
from experiments.bench.peers import OURS
from experiments.tables import markdown
from lessonkit.analysis.timing import single_thread
from transformer.support.files import write_json
from transformer.support.provenance import provenance
from transformer.training.devices import pick_device


def record(section: str, file: Path) -> None:
    """Measure one section, "training", "export" or "gpu", and write its record.

    Decoding's table stands on its page by hand: it has the records of two machines.
    """
    if section == "export":
        export.record_speed("de-en", file)
    elif section == "gpu":
        origin = provenance(pick_device())
        gpu.measure(lambda found: write_json(file, origin | found))
    else:
        keep_freed_memory()  # as `train` does; the peer has it too
        with single_thread():
            figures = training.measure()
        write_json(file, provenance(torch.device("cpu")) | figures)


def gpu_table(figures: dict[str, Any]) -> str:
    """Give each way of making a step on a GPU, with its share of the largest product's rate."""
    rows, largest = [], figures["largest_product"]
    for model, one in figures["models"].items():
        for way, each in one["ways"].items():
            share = each["tflops"] / largest[way.partition(",")[0]]
            row = [model, way, f"{each['tokens_per_second']:,}", f"{each['milliseconds']:.1f}"]
            row += [f"{each['memory_gb']:.2f}", f"{share:.1%}", f"{each['loss']:.3f}"]
            rows.append([*row, f"{each['first_two_seconds']:.1f}"])
    head = ["model", "way", "tokens/s", "ms a step", "GB", "of the largest product's rate"]
    head += ["loss, last step", "first two steps, s"]
    about = f"{figures['hardware']}, torch {figures['torch']}, {figures['date']}:"
    return f"{about}\n\n{markdown(head, rows, words=range(2))}"


def training_table(figures: dict[str, Any]) -> str:
    """Give the contenders' speeds, and each kind of work's share of a step of ours."""
    speeds, columns, besides = [], {}, []
    for recipe, one in figures["recipes"].items():
        for precision, found in one["precisions"].items():
            for name, each in found["contenders"].items():
                ends = " to ".join(f"{end:.2f}" for end in each["lowest_and_highest"])
                row = [recipe, precision, name, f"{each['parameters']:,}"]
                row += [f"{each['tokens_per_second']:,}", f"{each['ours_is_times']:.2f} ({ends})"]
                speeds.append([*row, f"{each['share_of_ceiling']:.0%}"])
            columns[f"{recipe}, {precision}"] = found["profile"]
            step = statistics.median(found["contenders"][OURS]["seconds"])
            besides.append(f"{one['pipeline_seconds_a_batch'] / step:.1%}")
    kinds = next(iter(columns.values()))
    rows = [[kind, *(f"{shares[kind]:.0%}" for shares in columns.values())] for kind in kinds]
    rows.append(["making the batch, beside the step", *besides])
    heading = ["recipe", "precision", "who", "parameters", "tokens/s", "ours is times"]
    heading += ["of the largest product's rate"]
    profiles = markdown(["a step's time", *columns], rows, words=range(1))
    origin = f"{figures['hardware']}, {figures['date']}:"
    return f"{origin}\n\n{markdown(heading, speeds, words=range(3))}\n\n{profiles}"
