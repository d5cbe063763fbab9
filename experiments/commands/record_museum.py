"""`record museum` and `record specimens`: the laws on every fault, and faults trained.

Not in the paper.
"""

import argparse
import sys

from experiments.commands.command import Command, add_seeds
from transformer.cli.commands import typed_again
from transformer.cli.parser import Parser
from transformer.support.errors import INTERRUPTED
from transformer.support.paths import require_checkout, results_folder


def add_museum(parser: Parser) -> None:
    """Give `record museum` its options."""
    parser.add_argument(
        "--page-alone", action="store_true", help="write the page of what is recorded, try nothing"
    )


def record_museum(options: argparse.Namespace) -> int:
    """Try every law on every specimen of the museum; write the record and its page."""
    docs = require_checkout() / "docs"
    from experiments import museum_table as table

    if not options.page_alone:
        table.write_record()
    table.write_page(docs)
    print(docs / table.PAGE)
    return 0


def add_specimens(parser: Parser) -> None:
    """Give `record specimens` its options."""
    add_seeds(parser)
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="SPECIMEN", help="of these specimens alone"
    )


def record_specimens(options: argparse.Namespace) -> int:
    """Train and measure what is missing of the museum's specimens; Ctrl-C keeps what has ended."""
    require_checkout()
    from experiments import museum_training as train

    try:
        train.train_museum(results_folder() / "museum", seeds=options.seeds, only=options.only)
    except KeyboardInterrupt:
        again = typed_again(options.typed, "experiments")
        print(f"stopped; go on with: {again}", file=sys.stderr)
        return INTERRUPTED
    return 0


MUSEUM = (
    Command(
        "museum",
        "try every law on every specimen of the museum of faults, for docs/museum.md",
        record_museum,
        "",
        add_museum,
    ),
    Command(
        "specimens",
        "train the museum's specimens beside the sound model, for data/results/museum",
        record_specimens,
        "--seeds 1 2 3",
        add_specimens,
    ),
)
