"""The command line: `python -m transformer --help`; commands.py has what each command does."""

import argparse
import inspect
import io
import signal
import sys
import textwrap
import warnings
from collections.abc import Sequence
from typing import NoReturn

from attention_course.commands import COMMANDS, PROGRAM, option
from attention_course.status import exit_status
from transformer.recipes import RECIPES
from transformer.support.errors import EXIT_USER_ERROR, TERMINATION_SIGNALS, UserError

MAX_MESSAGE_LENGTH = 1200  # letters of a message: what was typed may be of any length


class Parser(argparse.ArgumentParser):
    """An argument parser that says a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the mistake, and end the program."""
        self.exit(EXIT_USER_ERROR, f"error: {shortened(message)} (see {self.prog} --help)\n")


def shortened(message: str) -> str:
    """Leave out the middle of a message that echoes something endless."""
    half = MAX_MESSAGE_LENGTH // 2
    return (
        message if len(message) <= MAX_MESSAGE_LENGTH else f"{message[:half]} ... {message[-half:]}"
    )


def make_parser() -> Parser:
    """Describe the commands and their options."""
    parser = Parser(
        prog=PROGRAM,
        description="Train, use and measure the course's models.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"""Examples:
  {PROGRAM} train demo --out runs/demo
  echo "Ein Hund schläft." | {PROGRAM} translate de-en
  {PROGRAM} evaluate runs/demo
  {PROGRAM} train --help""",
    )
    option("--traceback", None, "show where in the code a command failed")(parser)
    program = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    corpora = program.add_parser(
        "corpora",
        help="list and fetch the corpora",
        epilog=f"Example: {PROGRAM} corpora fetch multi30k",
    )
    actions = corpora.add_subparsers(title="actions", required=True, metavar="ACTION")
    for name, (run, options) in COMMANDS.items():
        about, _, examples = inspect.cleandoc(str(run.__doc__)).rpartition("\n\n")
        if name == "train":
            recipes = [f"  {name:26} {recipe.about}\n" for name, recipe in RECIPES.items()]
            examples = f"Recipes:\n{''.join(recipes)}\n{examples}"
        added = (actions if name.startswith("corpora ") else program).add_parser(
            name.removeprefix("corpora "),
            help=about[0].lower() + about[1:].partition("\n")[0].rstrip("."),
            description=textwrap.fill(" ".join(about.split()), 79),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=examples,
        )
        for add_option in options:
            add_option(added)
        added.set_defaults(run=run)
    return parser


def main(
    arguments: Sequence[str] | None = None, parser: argparse.ArgumentParser | None = None
) -> int:
    """Run one command of a parser, by the words typed after the program's name, or `sys.argv`'s.

    Returns:
        The exit status: 0, 1 where `diagnose` finds a law broken, 2 after a user's mistake, 130
        after Ctrl-C or one of `TERMINATION_SIGNALS`, or 70 after a mistake of the course's own.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # a line at a time; a path as its own bytes
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", line_buffering=True)
    typed = sys.argv[1:] if arguments is None else list(arguments)
    options = (parser or make_parser()).parse_args(typed)
    options.typed = typed
    for each in TERMINATION_SIGNALS:
        if signal.getsignal(each) is signal.SIG_DFL:  # of `kill`, not what `nohup` leaves alone
            signal.signal(each, signal.default_int_handler)
    shown = set()

    def show_once_in_one_line(message: Warning | str, *_: object, **__: object) -> None:
        text = " ".join(str(message).split())
        if text not in shown:
            print(f"warning: {text}", file=sys.stderr)
        shown.add(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show_once_in_one_line
        return exit_status(lambda: _run(options), options.traceback)


def _run(options: argparse.Namespace) -> int:
    try:
        return options.run(options) or 0
    except (UserError, OSError) as error:
        if len(str(error)) <= MAX_MESSAGE_LENGTH:
            raise
        raise UserError(shortened(str(error))) from error


if __name__ == "__main__":
    sys.exit(main())
