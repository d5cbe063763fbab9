"""How long a run takes to its first batch, and its memory: in a process of its own for each start.

Not in the paper. Seconds are the processor's, on one thread, from the recipe to the first batch;
imports are made before.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # which Adam imports, in seconds

from transformer.data import corpora
from transformer.data.grouping import Pair
from transformer.data.readers import Corpus
from transformer.data.text_files import pairs_to_tab_separated_text
from transformer.recipes import find_recipe
from transformer.support.folders import TEXT_CACHE_VARIABLE
from transformer.training import recipe as recipe_run
from transformer.training.devices import Precision

RECIPE_NAME = "multi30k-de-en"
CORPUS_NAME = "recombined"
SPLITS = ("train", "validation")
NUM_VALIDATION_PAIRS = 1000
# What is run in which folder: nothing is there for the first start, encoded text for the second,
# and the run itself for the third.
RUN_BY_START = {"first": "one", "second": "two", "resumed": "two"}
BYTES_A_KILOBYTE = 1024  # as Linux counts
MEGABYTE = 1e6


def measure_starts(folder: Path, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Start two runs on these pairs, and resume the second after a step; seconds and megabytes."""
    for split, some in zip(SPLITS, (pairs, pairs[:NUM_VALIDATION_PAIRS]), strict=True):
        text = pairs_to_tab_separated_text(some)
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8")
    starts = {}
    for name, run in RUN_BY_START.items():
        program = "import sys; from experiments.bench import run_start as r; "
        program += "r.print_start(*sys.argv[1:])"
        environment = {**os.environ, TEXT_CACHE_VARIABLE: str(folder / "encoded")}
        child = subprocess.run(
            [sys.executable, "-c", program, str(folder), run, name],
            env=environment | {"OMP_NUM_THREADS": "1"},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        starts[name] = json.loads(child.stdout.splitlines()[-1])
    return starts


class _FirstBatchError(Exception):
    """The first batch is made, and no more is to be done."""


def print_start(folder: str, run: str, name: str) -> None:
    """Start a run, or resume it, up to its first batch; print seconds and memory as JSON."""
    corpora.CORPORA[CORPUS_NAME] = corpus_in_folder(Path(folder))
    figures: dict[str, Any] = {"imports_megabytes": _peak_megabytes()}
    train, began = recipe_run.train, time.process_time()

    def train_after_measuring(
        model: Any, config: Any, batches: Any, *rest: Any, **more: Any
    ) -> Any:
        next(batches.epoch(0))
        figures["seconds"] = round(time.process_time() - began, 2)
        figures["megabytes"] = _peak_megabytes()
        if name != "second":
            raise _FirstBatchError
        return train(model, config, batches, *rest, **more, stop_after=1)

    recipe_run.train = train_after_measuring
    with suppress(_FirstBatchError):
        recipe_run.train_recipe(
            find_recipe(RECIPE_NAME).override({"corpus": CORPUS_NAME}),
            Path(folder) / run,
            resume=name == "resumed",
            device=torch.device("cpu"),
            precision=Precision.FLOAT32,
        )
    print(json.dumps(figures))


def corpus_in_folder(folder: Path) -> Corpus:
    """Describe the files of `measure_starts` as a user's own corpus is described."""
    files = [f"{split}.tsv" for split in SPLITS]
    return Corpus(
        name=CORPUS_NAME,
        about="",
        directions=["de-en"],
        splits=SPLITS,
        licence="",
        citation="",
        format="split pairs",
        options={"file": "{split}.tsv", "languages": "de-en"},
        files={file: _file_sha256(folder / file) for file in files},
        folder=folder,
    )


def _file_sha256(path: Path) -> str:
    # Read whole, it would count as memory of the imports.
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _peak_megabytes() -> int:
    """Return the most memory that this program has had at once, on Linux."""
    # `ru_maxrss` of a new program begins with what its parent had.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    kilobytes = re.search(r"VmHWM:\s*(\d+) kB", status)
    assert kilobytes is not None
    return round(int(kilobytes[1]) * BYTES_A_KILOBYTE / MEGABYTE)
