"""`python -m lessonkit grade FILES`: a line for each learner of a class. Not in the paper."""

import argparse
import csv
import io
import os
import secrets
import sys
from pathlib import Path
from typing import Any

from transformer.support.errors import UserError
from transformer.support.files import write_atomically


def main() -> int:
    """Grade what learners have handed in; 1 where something cannot be read or written."""
    parser = argparse.ArgumentParser("python -m lessonkit", description="For teachers.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    what = "judge the answers of a class, each in a process of its own, on cases of another seed"
    more = "; stored outputs and all else that a notebook does count for nothing"
    grading = commands.add_parser("grade", help=what, description=f"{what}{more}")
    files = "a learner's notebook, my_transformer.py, or a folder of both: a line for each"
    grading.add_argument("files", nargs="+", type=Path, metavar="FILE", help=files)
    grading.add_argument("--csv", type=Path, metavar="FILE", help="write the class as a table")
    grading.add_argument("--seconds", type=float, default=20, help="for an answer (20)")
    grading.add_argument("--seed", type=int, help="of the cases; another each time if not given")
    options = parser.parse_args()
    options.seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    os.environ["LESSONKIT_SHIFT"] = str(options.seed)  # before the cases are made, by importing
    rows, errors = [], []
    for file in options.files:
        try:
            rows.append(_graded(file, options))
        except UserError as error:
            errors.append(f"error: {error}")
    if options.csv:
        written = io.StringIO(newline="")
        writer = csv.DictWriter(written, dict.fromkeys(name for row in rows for name in row))
        writer.writeheader()
        writer.writerows(rows)
        write_atomically(options.csv, written.getvalue().encode())
    print("\n".join(errors), file=sys.stderr, end="\n" * bool(errors))
    return int(bool(errors))


def _graded(file: Path, options: argparse.Namespace) -> dict[str, Any]:
    import torch

    from lessonkit.exercises.grading import OPEN, RIGHT, grade

    torch.set_num_threads(1)  # so that this process can be forked
    found = grade(file, options.seconds)
    right, left = (sum(said == each for said in found.values()) for each in (RIGHT, OPEN))
    others = [f"{name}: {said}" for name, said in found.items() if said not in (RIGHT, OPEN)]
    counts = [f"{right} of {len(found)} right", *[f"{left} not attempted"] * bool(left)]
    print(f"{file}: {'; '.join([*counts, *others])}", flush=True)
    return {"learner": file, "right": right, "of": len(found), "seed": options.seed, **found}


if __name__ == "__main__":
    sys.exit(main())
