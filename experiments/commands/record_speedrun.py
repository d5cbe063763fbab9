"""The fast recipe: `train` it, or time it to a published figure with `speedrun`.

Not in the paper.
"""

import argparse

from experiments.commands.command import Command
from experiments.training_parts import changed, find
from transformer.cli.commands import parse_settings, train_as_typed
from transformer.cli.parser import Parser, add_train_options
from transformer.support.paths import require_checkout


def train_with_parts(options: argparse.Namespace) -> int:
    """Train a recipe, the fast one too, with what experiments may change about training."""
    recipe, parts = find(options.recipe)
    settings = parse_settings(options.set, options.steps)
    recipe, parts = changed(recipe, settings, parts)
    return train_as_typed(recipe, options, parts.options)


def add_speedrun(parser: Parser) -> None:
    """Give `record speedrun` its options."""
    parser.add_argument("--change", metavar="TEXT", help="what is new since the record before")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change the recipe"
    )
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[1, 2, 3], metavar="N", help="three or more (1 2 3)"
    )
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="that share each step (1)"
    )
    parser.add_argument(
        "--page-alone", action="store_true", help="write the table of what is recorded, run nothing"
    )


def record_speedrun(options: argparse.Namespace) -> int:
    """Train the fast recipe with each seed by the clock; write the record and the table."""
    page = require_checkout() / "docs"
    from experiments import speedrun
    from transformer.support.errors import UserError

    page /= speedrun.PAGE
    if not options.page_alone:
        if not options.change:
            raise UserError('a record says what is new: give --change "..."')
        parse_settings(options.set, None)  # refuses one without "="
        if options.processes < 1:
            raise UserError(f"--processes {options.processes}: give 1 or more")
        print(speedrun.record_runs(options.change, options.set, options.seeds, options.processes))
    speedrun.write_table(page)
    print(page)
    return 0


SPEEDRUN = (
    Command(
        "train",
        "train the fast recipe, or another with its settings: decay, optimizer, cooccurrence_start",
        train_with_parts,
        "multi30k-de-en-fast",
        add_train_options,
    ),
    Command(
        "speedrun",
        "train the fast recipe by the clock, to a published BLEU, for docs/records.md",
        record_speedrun,
        '--change "half the dropout" --set dropout=0.05 --processes 2',
        add_speedrun,
    ),
)
