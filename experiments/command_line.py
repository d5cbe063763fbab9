"""The maintainers' commands, `python -m experiments --help`: their parser, and one run with it."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from functools import partial

from attention_course.command_line import OneLineErrorParser
from attention_course.command_line import main as run_typed
from experiments.commands import ADDERS_BY_OPTION_NAME, COMMANDS, Command
from transformer.support.errors import EXIT_INTERRUPTED

PROGRAM_NAME = "python -m experiments"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; as `attention_course.command_line.main`, with these commands."""
    return run_typed(arguments, make_parser())


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands and their options."""
    parser = OneLineErrorParser(
        prog=PROGRAM_NAME,
        description="Make or check again what the repository keeps: the records in data/results,\n"
        "the shipped models, and the pages' tables and claims.",
        epilog=f"example: {PROGRAM_NAME} experiment captions\n"
        f"help on one command: {PROGRAM_NAME} heads --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--traceback", action="store_true", help="show where in the code a command failed"
    )
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(
            name,
            help=command.about,
            description=f"{command.about[0].upper()}{command.about[1:]}.",
            epilog=f"example: {PROGRAM_NAME} {name} {command.example}".rstrip(),
        )
        for option in command.options:
            ADDERS_BY_OPTION_NAME[option](subparser)
        subparser.set_defaults(run=partial(run_and_print_how_to_resume, command))
    return parser


def run_and_print_how_to_resume(command: Command, options: argparse.Namespace) -> int:
    """Run a command; after Ctrl-C print how to resume it, if it can be."""
    try:
        return command.run(options)
    except KeyboardInterrupt:
        if not command.resumes:
            raise
        again = shlex.join(["python", "-m", "experiments", *options.typed])
        print(f"stopped; go on with: {again}", file=sys.stderr)
        return EXIT_INTERRUPTED
