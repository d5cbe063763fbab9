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
    """Grade what learners have handed in; return 1 if something cannot be read or written."""
    options = _make_parser().parse_args()
    if options.seed is None:
        options.seed = secrets.randbelow(10**6)
    # The cases are made when the exercises are imported: this comes before that.
    os.environ["LESSONKIT_SHIFT"] = str(options.seed)
    rows = []
    failed = False
    for file in options.files:
        try:
            rows.append(_grade_file_to_row(file, options))
        except UserError as error:
            failed = True
            print(f"error: {error}", file=sys.stderr)
    if options.csv:
        _write_grades_csv(options.csv, rows)
    return 1 if failed else 0


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m lessonkit", description="Tools for teachers.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    about = "grade the answers of a class, each in a process of its own, on cases of a new seed"
    more = "; stored outputs, and whatever else a notebook does, are ignored"
    grading = commands.add_parser("grade", help=about, description=f"{about}{more}")
    files = "notebooks or my_transformer.py of a learner, or a folder of them; each gets a line"
    grading.add_argument("files", nargs="+", type=Path, metavar="FILE", help=files)
    grading.add_argument(
        "--csv", type=Path, metavar="FILE", help="also write the grades of the class as CSV"
    )
    grading.add_argument(
        "--seconds", type=float, default=20, help="time limit of one answer (default: 20)"
    )
    grading.add_argument("--seed", type=int, help="seed of the cases; by default a random one")
    return parser


def _grade_file_to_row(file: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Grade what one learner has handed in, print a line, and return the table's row."""
    import torch

    from lessonkit.exercises.grading import OPEN, RIGHT, grade_submission

    torch.set_num_threads(1)  # so that this process can be forked
    verdicts = grade_submission(file, options.seconds)
    all_verdicts = list(verdicts.values())
    num_right, num_open = all_verdicts.count(RIGHT), all_verdicts.count(OPEN)
    parts = [f"{num_right} of {len(verdicts)} right"]
    if num_open:
        parts.append(f"{num_open} not attempted")
    for exercise, verdict in verdicts.items():
        if verdict not in (RIGHT, OPEN):
            parts.append(f"{exercise}: {verdict}")
    print(f"{file}: {'; '.join(parts)}", flush=True)
    return {
        "learner": file,
        "right": num_right,
        "of": len(verdicts),
        "seed": options.seed,
        **verdicts,
    }


def _write_grades_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a table with a row for each learner and a column for each exercise of any."""
    columns = dict.fromkeys(name for row in rows for name in row)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())
