"""Somebody's code runs in a process of its own, with bounds on all it takes (not in the paper)."""

import contextlib
import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO, Any

from attention_laws.law import Law
from attention_laws.laws import LAWS, PIPELINE_LAWS
from attention_laws.report import Line, Report, Verdict

LOADING = 120.0  # seconds until their code is imported and has been run once
TRAINS = 120.0  # seconds of a law that trains
DEATHS = 3  # after which no process is started any more
PRINTED = 20_000  # characters of theirs that are passed on
BY_NAME = {law.name: law for law in (*LAWS, *PIPELINE_LAWS)}
ROOT = Path(__file__).resolve().parents[1]
# -P: the current folder, theirs, is not looked into for modules of ours, or of torch's.
CODE = (
    "import sys; sys.path.insert(0, {root!r}); import attention_laws.child as child; "
    "sys.path.remove({root!r}); child.main()"
)


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a process is to try."""

    folder: str  # first on the path while their code runs
    module: str  # their module's name
    name: str  # what gives the model, in that module
    # how a bare module is called, as `from_module` takes it
    options: dict[str, Any] = field(default_factory=dict)
    laws: list[str] | None = None  # names of laws; None: all
    minute: bool = False  # whether to try those that train, too
    seconds: float = 30.0  # until a law is ended
    gigabytes: float = 8.0  # of memory, beyond what torch takes


def diagnose_boxed(order: Order) -> Report:
    """Try laws on somebody's code."""
    lines: dict[str, Line] = {}
    names: list[str] = []
    head: dict[str, Any] = {}
    left, reason = PRINTED, ""
    for death in range(DEATHS):
        untried = [name for name in names if name not in lines]
        process = _Process(order, untried if death else order.laws, left)
        at = ""  # the law that is being tried
        for event in process.events():
            if "stopped" in event:
                if not lines:
                    return Report((), stopped=event["stopped"], mistake=event["mistake"])
                reason = event["stopped"]
            elif "laws" in event:
                head = head or event
                names = names or event["laws"]
            elif "law" in event:
                at = event["law"]
            elif "line" in event:
                found = event["line"]
                lines[found["law"]] = Line(**{**found, "verdict": Verdict(found["verdict"])})
                at = ""
        left = process.left
        if process.done:
            break
        reason = process.end
        if not head:
            return Report((), stopped=f"before a law could be tried, {reason}")
        if at:
            lines[at] = _untried(BY_NAME[at], reason)
    for name in names:
        lines.setdefault(name, _untried(BY_NAME[name], f"not reached: of a law before, {reason}"))
    ordered = tuple(lines[name] for name in names)
    return Report(ordered, tuple(head["assumptions"]), head["tolerance"])


def _untried(law: Law, reason: str) -> Line:
    return Line(law.name, law.says, Verdict.NOT_TRIED, reason, law.means, law.look, 0.0)


class _Process:
    """A running child: what it tells, and how it ended."""

    def __init__(self, order: Order, laws: list[str] | None, left: int) -> None:
        self.seconds, self.left = order.seconds, left
        self.done, self.end = False, ""
        self._told: queue.Queue[str | None] = queue.Queue()
        self._mark = secrets.token_hex(8)  # of what is ours, among what theirs may write
        given = json.dumps({**vars(order), "laws": laws, "mark": self._mark})
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-c", CODE.format(root=str(ROOT)), given],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        reads = ((self._hear, self._child.stdout), (self._pass_on, self._child.stderr))
        self._readers = [Thread(target=read, args=(out,), daemon=True) for read, out in reads]
        for reader in self._readers:
            reader.start()

    def events(self) -> Any:
        """Give what the child tells, until it ends or is ended."""
        allowed, since = LOADING, time.monotonic()
        try:
            while True:
                try:
                    line = self._told.get(timeout=0.2)
                except queue.Empty:
                    line = "" if self._child.poll() is None else None
                if line is None:
                    status = self._child.wait()
                    self.end = f"it ended the process, with status {status}"
                    if status < 0:
                        self.end = f"the process died of {signal.Signals(-status).name}"
                    return
                if not line and time.monotonic() - since > allowed:
                    self.end = f"it did not end within {allowed:.0f} s, and was ended"
                    return
                if line:
                    event = json.loads(line)
                    if "done" in event:
                        self.done = True
                        return
                    allowed = TRAINS if event.get("minute") else self.seconds
                    allowed = LOADING if "laws" in event else allowed
                    since = time.monotonic()
                    yield event
        finally:
            self._kill()

    def _hear(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                if line.startswith(self._mark):
                    self._told.put(line.removeprefix(self._mark))
        self._told.put(None)

    def _pass_on(self, stream: IO[str]) -> None:
        """Print on the standard error what their code prints, up to a bound."""
        with stream:
            while text := stream.read(1024):
                shown = text[: self.left]
                if self.left:
                    print(shown, end="", file=sys.stderr, flush=True)
                if 0 < self.left <= len(text):
                    left_out = f"(what it prints beyond {PRINTED:,} characters is left out)"
                    print(f"\n{left_out}", file=sys.stderr)
                self.left -= len(shown)

    def _kill(self) -> None:
        """End the child and what it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._child.pid, signal.SIGKILL)
            else:
                self._child.kill()
        self._child.wait()
        for reader in self._readers:
            reader.join(timeout=2.0)  # what a process of its own holds open is not waited for
