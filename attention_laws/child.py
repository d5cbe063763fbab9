"""The process in which somebody's code runs, told of line by line as JSON (not in the paper)."""

import dataclasses
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_laws.errors import UserError, told
from attention_laws.run import Trial
from attention_laws.target import made, on_path, subject_of

try:
    import resource
except ImportError:  # no bound on memory on Windows
    resource = None  # type: ignore[assignment]


def main() -> None:
    """Try the laws that the last argument asks for, as JSON; see `box.Order`."""
    order = json.loads(sys.argv.pop())
    out = os.dup(1)
    os.dup2(2, 1)

    def tell(**event: Any) -> None:
        os.write(out, f"\n{order['mark']}{json.dumps(event)}\n".encode())

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
    trial = Trial(subject, minute=order["minute"])
    trial.stops = ()  # nobody's keys reach this process
    chosen = [law for law in trial.laws if order["laws"] is None or law.name in order["laws"]]
    report = trial.report()
    names = [law.name for law in chosen]
    tell(laws=names, assumptions=report.assumptions, tolerance=report.tolerance)
    if order["laws"] is not None:
        trial.try_gates()
    for law in chosen:
        tell(law=law.name, minute=law.minute)
        tell(line=dataclasses.asdict(trial.line(law)))
