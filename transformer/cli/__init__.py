"""How commands are described and run; commands.py has what each does. Not in the paper."""

import argparse
import inspect
import io
import signal
import sys
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from transformer.config import BEAM_SIZE
from transformer.recipes import RECIPES
from transformer.support.errors import ENDING, MISTAKE, exit_status
from transformer.support.files import model_names

PROGRAM = "python -m transformer"
PRECISIONS = "float32", "tf32", "bf16", "fp16"  # of `training.devices.Precision`, without torch

PRECISION = f"{', '.join(PRECISIONS)}; instead of the fastest that the hardware has"
AT_ONCE = "most tokens to compute at once, or auto: as many as fit; a step's number is the recipe's"
AUTO = 0  # as `--batch-tokens`

AddOption = Callable[["Parser"], object]
Run = Callable[[argparse.Namespace], int]
Command = tuple[Run, Sequence[AddOption]]  # what runs it, whose docstring is its help; its options


class Parser(argparse.ArgumentParser):
    """An argument parser that says a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the mistake, and end the program."""
        self.exit(MISTAKE, f"error: {message} (see {self.prog} --help)\n")


def option(name: str, metavar: str | None, about: str, **settings: Any) -> AddOption:
    """Describe an option, as `argparse.ArgumentParser.add_argument`; without metavar, a flag."""
    settings |= {"metavar": metavar} if metavar else {"action": "store_true"}
    return lambda parser: parser.add_argument(name, help=about, **settings)


def _batch_tokens(text: str) -> int:
    """Read a number of tokens, or "auto"."""
    if text == "auto":
        return AUTO
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number}: give 1 or more, or auto")
    return number


MODELS = f"a model folder, or a shipped model: {', '.join(model_names())}"
add_model = option("model", "MODEL", MODELS)
add_beam = option(
    "--beam", "K", f"prefixes to follow; 1 is greedy ({BEAM_SIZE})", type=int, default=BEAM_SIZE
)
CHANGE = "change a setting of the recipe, for example d_model=256; may be given again"
TRAIN_OPTIONS = [
    option("recipe", "RECIPE", "one of the recipes below"),
    option("--set", "KEY=VALUE", CHANGE, action="append", default=[]),
    option("--steps", "N", "updates, instead of the recipe's", type=int),
    option("--out", "DIR", "model folder (runs/RECIPE)", type=Path),
    option("--resume", None, "go on with the run in the folder"),
    option("--precision", "P", PRECISION, choices=PRECISIONS),
    option("--batch-tokens", "N", AT_ONCE, type=_batch_tokens),
    option("--compile", None, "run the model through torch.compile: its first steps are slow"),
]


def make_parser(commands: Mapping[str, Command]) -> Parser:
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
        help="list, fetch and verify the corpora",
        epilog=f"Example: {PROGRAM} corpora fetch multi30k",
    )
    actions = corpora.add_subparsers(title="actions", required=True, metavar="ACTION")
    for name, (run, options) in commands.items():
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


def main(arguments: Sequence[str] | None, parser: argparse.ArgumentParser) -> int:
    """Run one command of a parser, by the words typed after the program's name, or `sys.argv`'s.

    Returns:
        The exit status: 0, 1 where `diagnose` finds a law broken, 2 after a user's mistake, 130
        after Ctrl-C or a request to end (`ENDING`), or 70 after a mistake of the course's own.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # a line at a time; a path as its own bytes
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", line_buffering=True)
    typed = sys.argv[1:] if arguments is None else list(arguments)
    options = parser.parse_args(typed)
    options.typed = typed
    for each in ENDING:
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
        return exit_status(lambda: options.run(options), options.traceback)
