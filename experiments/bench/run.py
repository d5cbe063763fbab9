"""One section of the benchmarks: measured, recorded and shown.

Not in the paper.
"""

from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from tqdm import tqdm

from experiments import export_speed
from experiments.bench import growth, startup, steps, tables
from experiments.bench.names import DECODING
from lessonkit.analysis.machines import one_thread
from transformer.data import corpora
from transformer.support.allocator import keep_freed_memory
from transformer.support.errors import UserError
from transformer.support.files import check_file, write_json
from transformer.support.provenance import provenance

MEASURED: dict[str, ModuleType] = {"startup": startup, "growth": growth, "training": steps}


def record_section(name: str, folder: Path) -> None:
    """Measure a section on one thread, write its record and print its table.

    Args:
        name: Of `names.SECTIONS`.
        folder: Of the records, NAME.json.
    """
    file = folder / f"{name}.json"
    check_file(file)
    if name == DECODING:
        print(_decode(file))
        return
    section = MEASURED[name]
    keep_freed_memory()  # as `train` does; the peers have it too
    with one_thread(), tqdm(total=section.parts(), desc=name) as bar:
        origin = provenance(torch.device("cpu"))

        def advance(what: str) -> None:
            bar.set_postfix_str(what, refresh=False)
            bar.update()

        figures: dict[str, Any] = section.measure(advance)
    write_json(file, origin | figures)
    print(tables.section_table(name, figures))


def _decode(file: Path) -> str:
    """Measure decoding beside other engines; say so where they are not installed."""
    here = all(report.state == corpora.State.OK for report in corpora.verify("multi30k"))
    try:
        export_speed.record_speed("de-en" if here else "demo-en-fr", file)
    except UserError as error:
        return f"decoding is not measured: {error}"
    return f"decoding: {file}"
