"""Three starts on a million pairs: how long each takes to its first batch, and its memory.

Not in the paper. Each is in a process of its own, on one thread. The first run makes what is kept
of the text. The second, in another folder, reads it and is killed; resumed, it ends with the
weights of the first.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.bench.data import NUM_PAIRS, recombined_pairs
from experiments.bench.run_start import (
    KILLED_AFTER,
    RECIPE_NAME,
    RUN_BY_START,
    SETTINGS,
    SPLITS,
)
from experiments.tables import markdown_table
from transformer.data import corpora
from transformer.data.grouping import Pair
from transformer.data.text_files import pairs_to_tab_separated_text
from transformer.models.folder import WEIGHTS
from transformer.recipes import find_recipe
from transformer.support.files import read_json
from transformer.support.folders import TEXT_CACHE_VARIABLE

NUM_VALIDATION_PAIRS = 1000


def measure_starts(num_pairs: int = NUM_PAIRS) -> dict[str, Any]:
    """Train twice on recombined captions, the second time killed and resumed.

    Returns the figures of each start, and whether both runs ended with equal weights.
    """
    data = find_recipe(RECIPE_NAME).data
    captions = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang)
    with tempfile.TemporaryDirectory() as folder:
        return {"pairs": num_pairs, "recipe": RECIPE_NAME} | start_in_turn(
            Path(folder), recombined_pairs(captions, num_pairs)
        )


def start_in_turn(folder: Path, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Do what `measure_starts` does, with these pairs, in a folder."""
    for split, some in zip(SPLITS, (pairs, pairs[:NUM_VALIDATION_PAIRS]), strict=True):
        text = pairs_to_tab_separated_text(some)
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8")
    starts = {}
    for name in RUN_BY_START:
        program = "import sys; from experiments.bench import run_start as r; "
        program += "r.run_and_write_start(*sys.argv[1:])"
        environment = {**os.environ, TEXT_CACHE_VARIABLE: str(folder / "encoded")}
        child = subprocess.run(
            [sys.executable, "-c", program, str(folder), name],
            env=environment | {"OMP_NUM_THREADS": "1"},
        )
        expected_code = -signal.SIGKILL if name == "second" else 0
        if child.returncode != expected_code:
            raise RuntimeError(f"the {name} run ended with {child.returncode}")
        starts[name] = read_json(folder / f"{name}.json")
    weights = [(folder / run / WEIGHTS).read_bytes() for run in ("one", "two")]
    return {
        "starts": starts,
        "updates": SETTINGS["steps"],
        "killed_after": KILLED_AFTER,
        "equal_weights": weights[0] == weights[1],
    }


def starts_table(figures: dict[str, Any]) -> str:
    """Return the table of the three starts, and what became of the killed run."""
    rows = [
        [
            name,
            f"{start['epoch']}, {start['batch']:,}",
            f"{start['seconds']:.1f}",
            f"{start['megabytes']:,}",
            f"{start['imports_megabytes']:,}",
        ]
        for name, start in figures["starts"].items()
    ]
    head = ["start", "first epoch, batch", "s to the first batch", "MB at most", "of that imports"]
    about = f"{figures['hardware']}, {figures['date']}, {figures['pairs']:,} pairs; of "
    about += f"{figures['updates']} updates the second run was killed after "
    about += f"{figures['killed_after']}; resumed, it ended with "
    about += "equal weights" if figures["equal_weights"] else "other weights"
    return f"{about}:\n\n{markdown_table(head, rows, words=range(1))}"
