"""The process in which somebody's code runs; it writes its events as JSON (not in the paper)."""

import ctypes
import dataclasses
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_laws.adapter_source import adapter_source
from attention_laws.errors import UserError, describe_error
from attention_laws.factory import (
    import_and_call_factory,
    prepended_to_sys_path,
    to_adapter_or_pipeline,
)
from attention_laws.older_code import CUDA_AS_CPU_ASSUMPTION, use_cpu_for_cuda
from attention_laws.run import Diagnosis

try:
    import resource
except ImportError:  # Windows has no limit on memory.
    resource = None  # type: ignore[assignment]


def main() -> None:
    """Try the laws that the last argument asks for, a `SandboxRequest` as JSON."""
    request = json.loads(sys.argv.pop())
    _end_with_parent(request["parent_pid"])
    # Only the events are written to standard output; their code prints on standard error.
    events = os.dup(1)
    os.dup2(2, 1)

    def send(**event: Any) -> None:
        os.write(events, f"\n{request['mark']}{json.dumps(event)}\n".encode())

    _limit_memory(request["gigabytes"])
    if request["cuda_as_cpu"]:
        use_cpu_for_cuda()
    try:
        with prepended_to_sys_path(Path(request["folder"])):
            _try_laws_and_send_results(request, send)
    except UserError as error:
        send(stopped=str(error), mistake=True)
    except BaseException as error:  # Their code may raise anything.
        send(stopped=describe_error(error), mistake=False)
    send(done=True)
    # No thread of theirs is waited for, and nothing of theirs runs at exit.
    os._exit(0)


def _end_with_parent(parent_pid: int) -> None:
    """Let the system end this process when the one that judges it ends, however (on Linux).

    Their code may never end by itself, and a command that is killed cannot end it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        # It ended before this was asked.
        if os.getppid() != parent_pid:
            os._exit(0)


def _limit_memory(gigabytes: float) -> None:
    """Let an allocation fail that takes this process that much beyond its present size."""
    statm = Path("/proc/self/statm")
    if resource is not None and statm.exists():
        present = int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        limit = present + int(gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _try_laws_and_send_results(request: dict[str, Any], send: Callable[..., None]) -> None:
    product = import_and_call_factory(request["module"], request["name"])
    diagnosis = Diagnosis(
        to_adapter_or_pipeline(product, request["options"]), minute=request["minute"]
    )
    # No key reaches this process: a KeyboardInterrupt is their code's.
    diagnosis.interrupts = ()
    names = request["laws"]
    laws = [law for law in diagnosis.laws if names is None or law.name in names]
    report = diagnosis.report()
    assumptions = report.assumptions
    if request["cuda_as_cpu"]:
        assumptions = (*assumptions, CUDA_AS_CPU_ASSUMPTION)
    send(
        laws=[law.name for law in laws],
        assumptions=assumptions,
        tolerance=report.tolerance,
        place=report.place,
    )
    if request["adapter_file_stem"]:
        factory = request["module"], request["name"]
        text = adapter_source(diagnosis.tested, *factory, request["adapter_file_stem"])
        send(adapter_source=text)
        return
    if names is not None:
        diagnosis.try_prerequisite_laws()
    for law in laws:
        send(law=law.name, minute=law.minute)
        send(line=dataclasses.asdict(diagnosis.try_law(law)))
