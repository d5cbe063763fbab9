"""`record bench`: training steps beside peers, growth, start-up and decoding, measured.

Not in the paper.
"""

import argparse
import sys

from experiments.bench.tables import SECTIONS
from experiments.commands.command import Command
from transformer.cli.commands import typed_again
from transformer.cli.parser import Parser
from transformer.support.errors import INTERRUPTED, unknown_name
from transformer.support.paths import require_checkout, results_folder


def add_bench(parser: Parser) -> None:
    """Give `record bench` its argument."""
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="SECTION",
        help=f"of these alone: {', '.join(SECTIONS)} (all)",
    )


def record_bench(options: argparse.Namespace) -> int:
    """Measure sections, print their tables and put them in; Ctrl-C keeps those that have ended."""
    root = require_checkout()
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        raise unknown_name("section", min(unknown), SECTIONS)
    from experiments.bench import sections, tables

    left = list(options.sections or SECTIONS)
    try:
        while left:
            sections.record_section(left[0], results_folder() / tables.FOLDER)
            tables.write_tables(root)
            del left[0]
    except KeyboardInterrupt:
        again = typed_again(["bench", *left], "experiments")
        print(f"stopped; go on with: {again}", file=sys.stderr)
        return INTERRUPTED
    return 0


BENCH = (
    Command(
        "bench",
        "measure training steps beside peers, growth, start-up, decoding, for data/results/bench",
        record_bench,
        "growth startup",
        add_bench,
    ),
)
