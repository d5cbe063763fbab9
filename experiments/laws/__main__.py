"""`python -m experiments.laws`: what the laws catch of mutants, and whether they alarm falsely."""

import argparse
import warnings
from typing import Any

import torch

from experiments.laws.mutants import SEED, sample, tried
from experiments.laws.variants import alarms
from transformer.support.files import require_checkout, results_folder, write_json
from transformer.training.devices import provenance

COMMAND = "python -m experiments.laws"
RECORD = "laws/mutants.json"
NUMBERS = {"model": 100, "setup": 50}  # of mutants
SEEDS = 5  # of each sound variant


def main() -> None:
    """Try mutants of the model, of what trains and searches it, and sound variants; record it."""
    argparse.ArgumentParser(prog=COMMAND, description=__doc__).parse_args()
    require_checkout()
    warnings.simplefilter("ignore")
    made_by = provenance(torch.device("cpu")) | {"command": COMMAND}
    record: dict[str, Any] = {"provenance": made_by, "seed": SEED}
    for part, number in NUMBERS.items():
        chosen, besides = sample(number, part == "setup")
        rows = []
        for mutant, module in chosen:
            rows.append(tried(mutant, module))
            print(f"{rows[-1]['broken'] or 'missed'}; {rows[-1]['alone'] or 'missed'}: {mutant}")
        counts = {kind: sum(bool(row[kind]) for row in rows) for kind in ("broken", "alone")}
        record[part] = {"tried": len(rows), **counts, **besides, "mutants": rows}
        print(f"{part}: {counts} of {len(rows)}")
    found = alarms(SEEDS)
    record["variants"] = {"runs": len(found), "alarms": {k: v for k, v in found.items() if v}}
    write_json(results_folder() / RECORD, record)


if __name__ == "__main__":
    main()
