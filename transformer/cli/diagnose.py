"""The command `diagnose`: which law does a model's code break?

Not in the paper. Only what the command needs is imported, when it runs: help answers at once.
"""

import argparse
import contextlib
import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from transformer.cli.options import Parser
from transformer.models.shipped import names
from transformer.support.errors import UserError, unknown_name

if TYPE_CHECKING:
    from attention_laws import Adapter, Pipeline, Report

HELP = "docs/foreign_models.md shows how"


def add_diagnose(program: "argparse._SubParsersAction[Parser]") -> None:
    """Describe the command and its options."""
    diagnose = program.add_parser(
        "diagnose",
        help="try the laws of an encoder-decoder on anybody's code",
        description="Try the laws that every sound encoder-decoder obeys: no position sees the "
        "future, padding changes nothing, a cache is no cache, ... FACTORY is a function without "
        "arguments, found from the current folder, that gives a torch module whose "
        "forward(src, tgt_in) gives logits; or an Adapter or a Pipeline of "
        "attention_laws, which can be asked more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""exit status: 0 no law is broken, 1 one is, 2 nothing could be tried

examples:
  python -m transformer diagnose my_model:make
  python -m transformer diagnose code/my_model.py:make --length-first --pad 1
  python -m transformer diagnose demo-en-fr --json > report.json""",
    )
    diagnose.add_argument(
        "target",
        metavar="MODULE:FACTORY",
        help=f"code; or a model folder, or a shipped model: {', '.join(names())}",
    )
    diagnose.add_argument(
        "--minute", action="store_true", help="try the laws that train too; they take a minute"
    )
    diagnose.add_argument("--json", action="store_true", help="print the report for a program")
    module = diagnose.add_argument_group("of a bare module (an Adapter says them itself)")
    module.add_argument(
        "--length-first", action="store_true", help="ids are (length, batch), not (batch, length)"
    )
    for name, about in (("pad", "padding"), ("bos", "what begins a target"), ("eos", "the end")):
        module.add_argument(f"--{name}", type=_id, metavar="N", help=f"id of {about}")
    diagnose.set_defaults(run=diagnose_target)


def _id(text: str) -> int:
    """Read an id.

    Raises:
        argparse.ArgumentTypeError: it is no whole number, or below 0.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number, 0 or more")
    return int(text)


def diagnose_target(options: argparse.Namespace) -> int:
    """Try the laws on what is named, and print the report."""
    from attention_laws.errors import UserError as WrongModel

    with contextlib.redirect_stdout(sys.stderr):  # what somebody's code prints is no report
        try:
            report = _report(options)
        except WrongModel as error:
            raise UserError(str(error)) from error
    if report.stopped:
        raise UserError(
            f"{options.target} could not be diagnosed: {report.stopped}: write an Adapter around "
            f"it ({HELP})"
        )
    print(report.to_json() if options.json else report)
    return report.exit_status


def _report(options: argparse.Namespace) -> "Report":
    """Find what is named, and try the laws with a bar that shows how far they are."""
    from tqdm import tqdm

    from attention_laws import Report, diagnose, diagnose_pipeline
    from attention_laws.laws import LAWS
    from attention_laws.run_pipeline import PIPELINE_LAWS

    adapter, pipeline = _found(options)
    number = len(LAWS) * (adapter is not None) + len(PIPELINE_LAWS) * (pipeline is not None)
    reports = []
    with tqdm(total=number, unit="law", leave=False, disable=None) as bar:

        def on_law(name: str) -> None:
            bar.set_description(name, refresh=False)
            bar.update()

        if adapter is not None:
            reports.append(diagnose(adapter, minute=options.minute, on_law=on_law))
        if pipeline is not None:
            reports.append(diagnose_pipeline(pipeline, on_law=on_law))
    lines = tuple(line for report in reports for line in report.lines)
    first = reports[0]
    return Report(lines, first.assumptions, first.tolerance, first.stopped)


def _found(options: argparse.Namespace) -> "tuple[Adapter | None, Pipeline | None]":
    """Give what to diagnose."""
    from torch import nn

    from attention_laws import Adapter, Pipeline
    from attention_laws.adapters import from_module
    from lessonkit.subjects import from_folder, from_transformer
    from transformer.model import Transformer

    given = {name: getattr(options, name) for name in ("pad", "bos", "eos")}
    ids = {f"{name}_id": number for name, number in given.items() if number is not None}
    is_code = ":" in options.target and not Path(options.target).is_dir()  # as C:\runs\demo
    made = _made(options.target) if is_code else None
    if isinstance(made, nn.Module) and (ids or not isinstance(made, Transformer)):
        order = {"batch_first": False} if options.length_first else {}
        return from_module(made, **order, **ids), None
    if ids or options.length_first:
        raise UserError(
            f"{options.target} is no bare module: --length-first, --pad, --bos and --eos are of "
            "one, leave them out"
        )
    if not is_code:
        return from_folder(options.target)
    if isinstance(made, Transformer):
        return from_transformer(made), None
    if isinstance(made, Adapter):
        return made, None
    if isinstance(made, Pipeline):
        return None, made
    raise UserError(
        f"{options.target} gives {type(made).__name__}: let it give a torch.nn.Module, an Adapter "
        f"or a Pipeline ({HELP})"
    )


def _made(target: str) -> Any:
    """Import a module and call its factory; what is no function is taken as it is."""
    from torch import nn

    place, _, name = target.rpartition(":")
    module = _imported(place)
    if not hasattr(module, name):
        raise unknown_name("factory", name, [each for each in dir(module) if each[0] != "_"])
    factory = getattr(module, name)
    if isinstance(factory, nn.Module) or not callable(factory):
        return factory
    try:
        return factory()
    except (Exception, SystemExit) as error:
        raise UserError(
            f"{target} cannot be called: {_told(error)}: give a function that runs without "
            "arguments"
        ) from error


def _imported(place: str) -> ModuleType:
    """Import a module by its name, from the current folder too, or by its file."""
    path = Path(place)
    folder = str(path.parent.resolve() if path.suffix == ".py" else Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    by_file = path.suffix == ".py"
    try:
        return _run_file(path) if by_file else importlib.import_module(place)
    except (Exception, SystemExit) as error:
        unknown = isinstance(error, ModuleNotFoundError) and error.name in (place, path.stem)
        missing = not path.is_file() if by_file else unknown
        remedy = "be in its folder, or give its file, code/my_model.py:make"
        told = f"no module {place!r} from {Path.cwd()}" if missing else _told(error)
        raise UserError(
            f"{place} cannot be imported: {told}: {remedy if missing else 'mend that first'}"
        ) from error


def _run_file(path: Path) -> ModuleType:
    """Run a file as a module of a name that no other has: transformer.py is not the course."""
    name = f"diagnosed_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # as for every name that ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def _told(error: BaseException) -> str:
    """Give an error in one line, with the last place in the code."""
    *_, last = traceback.extract_tb(error.__traceback__)
    message = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {message} ({Path(last.filename).name}:{last.lineno})"
