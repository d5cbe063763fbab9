"""Run somebody's code in a child process with limits on time and memory (not in the paper)."""

import contextlib
import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO, Any

from attention_laws.errors import UserError
from attention_laws.law import Law
from attention_laws.laws import MODEL_LAWS, PIPELINE_LAWS
from attention_laws.report import LawResult, Report, Verdict

MAX_LOADING_SECONDS = 120.0  # until their code is imported and has been run once
MAX_TRAINING_LAW_SECONDS = 120.0  # for a law that trains
MAX_READING_SECONDS = 20.0  # until what a child wrote before it ended has been read
MAX_CHILD_PROCESS_STARTS = 3  # how many are started if theirs die
MAX_PRINTED_CHARACTERS = 20_000  # characters of their output that are passed on
LAWS_BY_NAME = {law.name: law for law in (*MODEL_LAWS, *PIPELINE_LAWS)}
PACKAGE_PARENT_FOLDER = Path(__file__).resolve().parents[1]
# With -P the current folder, which is theirs, is not searched for modules of ours or of torch's.
CHILD_CODE = (
    "import sys; sys.path.insert(0, {root!r}); import attention_laws.sandbox_child as child; "
    "sys.path.remove({root!r}); child.main()"
)


@dataclass(frozen=True, kw_only=True)
class SandboxRequest:
    """What a child process is to try."""

    folder: str  # first on the path while their code runs
    module: str  # their module's name
    name: str  # the factory of the model, in that module
    # How a bare module is called: arguments of `adapter_from_module`.
    options: dict[str, Any] = field(default_factory=dict)
    laws: list[str] | None = None  # names of laws; None: all
    minute: bool = False  # whether to try the laws that train or compile, too
    seconds: float = 30.0  # until a law is ended
    gigabytes: float = 8.0  # memory beyond what torch takes
    cuda_as_cpu: bool = False  # whether what asks for a GPU gets the CPU
    # Name of the file, without .py, of which the text is asked for in the place of laws.
    adapter_file_stem: str = ""


@dataclass
class _ChildProgress:
    """What the child processes of one request have reported so far."""

    lines: dict[str, LawResult] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    current_law: str = ""  # the law that is being tried
    stopped: str = ""  # why the newest child gave up

    def add_event(self, event: dict[str, Any]) -> None:
        """Take in one event of a child."""
        if "stopped" in event:
            self.stopped = event["stopped"]
        elif "laws" in event:
            self.header = self.header or event
        elif "law" in event:
            self.current_law = event["law"]
        elif "line" in event:
            line = event["line"]
            self.lines[line["law"]] = LawResult(**{**line, "verdict": Verdict(line["verdict"])})
            self.current_law = ""


def diagnose_in_sandbox(request: SandboxRequest) -> Report:
    """Try laws on somebody's code; start it again after a law in which its process died."""
    progress = _ChildProgress()
    printable, reason = MAX_PRINTED_CHARACTERS, ""
    for attempt in range(MAX_CHILD_PROCESS_STARTS):
        names = progress.header.get("laws", [])
        untried = [name for name in names if name not in progress.lines]
        process = _ChildProcess(request, untried if attempt else request.laws, printable)
        progress.current_law, progress.stopped = "", ""
        for event in process.events():
            progress.add_event(event)
            if "stopped" in event and not progress.lines:
                return Report((), stopped=event["stopped"], mistake=event["mistake"])
        printable = process.printable
        if process.done:
            reason = progress.stopped or reason
            break
        reason = process.end
        if not progress.header:
            return Report((), stopped=f"before a law could be tried, {reason}")
        if progress.current_law:
            name = progress.current_law
            progress.lines[name] = _lost_result(LAWS_BY_NAME[name], reason)
    header, lines = progress.header, progress.lines
    for name in header["laws"]:
        not_reached = f"not reached: in an earlier law {reason}"
        lines.setdefault(name, _lost_result(LAWS_BY_NAME[name], not_reached))
    ordered = tuple(lines[name] for name in header["laws"])
    return Report(ordered, tuple(header["assumptions"]), header["tolerance"], place=header["place"])


def adapter_source_in_sandbox(request: SandboxRequest) -> str:
    """Return the text of an adapter's file around somebody's factory; see `adapter_source`.

    Raises:
        UserError: there is no module that could be called.
    """
    process = _ChildProcess(request, [], MAX_PRINTED_CHARACTERS)
    problem = ""
    for event in process.events():
        if "adapter_source" in event:
            return str(event["adapter_source"])
        problem = event.get("stopped", problem)
    raise UserError(problem or process.end)


def _lost_result(law: Law, reason: str) -> LawResult:
    """Return the result of a law in which their process ended, or which was not reached then."""
    return LawResult(
        law=law.name,
        says=law.says,
        verdict=Verdict.NOT_TRIED,
        seen=reason,
        means=law.means,
        look=law.look,
        seconds=0.0,
        lost=True,
    )


class _ChildProcess:
    """A running child: the events that it sends, and how it ended."""

    def __init__(self, request: SandboxRequest, laws: list[str] | None, printable: int) -> None:
        self.seconds = request.seconds
        self.printable = printable  # characters of their output that may still be passed on
        self.done, self.end = False, ""
        self._event_lines: queue.Queue[str | None] = queue.Queue()
        # It distinguishes our events from anything that their code may write.
        self._mark = secrets.token_hex(8)
        argument = json.dumps(
            {**vars(request), "laws": laws, "mark": self._mark, "parent_pid": os.getpid()}
        )
        self._child = subprocess.Popen(
            [
                sys.executable,
                "-P",
                # PyTorch warns of it as it is imported, and the laws need none.
                "-W",
                "ignore:Failed to initialize NumPy:UserWarning",
                "-c",
                CHILD_CODE.format(root=str(PACKAGE_PARENT_FOLDER)),
                argument,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        self._readers = [
            Thread(target=self._read_events, args=(self._child.stdout,), daemon=True),
            Thread(target=self._forward_stderr, args=(self._child.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the child's events until it ends or exceeds its time."""
        limit, since = MAX_LOADING_SECONDS, time.monotonic()
        try:
            while True:
                line = self._next_event_line()
                if line is None:
                    self.end = self._describe_end()
                    return
                if not line and time.monotonic() - since > limit:
                    self.end = f"it did not end within {limit:.0f} s, and was ended"
                    return
                if line:
                    event = json.loads(line)
                    if "done" in event:
                        self.done = True
                        return
                    limit = self._max_seconds_until_next_event(event)
                    since = time.monotonic()
                    yield event
        finally:
            self._kill()

    def _next_event_line(self) -> str | None:
        """Return a line, "" if none came for a moment, or None if the child has ended.

        Every line that it wrote before it ended is returned first, unless it takes longer than
        MAX_READING_SECONDS to read it.
        """
        has_ended = self._child.poll() is not None
        if has_ended:
            # Processes that it has started would keep the pipe open.
            self._kill_process_group()
        try:
            return self._event_lines.get(timeout=MAX_READING_SECONDS if has_ended else 0.2)
        except queue.Empty:
            return None if has_ended else ""

    def _max_seconds_until_next_event(self, event: dict[str, Any]) -> float:
        """Return the seconds until the next event must come."""
        if "laws" in event:
            return MAX_LOADING_SECONDS
        return MAX_TRAINING_LAW_SECONDS if event.get("minute") else self.seconds

    def _describe_end(self) -> str:
        status = self._child.wait()
        if status < 0:
            return f"the process died of {signal.Signals(-status).name}"
        return f"it ended the process, with status {status}"

    def _read_events(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                if line.startswith(self._mark):
                    self._event_lines.put(line.removeprefix(self._mark))
        self._event_lines.put(None)

    def _forward_stderr(self, stream: IO[str]) -> None:
        """Print what their code prints on standard error, up to a limit."""
        with stream:
            while text := stream.read(1024):
                shown = text[: self.printable]
                if self.printable:
                    print(shown, end="", file=sys.stderr, flush=True)
                if 0 < self.printable <= len(text):
                    omitted = (
                        f"(what it prints beyond {MAX_PRINTED_CHARACTERS:,} characters is left out)"
                    )
                    print(f"\n{omitted}", file=sys.stderr)
                self.printable -= len(shown)

    def _kill_process_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._child.pid, signal.SIGKILL)
            else:
                self._child.kill()

    def _kill(self) -> None:
        """End the child and the processes that it has started."""
        self._kill_process_group()
        self._child.wait()
        for reader in self._readers:
            # A process of theirs may hold the pipe open: it is not waited for.
            reader.join(timeout=2.0)
