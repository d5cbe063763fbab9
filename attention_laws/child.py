"""The process in which somebody's code runs, and that may die of it (not in the paper).

`box.py` starts it. What it finds goes line by line through the standard output that it was
started with; what their code prints goes to the standard error.
"""

import dataclasses
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_laws.errors import UserError, told
from attention_laws.law import Law
from attention_laws.laws import LAWS, PIPELINE_LAWS
from attention_laws.pipeline import Pipeline
from attention_laws.report import Finding, Line
from attention_laws.run import GATES, Trial, diagnose_pipeline
from attention_laws.target import made, on_path, subject_of

try:
    import resource
except ImportError:  # no bound on memory on Windows
    resource = None  # type: ignore[assignment]


def main() -> None:
    """Try the laws that the first argument asks for, as JSON; see `box.Order`."""
    order = json.loads(sys.argv[1])
    out = os.dup(1)
    os.dup2(2, 1)

    def tell(**event: Any) -> None:
        os.write(out, f"{json.dumps(event)}\n".encode())

    _bound_memory(order["gigabytes"])
    try:
        with on_path(Path(order["folder"])):
            _try(order, tell)
    except UserError as error:
        tell(stopped=str(error), mistake=True)
    except BaseException as error:  # whatever their code raises
        tell(stopped=told(error), mistake=False)
    tell(done=True)
    os._exit(0)  # no threads are waited for, nothing of theirs is run at the end


def _bound_memory(gigabytes: float) -> None:
    """Let an allocation fail that takes the process beyond so much more than it has now."""
    pages = Path("/proc/self/statm")
    if resource is not None and pages.exists():
        now = int(pages.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        most = now + int(gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _try(order: dict[str, Any], tell: Callable[..., None]) -> None:
    subject = subject_of(made(order["module"], order["name"]), order["options"])
    is_pipeline = isinstance(subject, Pipeline)
    laws = PIPELINE_LAWS if is_pipeline else LAWS
    chosen = [law for law in laws if order["laws"] is None or law.name in order["laws"]]
    names = [law.name for law in chosen]
    gates = [law for law in laws if law.name in GATES and law not in chosen]

    def on_law(law: Law) -> None:
        tell(law=law.name, minute=law.minute)

    def on_line(line: Line) -> None:
        tell(line=dataclasses.asdict(line))

    if isinstance(subject, Pipeline):
        tell(laws=names, assumptions=[], tolerance=0.0)
        by_name = {law.name: law for law in chosen}
        safe = [_shielded(law) for law in chosen]
        diagnose_pipeline(
            subject, laws=safe, on_law=lambda name: on_law(by_name[name]), on_line=on_line
        )
        return
    trial = Trial(subject, minute=order["minute"])
    report = trial.report()
    tell(laws=names, assumptions=report.assumptions, tolerance=report.tolerance)
    for law in gates:
        trial.line(_shielded(law))
    for law in chosen:
        on_law(law)
        on_line(trial.line(_shielded(law)))


def _shielded(law: Law) -> Law:
    """Let a KeyboardInterrupt be an error like others: nobody's keys reach this process."""

    def check(subject: Any) -> Finding:
        try:
            return law.check(subject)
        except KeyboardInterrupt as error:
            raise RuntimeError(f"KeyboardInterrupt: {error}") from error

    return dataclasses.replace(law, check=check)
