"""The command `attention-laws my_model:make` (not in the paper)."""

import argparse
import dataclasses
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from attention_laws.errors import UserError
from attention_laws.factory import parse_factory_target
from attention_laws.github import annotations
from attention_laws.report import MISTAKE, Report, read_baseline
from attention_laws.sandbox import (
    LAWS_BY_NAME,
    SandboxRequest,
    adapter_source_in_sandbox,
    diagnose_in_sandbox,
)

HELP_DESCRIPTION = """Try the laws of an encoder-decoder on anybody's code, in a process of its own.

NAME is a function without arguments that returns a torch module, an Adapter or a Pipeline.
`attention-laws init MODULE:NAME` writes an Adapter around a module, ready to edit.
The exit status is 0 if no law is broken, 1 if one is, 2 if there is no model to try, and 3 if the
model could not be judged: laws of the core (shape, future, padding, gradients) were not tried, or
your code raised, hung or died in a law."""
DEFAULT_ADAPTER_FILE = "laws_adapter.py"
INIT_DESCRIPTION = """Write a file with an Adapter around a bare module.

It says how the module is called, as that was found, and has a commented line for each function
that lets more laws be tried."""


class _OneLineErrorParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """End the program with the mistake in one line."""
        self.exit(MISTAKE, f"error: {message} (see {self.prog} --help)\n")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = _OneLineErrorParser(
        "attention-laws", description=HELP_DESCRIPTION, formatter_class=raw
    )
    parser.add_argument(
        "target",
        metavar="MODULE:NAME",
        help="a name in a module of the current folder; or FILE.py:NAME",
    )
    _add_options_of_laws(parser)
    _add_options_of_report(parser)
    _add_options_of_process(parser)
    _add_module_calling_options(parser)
    return parser


def _add_options_of_laws(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose laws."""
    add = parser.add_argument
    add(
        "--minute",
        action="store_true",
        help="also try the laws that train or compile a model; each takes up to a minute",
    )
    add(
        "--only",
        metavar="LAWS",
        type=_split_at_commas,
        default=[],
        help="try only these laws, separated by commas",
    )
    add(
        "--skip",
        metavar="LAWS",
        type=_split_at_commas,
        default=[],
        help="skip these laws, separated by commas",
    )


def _add_options_of_report(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what fails, and how it is printed."""
    add = parser.add_argument
    add("--strict", action="store_true", help="exit with 1 for a warning too")
    add(
        "--baseline",
        metavar="FILE",
        type=Path,
        help="laws whose break is accepted: `law: reason`, one a line",
    )
    add("--json", action="store_true", help="print the report as JSON")
    add(
        "--github",
        action="store_true",
        help="let each break stand at its line in a pull request, after the report",
    )


def _add_options_of_process(parser: argparse.ArgumentParser) -> None:
    """Add the options of the process in which the code runs."""
    add = parser.add_argument
    add(
        "--seconds",
        metavar="S",
        type=float,
        default=30.0,
        help="time limit of one law, in seconds (default: 30)",
    )
    add(
        "--memory",
        metavar="GB",
        type=float,
        default=8.0,
        help="memory limit, beyond what torch itself takes (default: 8)",
    )
    add(
        "--cuda-as-cpu",
        action="store_true",
        help="let code that asks for a GPU, as `.cuda()` does, get the CPU",
    )


def _add_module_calling_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a bare module is called."""
    group = parser.add_argument_group(
        "how to call a bare module (what is not given is found by trying)"
    )
    order = group.add_mutually_exclusive_group()
    order.add_argument("--batch-first", action="store_true", help="ids are (batch, length)")
    order.add_argument("--length-first", action="store_true", help="ids are (length, batch)")
    add = group.add_argument
    add("--pad", metavar="N", type=int, help="id of the padding token; -1 if there is none")
    add(
        "--tgt-pad",
        metavar="N",
        type=int,
        help="id of the target's padding, if it differs; -1 if none",
    )
    add("--bos", metavar="N", type=int, help="id of the token that begins a target")
    add("--eos", metavar="N", type=int, help="id of the token that ends a sentence")
    add(
        "--masks",
        metavar="M",
        help="may|hidden|add, bool|int|byte|float, 1 to 4 axes, for example may-bool-4",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    typed = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if typed[:1] == ["init"]:
            return write_adapter_file(typed[1:])
        options = make_parser().parse_args(typed)
        report = diagnose_with_options(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return MISTAKE
    if report.stopped and not options.json:
        asks_for_gpu = re.search("cuda|nvidia", report.stopped, re.IGNORECASE)
        hint = ": try --cuda-as-cpu" if asks_for_gpu and not options.cuda_as_cpu else ""
        print(f"error: {report}{hint}", file=sys.stderr)
    else:
        print(report.to_json() if options.json else report)
    if options.github and (shown := annotations(report)):
        # GitHub reads both streams, and what reads JSON one.
        print(shown, file=sys.stderr if options.json else sys.stdout)
    return report.exit_status


def write_adapter_file(arguments: Sequence[str]) -> int:
    """Write the file that `attention-laws init` asks for, and return the exit status.

    Raises:
        UserError: the file cannot be written or could not import the factory, or there is no
            module that could be called.
    """
    parser = _OneLineErrorParser("attention-laws init", description=INIT_DESCRIPTION)
    parser.add_argument("target", metavar="MODULE:NAME", help="the factory of a bare module")
    parser.add_argument(
        "--out",
        metavar="FILE.py",
        type=Path,
        help="the file to write, in the folder that MODULE is imported from (default: "
        f"{DEFAULT_ADAPTER_FILE} there)",
    )
    _add_module_calling_options(parser)
    options = parser.parse_args(arguments)
    folder, module, name = parse_factory_target(options.target)
    out = options.out or Path(os.path.relpath(folder), DEFAULT_ADAPTER_FILE)
    _check_adapter_file(out, folder)
    request = SandboxRequest(
        folder=str(folder),
        module=module,
        name=name,
        options=adapter_arguments_from_options(options),
        adapter_file_stem=out.stem,
    )
    text = adapter_source_in_sandbox(request)
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}") from error
    print(f"wrote {out}: edit it, then run attention-laws {out}:make")
    return 0


def _check_adapter_file(out: Path, folder: Path) -> None:
    """Raise a UserError unless a new module can be written there that imports from a folder."""
    if out.suffix != ".py" or not out.stem.isidentifier():
        raise UserError(f"{out} is no name of a module: name it as {DEFAULT_ADAPTER_FILE} is")
    if out.exists():
        raise UserError(f"{out} is there already: give another file as --out")
    if out.resolve().parent != folder.resolve():
        raise UserError(f"from {out} the factory cannot be imported: give a file in {folder}")


def diagnose_with_options(options: argparse.Namespace) -> Report:
    """Return the report that the options ask for."""
    folder, module, name = parse_factory_target(options.target)
    reasons = read_baseline(options.baseline) if options.baseline else {}
    request = SandboxRequest(
        folder=str(folder),
        module=module,
        name=name,
        options=adapter_arguments_from_options(options),
        laws=chosen_law_names(options.only, options.skip),
        minute=options.minute,
        seconds=options.seconds,
        gigabytes=options.memory,
        cuda_as_cpu=options.cuda_as_cpu,
    )
    check_law_names(reasons)
    report = diagnose_in_sandbox(request).with_baseline(reasons)
    return dataclasses.replace(report, strict=options.strict)


def adapter_arguments_from_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return arguments of `adapter_from_module`: how a bare module is called, if the user says."""
    arguments: dict[str, Any] = {}
    if options.batch_first or options.length_first:
        arguments["batch_first"] = options.batch_first
    for name in ("pad", "tgt_pad", "bos", "eos"):
        token = getattr(options, name)
        if token is not None:
            arguments[f"{name}_id"] = None if token < 0 else token
    if options.masks:
        arguments["masks"] = options.masks
    return arguments


def chosen_law_names(only: list[str], skip: list[str]) -> list[str] | None:
    """Return the names of the laws to try; None for all."""
    check_law_names([*only, *skip])
    if not only and not skip:
        return None
    return [name for name in only or LAWS_BY_NAME if name not in skip]


def _split_at_commas(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def check_law_names(names: Iterable[str]) -> None:
    """Raise a UserError unless each name is a law's."""
    for name in names:
        if name not in LAWS_BY_NAME:
            raise UserError(f"there is no law {name!r}: {', '.join(LAWS_BY_NAME)}")
