"""The options that several commands have, and how a mistake in them is said.

Not in the paper.
"""

import argparse
import math
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from transformer.config import BEAM_SIZE, MOST_ALPHA, MOST_BEAM_SIZE
from transformer.models.shipped import names
from transformer.support.errors import MISTAKE
from transformer.support.files import check_file
from transformer.support.paths import require_checkout, results_folder


class Parser(argparse.ArgumentParser):
    """An argument parser that says a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the mistake, and end the program."""
        self.exit(MISTAKE, f"error: {message} (see {self.prog} --help)\n")


class What(NamedTuple):
    """Something that can be recorded.

    Attributes:
        name: As typed after `record`.
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


def typed_again(words: Sequence[str], package: str = "transformer") -> str:
    """Write a command as it is to be typed in a shell.

    Args:
        words: What follows `python -m PACKAGE`.
        package: Whose command line it is.
    """
    return shlex.join(["python", "-m", package, *words])


def beam_size(text: str) -> int:
    """Read a number of prefixes.

    Raises:
        argparse.ArgumentTypeError: it is no whole number, under 1, or above `MOST_BEAM_SIZE`.
    """
    if not text.isdecimal() or not 1 <= float(text) <= MOST_BEAM_SIZE:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number, 1 to {MOST_BEAM_SIZE}")
    return int(text)


def alpha(text: str) -> float:
    """Read the exponent of the length penalty.

    Raises:
        argparse.ArgumentTypeError: it is no number, under 0, or above `MOST_ALPHA`.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MOST_ALPHA:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number from 0 to {MOST_ALPHA}")
    return value


def add_beam(command: argparse.ArgumentParser) -> None:
    """Give a command the option --beam."""
    command.add_argument(
        "--beam",
        type=beam_size,
        default=BEAM_SIZE,
        metavar="K",
        help=f"prefixes to follow; 1 is greedy ({BEAM_SIZE})",
    )


def add_model(command: argparse.ArgumentParser) -> None:
    """Give a command the argument MODEL."""
    command.add_argument(
        "model", metavar="MODEL", help=f"a model folder, or a shipped model: {', '.join(names())}"
    )


def add_seeds(command: argparse.ArgumentParser) -> None:
    """Give a command the option --seeds."""
    command.add_argument(
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
