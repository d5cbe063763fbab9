"""The command `attention-laws my_model:make` (not in the paper)."""

import argparse
import dataclasses
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from attention_laws.box import BY_NAME, Order, diagnose_boxed
from attention_laws.errors import UserError
from attention_laws.report import MISTAKE, Report, read_baseline
from attention_laws.target import split

ABOUT = """Try the laws of an encoder-decoder on anybody's code, in a process of its own.

NAME is a function without arguments that gives a torch module, an Adapter or a Pipeline.
Exit status: 0 no law is broken; 1 one is; 2 there is no model to try; 3 it could not be judged,
since laws of the core (shape, future, padding, gradients) were not tried."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say the mistake in one line, and end the program."""
        self.exit(MISTAKE, f"error: {message} (see {self.prog} --help)\n")


def make_parser() -> argparse.ArgumentParser:
    """Describe the options."""
    lines = argparse.RawDescriptionHelpFormatter
    parser = _Parser("attention-laws", description=ABOUT, formatter_class=lines)
    add = parser.add_argument
    add("target", metavar="MODULE:NAME", help="from this folder; or FILE.py:NAME")
    add("--minute", action="store_true", help="try the laws that train too; they take a minute")
    add("--only", metavar="LAWS", type=_names, default=[], help="try these alone: one,another")
    add("--skip", metavar="LAWS", type=_names, default=[], help="leave these out")
    add("--strict", action="store_true", help="let a warning fail, too")
    add("--baseline", metavar="FILE", type=Path, help="accepted breaks: `law: reason`, one a line")
    add("--json", action="store_true", help="print the report for a program")
    add("--seconds", metavar="S", type=float, default=30.0, help="until a law is ended (30)")
    add("--memory", metavar="GB", type=float, default=8.0, help="it may take beyond torch (8)")
    called = parser.add_argument_group("how a bare module is called (found out where not given)")
    add = called.add_argument
    order = called.add_mutually_exclusive_group()
    order.add_argument("--batch-first", action="store_true", help="ids are (batch, length)")
    order.add_argument("--length-first", action="store_true", help="ids are (length, batch)")
    for name, what in (("pad", "padding"), ("tgt-pad", "the target's padding, where another")):
        add(f"--{name}", metavar="N", type=int, help=f"id of {what}; -1: there is none")
    for name, what in (("bos", "begins each target"), ("eos", "ends each sentence")):
        add(f"--{name}", metavar="N", type=int, help=f"id that {what}")
    add("--masks", metavar="M", help="may|hidden, bool|int|float, 2|3|4 axes, as in may-bool-4")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and give its exit status."""
    options = make_parser().parse_args(arguments)
    try:
        report = report_of(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return MISTAKE
    if report.stopped and not options.json:
        print(f"error: {report}", file=sys.stderr)
    else:
        print(report.to_json() if options.json else report)
    return report.exit_status


def report_of(options: argparse.Namespace) -> Report:
    """Try what is asked for."""
    folder, module, name = split(options.target)
    reasons = read_baseline(options.baseline) if options.baseline else {}
    order = Order(
        folder=str(folder),
        module=module,
        name=name,
        options=calling(options),
        laws=chosen(options.only, options.skip),
        minute=options.minute,
        seconds=options.seconds,
        gigabytes=options.memory,
    )
    known(reasons)
    report = diagnose_boxed(order).accepting(reasons)
    return dataclasses.replace(report, strict=options.strict)


def calling(options: argparse.Namespace) -> dict[str, Any]:
    """Give how a bare module is called, as far as it is said."""
    given: dict[str, Any] = {}
    if options.batch_first or options.length_first:
        given["batch_first"] = options.batch_first
    for name in ("pad", "tgt_pad", "bos", "eos"):
        if (number := getattr(options, name)) is not None:
            given[f"{name}_id"] = None if number < 0 else number
    if options.masks:
        given["masks"] = options.masks
    return given


def chosen(only: list[str], skip: list[str]) -> list[str] | None:
    """Give the names of the laws to try; None where all are."""
    known([*only, *skip])
    return [name for name in only or BY_NAME if name not in skip] if only or skip else None


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def known(names: Iterable[str]) -> None:
    """Raise a UserError at a name that is no law's."""
    for name in names:
        if name not in BY_NAME:
            raise UserError(f"there is no law {name!r}: {', '.join(BY_NAME)}")


if __name__ == "__main__":
    sys.exit(main())
