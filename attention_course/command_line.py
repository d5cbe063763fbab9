"""The command line's parser, and a command run with it; what each command does is elsewhere."""

import argparse
import inspect
import io
import sys
import textwrap
import warnings
from collections.abc import Sequence
from typing import NoReturn

from attention_course.command_table import PROGRAM_NAME, CommandTable
from attention_course.commands import COMMANDS
from attention_course.corpora_commands import CORPORA_COMMANDS
from attention_course.options import option_adder
from attention_course.status import run_to_exit_status
from transformer.recipes import RECIPES
from transformer.support.errors import EXIT_USER_ERROR, UserError

# In characters. A message repeats what was typed, which may be of any length.
MAX_MESSAGE_CHARACTERS = 1200


class OneLineErrorParser(argparse.ArgumentParser):
    """An argument parser that prints a mistake as one line."""

    def error(self, message: str) -> NoReturn:
        """Print the mistake, and end the program with `EXIT_USER_ERROR`."""
        self.exit(EXIT_USER_ERROR, f"error: {shorten_message(message)} (see {self.prog} --help)\n")


def shorten_message(message: str) -> str:
    """Return a message without its middle, if it is longer than `MAX_MESSAGE_CHARACTERS`."""
    if len(message) <= MAX_MESSAGE_CHARACTERS:
        return message
    half = MAX_MESSAGE_CHARACTERS // 2
    return f"{message[:half]} ... {message[-half:]}"


def make_parser() -> OneLineErrorParser:
    """Return the parser of all commands and their options."""
    parser = OneLineErrorParser(
        prog=PROGRAM_NAME,
        description="Train, use and measure the course's models.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"""Examples:
  {PROGRAM_NAME} train demo --out runs/demo
  echo "Ein Hund schläft." | {PROGRAM_NAME} translate de-en
  {PROGRAM_NAME} evaluate runs/demo
  {PROGRAM_NAME} train --help""",
    )
    option_adder("--traceback", None, "show where in the code a command failed")(parser)
    program = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    corpora = program.add_parser(
        "corpora",
        help="list, fetch, add and remove corpora",
        epilog=f"Example: {PROGRAM_NAME} corpora fetch multi30k",
    )
    actions = corpora.add_subparsers(title="actions", required=True, metavar="ACTION")
    _add_commands(actions, CORPORA_COMMANDS)
    _add_commands(program, COMMANDS)
    return parser


def _add_commands(
    subparsers: "argparse._SubParsersAction[OneLineErrorParser]", table: CommandTable
) -> None:
    """Add a parser for each command of a table, whose help is the docstring."""
    for name, (run, options) in table.items():
        about, _, examples = inspect.cleandoc(str(run.__doc__)).rpartition("\n\n")
        if name == "train":
            recipes = [f"  {name:26} {recipe.about}\n" for name, recipe in RECIPES.items()]
            examples = f"Recipes:\n{''.join(recipes)}\n{examples}"
        added = subparsers.add_parser(
            name,
            help=about[0].lower() + about[1:].partition("\n")[0].rstrip("."),
            description=textwrap.fill(" ".join(about.split()), 79),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=examples,
        )
        for add_option in options:
            add_option(added)
        added.set_defaults(run=run)


def main(
    arguments: Sequence[str] | None = None, parser: argparse.ArgumentParser | None = None
) -> int:
    """Run one command of a parser.

    Args:
        arguments: The words typed after the program's name; None: those of `sys.argv`.
        parser: That of other commands; None: of these.

    Returns:
        The exit status: 0, 1 if `diagnose` finds a law broken, 2 after a user's mistake, 130 after
        Ctrl-C or one of `TERMINATION_SIGNALS`, or 70 after a mistake of the course's own.
    """
    # Lines appear as they are printed, and a path keeps its own bytes.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", line_buffering=True)
    typed = sys.argv[1:] if arguments is None else list(arguments)
    options = (parser or make_parser()).parse_args(typed)
    options.typed = typed
    shown = set()  # the warnings printed so far

    def show_once_in_one_line(message: Warning | str, *_: object, **__: object) -> None:
        text = " ".join(str(message).split())
        if text not in shown:
            print(f"warning: {text}", file=sys.stderr)
        shown.add(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show_once_in_one_line
        return run_to_exit_status(lambda: _run_typed_command(options), options.traceback)


def _run_typed_command(options: argparse.Namespace) -> int:
    """Run the command that was typed; a message that is too long is shortened."""
    try:
        return options.run(options) or 0
    except (UserError, OSError) as error:
        if len(str(error)) <= MAX_MESSAGE_CHARACTERS:
            raise
        raise UserError(shorten_message(str(error))) from error
