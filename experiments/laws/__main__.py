"""`python -m experiments.laws`: what the laws catch of mutants, and whether they alarm falsely."""

import argparse
import warnings
from pathlib import Path
from typing import Any

import torch

from experiments.laws.mutants import SEED, sample, tried
from experiments.laws.variants import alarms
from transformer.support.files import require_checkout, results_folder, write_json
from transformer.training.devices import provenance

RECORD = "laws/mutants.json"


def make_record(each: int, seeds: int, file: Path) -> None:
    """Try mutants of the model, half as many of what trains and searches, and sound variants.

    What is known is written to the file after each of the three.
    """
    warnings.simplefilter("ignore")
    record: dict[str, Any] = {"provenance": provenance(torch.device("cpu")), "seed": SEED}
    for part, number in (("model", each), ("setup", each // 2)):
        chosen, crashed, equal = sample(number, part == "setup")
        rows = []
        for mutant, module in chosen:
            rows.append(tried(mutant, module))
            print(f"{rows[-1]['broken'] or 'missed'}; {rows[-1]['alone'] or 'missed'}: {mutant}")
        counts = {kind: sum(bool(row[kind]) for row in rows) for kind in ("broken", "alone")}
        record[part] = {"tried": len(rows), **counts, "crashed": crashed, "equal": equal}
        record[part]["mutants"] = rows
        print(f"{part}: {counts} of {len(rows)}")
        write_json(file, record)
    found = alarms(seeds)
    record["variants"] = {"runs": len(found), "alarms": {k: v for k, v in found.items() if v}}
    write_json(file, record)


def main() -> None:
    """Try mutants and variants, and write the record."""
    parser = argparse.ArgumentParser(prog="python -m experiments.laws", description=__doc__)
    parser.add_argument("--each", type=int, default=100, help="mutants of the model (100)")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each sound variant (5)")
    options = parser.parse_args()
    require_checkout()
    file = results_folder() / RECORD
    file.parent.mkdir(exist_ok=True)
    make_record(options.each, options.seeds, file)


if __name__ == "__main__":
    main()
