"""One run whose start is measured, in a process of its own (see `starts`).

Not in the paper. It imports what a run does, and no more. Seconds are the processor's, from the
recipe to the first batch; imports are made before.
"""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # which Adam imports, in seconds

from transformer.data import corpora
from transformer.data.batches import Batch
from transformer.data.readers import Corpus
from transformer.data.token_budget import EpochBatches
from transformer.recipes import find_recipe
from transformer.support.files import file_sha256, write_json
from transformer.training import recipe as recipe_run
from transformer.training.devices import Precision
from transformer.training.report import Report

RECIPE_NAME = "multi30k-de-en"
CORPUS_NAME = "recombined"
SPLITS = ("train", "validation")
RUN_BY_START = {"first": "one", "second": "two", "resumed": "two"}  # its folder
# A small network, and few updates: it is the text that is large. A checkpoint comes with each
# validation.
SETTINGS = {"d_model": 32, "num_heads": 2, "d_ff": 64, "num_layers": 1}
SETTINGS |= {"steps": 40, "validate_every": 16, "report_every": 4}
KILLED_AFTER = 20  # updates
BYTES_A_KILOBYTE = 1024  # as Linux counts
MEGABYTE = 1e6


class MeasuredBatches:
    """The batches of a run, which call `on_first` when the first one is made."""

    def __init__(self, batches: EpochBatches, on_first: Callable[[int, int], None]) -> None:
        self.batches, self.on_first = batches, on_first
        self.is_first = True

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch, without the first `start`."""
        for batch in self.batches.epoch(number, start):
            if self.is_first:
                self.on_first(number, start)
                self.is_first = False
            yield batch


def run_and_write_start(folder: str, name: str) -> None:
    """Train, or go on with the run; write the figures of the start to `name`.json.

    The second run kills itself.
    """
    corpora.CORPORA[CORPUS_NAME] = corpus_in_folder(Path(folder))
    imports_megabytes = _peak_megabytes()
    train, began = recipe_run.train, time.process_time()

    def write_figures(epoch: int, batch: int) -> None:
        figures = {
            "imports_megabytes": imports_megabytes,
            "seconds": round(time.process_time() - began, 2),
            "megabytes": _peak_megabytes(),
            "epoch": epoch + 1,
            "batch": batch + 1,
        }
        write_json(Path(folder) / f"{name}.json", figures)

    def train_on_measured_batches(
        model: Any, config: Any, batches: Any, *rest: Any, **more: Any
    ) -> Any:
        return train(model, config, MeasuredBatches(batches, write_figures), *rest, **more)

    def kill_second(report: Report) -> None:
        if name == "second" and report.step == KILLED_AFTER:
            os.kill(os.getpid(), signal.SIGKILL)

    recipe_run.train = train_on_measured_batches
    recipe_run.train_recipe(
        find_recipe(RECIPE_NAME).override({"corpus": CORPUS_NAME} | SETTINGS),
        Path(folder) / RUN_BY_START[name],
        resume=name == "resumed",
        device=torch.device("cpu"),
        precision=Precision.FLOAT32,
        on_report=kill_second,
    )


def corpus_in_folder(folder: Path) -> Corpus:
    """Describe the files of `starts` as a user's own corpus is described."""
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
        files={file: file_sha256(folder / file) for file in files},
        folder=folder,
    )


def _peak_megabytes() -> int:
    """Return the most memory that this program has had at once, on Linux."""
    # `ru_maxrss` of a new program begins with what its parent had.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    kilobytes = re.search(r"VmHWM:\s*(\d+) kB", status)
    assert kilobytes is not None
    return round(int(kilobytes[1]) * BYTES_A_KILOBYTE / MEGABYTE)
