"""The benchmarks, a section each: measured, recorded, and shown in docs/benchmarks.md.

Not in the paper.
"""

import statistics
from pathlib import Path
from typing import Any

import torch

from attention_course.status import keep_freed_memory
from engines.folder import ENGINES
from experiments.bench import data, decoding, gpu, modern, shapes, starts, training
from experiments.bench.decoding import PLAIN_SEARCH_NAME
from experiments.bench.peers import OURS
from experiments.tables import markdown_table
from lessonkit.analysis.timing import computing_on_single_thread
from transformer.config import BEAM_SIZE
from transformer.support.files import write_json
from transformer.support.provenance import provenance
from transformer.training.devices import pick_device


def measure_and_record_section(section: str, file: Path) -> None:
    """Measure a section, one of `commands.BENCH_SECTION_NAMES`, and record it."""
    if section == "decoding":
        decoding.record_decoding_speeds("de-en", file)
    elif section == "gpu":
        origin = provenance(pick_device())
        gpu.measure_gpu_steps(lambda figures: write_json(file, origin | figures))
    else:
        keep_freed_memory()  # as `train` does; the peer has it too
        with computing_on_single_thread():
            if section == "modern":
                figures = modern.measure_variants()
            elif section == "data":
                figures = data.measure_text_to_batches()
            elif section == "starts":
                figures = starts.measure_starts()
            elif section == "shapes":
                figures = shapes.measure_batch_shapes()
            else:
                figures = training.measure_all_recipes()
        write_json(file, provenance(torch.device("cpu")) | figures)


def gpu_steps_table(figures: dict[str, Any]) -> str:
    """Return the table of training steps on a GPU: by precision, eager, recorded and compiled."""
    rows, largest = [], figures["largest_product"]
    for model, measured in figures["models"].items():
        for way, step in measured["ways"].items():
            share = step["tflops"] / largest[way.partition(",")[0]]
            row = [
                model,
                way,
                f"{step['tokens_per_second']:,}",
                f"{step['milliseconds']:.1f}",
                f"{step['memory_gb']:.2f}",
                f"{share:.1%}",
                f"{step['loss']:.3f}",
                f"{step['first_two_seconds']:.1f}",
            ]
            if "kernels" in step:
                free = step["milliseconds_without_waiting"]
                row += [f"{free:.1f}", f"{step['kernels']:,.0f}", f"{step['launches']:,.0f}"]
                row.append(f"{step['gpu_milliseconds'] / free:.0%}")
            rows.append(row)
    head = ["model", "precision", "tokens/s", "ms per step", "GB"]
    head += ["share of the largest product's rate", "last step's loss", "first two steps, s"]
    # A record of before the steps were profiled has no more columns.
    if len(rows[0]) > len(head):
        head += ["ms per step, not waited for", "kernels", "launches", "GPU busy"]
    about = f"{figures['hardware']}, torch {figures['torch']}, {figures['date']}:"
    return f"{about}\n\n{markdown_table(head, rows, words=range(2))}"


def batch_shapes_table(figures: dict[str, Any]) -> str:
    """Return the table of the shapes of some epochs' batches, as padded and as rounded up."""
    rows = [
        [
            name,
            f"{counted['batches']:,}",
            *(f"{way['shapes']:,}" for way in counted["ways"].values()),
            *(f"{way['positions_per_token']:.3f}" for way in counted["ways"].values()),
            f"{counted['ways']['rounded up']['shapes_that_come_once']:,}",
            "rounded up" if counted["is_rounded"] else "as padded",
        ]
        for name, counted in figures["pipelines"].items()
    ]
    head = [f"{figures['epochs']} epochs of", "batches", "shapes", "shapes, rounded up"]
    head += [
        "positions per token",
        "the same, rounded up",
        "rounded shapes that come once",
        "taken",
    ]
    return markdown_table(head, rows, words=range(1))


def decoding_speeds_table(figures: dict[str, Any]) -> str:
    """Return the table of the contenders' speeds as multiples of ours, and of a long decode."""
    versions = figures["versions"]
    fields = {"greedy": "figures", f"{BEAM_SIZE} beams": "with_beams"}
    ways = {"in batches": "together", "one by one": "one_by_one"}
    rows = []
    for name in figures["figures"]:
        row = [f"{ENGINES[name].title} {versions[name]}" if name in versions else f"`{name}`"]
        for field in fields.values():
            measured = figures[field].get(name)
            row += [_times(measured[way]) if measured else "" for way in ways.values()]
            row.append(f"{measured['equal']:,} of {measured['sentences']:,}" if measured else "")
        rows.append(row)
    columns = (*ways, "equal translations")
    head = ["times our speed", *(f"{search}, {column}" for search in fields for column in columns)]
    long_rows = [
        [search, *(f"{ms:.1f}" for ms in measured["milliseconds_a_token"].values())]
        for search, measured in zip(fields, figures["long"].values(), strict=True)
    ]
    tokens = next(iter(figures["long"].values()))["tokens"]
    long_head = [f"ms per token of {tokens:,}", "ours", f"`{PLAIN_SEARCH_NAME}`"]
    about = f"{figures['hardware']}, torch {figures['torch']}, {figures['date']}:"
    first = markdown_table(head, rows, words=range(1))
    return f"{about}\n\n{first}\n\n{markdown_table(long_head, long_rows, words=range(1))}"


def _times(measured: dict[str, Any]) -> str:
    """Return a median with its lowest and highest."""
    lowest, highest = measured["lowest_and_highest"]
    return f"{measured['times_our_speed']:.2f} ({lowest:.2f} to {highest:.2f})"


def training_steps_tables(figures: dict[str, Any]) -> str:
    """Return the tables of the contenders' speeds and of the profile of our step."""
    speeds, profiles, batch_shares = [], {}, []
    for recipe, measured in figures["recipes"].items():
        for precision, comparison in measured["precisions"].items():
            for name, contender in comparison["contenders"].items():
                ends = " to ".join(f"{end:.2f}" for end in contender["lowest_and_highest"])
                speeds.append(
                    [
                        recipe,
                        precision,
                        name,
                        f"{contender['parameters']:,}",
                        f"{contender['tokens_per_second']:,}",
                        f"{contender['ours_is_times']:.2f} ({ends})",
                        f"{contender['share_of_ceiling']:.0%}",
                        f"{contender.get('peak_megabytes', '')}",
                    ]
                )
            profiles[f"{recipe}, {precision}"] = comparison["profile"]
            step_seconds = statistics.median(comparison["contenders"][OURS]["seconds"])
            batch_shares.append(f"{measured['pipeline_seconds_a_batch'] / step_seconds:.1%}")
    kinds = next(iter(profiles.values()))
    rows = [[kind, *(f"{shares[kind]:.0%}" for shares in profiles.values())] for kind in kinds]
    rows.append(["making the batch, over the step's time", *batch_shares])
    heading = ["recipe", "precision", "model", "parameters", "tokens/s", "our speed over its"]
    heading += ["share of the largest product's rate", "MB of a step"]
    profile_table = markdown_table(["share of a step's time", *profiles], rows, words=range(1))
    origin = f"{figures['hardware']}, {figures['date']}:"
    return f"{origin}\n\n{markdown_table(heading, speeds, words=range(3))}\n\n{profile_table}"
