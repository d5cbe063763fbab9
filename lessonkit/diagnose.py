"""What the command `diagnose` does: which law does a model's code break? Not in the paper."""

import argparse
import contextlib
import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn
from tqdm import tqdm

from attention_laws import Adapter, Pipeline, Report, diagnose, diagnose_pipeline
from attention_laws.adapters import from_module
from attention_laws.errors import UserError as WrongModel
from attention_laws.laws import LAWS, PIPELINE_LAWS
from lessonkit.subjects import from_folder, from_transformer
from transformer.model import Transformer
from transformer.support.errors import UserError, unknown_name

HELP = "docs/foreign_models.md shows how"


def diagnose_target(options: argparse.Namespace) -> int:
    """Try the laws on what is named, and print the report."""
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


def _report(options: argparse.Namespace) -> Report:
    """Find what is named, and try the laws with a bar that shows how far they are."""
    adapter, pipeline = _subject(options)
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


def _subject(options: argparse.Namespace) -> tuple[Adapter | None, Pipeline | None]:
    """Give what to diagnose: a model, how its text is scored, or both."""
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
    place, _, name = target.rpartition(":")
    try:
        module = _imported(place)
        factory = getattr(module, name, None)
        if callable(factory) and not isinstance(factory, nn.Module):
            return factory()
    except (Exception, SystemExit) as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        where = f"{Path(last.filename).name}:{last.lineno}"
        raise UserError(
            f"{target} cannot be had: {type(error).__name__}: {error} ({where}): give a module "
            "from the current folder, or its file, code/my_model.py:make, and in it a function "
            "that runs without arguments"
        ) from error
    if factory is None:
        raise unknown_name("factory", name, [each for each in dir(module) if each[0] != "_"])
    return factory


def _imported(place: str) -> ModuleType:
    """Import a module by its name, from the current folder too, or by its file."""
    path = Path(place)
    by_file = path.suffix == ".py"
    sys.path.insert(0, str(path.parent.resolve() if by_file else Path.cwd()))
    if not by_file:
        return importlib.import_module(place)
    name = f"diagnosed_{path.stem}"  # which no other has: transformer.py is not the course
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # as for every name that ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module
