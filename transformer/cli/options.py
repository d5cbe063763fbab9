"""The options that several commands have, and how a mistake in them is said.

Not in the paper.
"""

import argparse
import math
import shlex
from collections.abc import Sequence
from typing import NoReturn

from transformer.config import BEAM_SIZE
from transformer.support.errors import MISTAKE
from transformer.trained.shipped import names


class Parser(argparse.ArgumentParser):
    """An argument parser that says a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the mistake, and end the program."""
        self.exit(MISTAKE, f"error: {message} (see {self.prog} --help)\n")


def typed_again(words: Sequence[str]) -> str:
    """Write a command as it is to be typed in a shell.

    Args:
        words: What follows `python -m transformer`.
    """
    return shlex.join(["python", "-m", "transformer", *words])


def beam_size(text: str) -> int:
    """Read a number of prefixes.

    Raises:
        argparse.ArgumentTypeError: it is no whole number, or under 1.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number, 1 or more")
    return int(text)


def alpha(text: str) -> float:
    """Read the exponent of the length penalty.

    Raises:
        argparse.ArgumentTypeError: it is no number, or under 0.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number, 0 or more")
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
