"""What a command of `python -m experiments` is, and the options that several of them have."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from transformer.cli.parser import Parser
from transformer.support.files import check_file
from transformer.support.paths import require_checkout, results_folder


class Command(NamedTuple):
    """Something that can be measured, drawn or made again.

    Attributes:
        name: As it is typed.
        about: What is done and where it is written, in a line.
        run: Does it, given the options, and gives the exit status.
        example: What may be typed after the name.
        add_options: Adds its arguments to the parser.
    """

    name: str
    about: str
    run: Callable[[argparse.Namespace], int]
    example: str = ""
    add_options: Callable[[Parser], None] = lambda parser: None


def add_seeds(parser: argparse.ArgumentParser) -> None:
    """Give a command the option --seeds."""
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[1], metavar="N", help="of the runs (1)"
    )


def record_file(name: str) -> Path:
    """Give a file of data/results that can be written.

    Raises:
        UserError: this is an installed package, or the file cannot be written.
    """
    require_checkout()
    file = results_folder() / name
    check_file(file)
    return file
