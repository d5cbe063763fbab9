"""A command, or a piece of Python, in a process of its own: it may crash, hang or be killed."""

import contextlib
import io
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

SECONDS = 60.0  # after which a process hangs, on a machine that is not busy
LONGEST = 900  # seconds after which a process ends even where nobody waits for it any more
MEMORY = 3 << 30  # bytes that a process may take beside what it begins with
FILE = 300 << 20  # bytes of the largest file that it may write


_slower = 1.0  # how much more time everything takes on this machine


def allow_for(seconds: float) -> None:
    """Wait longer where a training that takes three seconds took so many."""
    global _slower
    _slower = max(1.0, seconds / 3)


def slower() -> float:
    """Give how many times slower than a machine that is not busy this one is; 1 at the least."""
    return _slower


class Ended(NamedTuple):
    """How a process ended: its exit status (negative: of the signal), and what it said."""

    status: int
    out: bytes
    err: str
    hung: bool = False


def limit_memory() -> None:
    """Let this process take so much memory and no more; only where Linux says what it has."""
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


class Running:
    """A forked process; standard input, output and error are files.

    Args:
        work: What it does; gives its exit status.
        given: Its standard input.
        largest: Bytes of the largest file that it can write, as on a disk that is full.
        change: What is changed in the process before the work: variables, attributes.
    """

    def __init__(
        self,
        work: Callable[[], int],
        given: bytes = b"",
        largest: int = FILE,
        change: Callable[[], None] | None = None,
    ) -> None:
        self.files = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115  closed in wait
        self.files[0].write(given)
        self.files[0].seek(0)
        sys.stdout.flush()
        sys.stderr.flush()
        self.begun = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self._become(work, largest, change)

    def _become(
        self, work: Callable[[], int], largest: int, change: Callable[[], None] | None
    ) -> NoReturn:
        """Do the work in the child, as the program that `python -m transformer` starts does."""
        status = 1
        try:
            os.setsid()  # a child of its own ends with it
            for number, file in enumerate(self.files):
                os.dup2(file.fileno(), number)
            sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb"), encoding="utf-8")
            sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb"), encoding="utf-8")
            sys.stderr = io.TextIOWrapper(
                os.fdopen(2, "wb", 0),
                encoding="utf-8",
                errors="backslashreplace",
                write_through=True,
            )
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            limit_memory()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(LONGEST)
            if change is not None:
                change()
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
            status = work()
            sys.stdout.flush()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def kill(self) -> None:
        """Send SIGKILL; nothing where it has ended."""
        os.kill(self.pid, signal.SIGKILL)  # not waited for yet, so the number is still its own

    def wait(self, seconds: float = SECONDS) -> Ended:
        """Wait for its end; after so many seconds it hangs, and is killed."""
        end, pause, hung = self.begun + seconds * _slower, 0.001, False
        while (found := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > end and not hung:
                hung = True
                self.kill()
            time.sleep(pause)
            pause = min(pause * 1.3, 0.05)
        status = os.waitstatus_to_exitcode(found[1])
        said = []
        for file in self.files:
            file.seek(0)
            said.append(file.read())
            file.close()
        return Ended(status, said[1], said[2].decode("utf-8", "replace"), hung)


def command(*words: object, **options: Any) -> Running:
    """Start `python -m transformer` with these words, without the seconds that imports take."""
    typed = [str(word) for word in words]

    def work() -> int:
        from transformer.__main__ import main

        sys.argv = ["transformer/__main__.py", *typed]
        return main(typed)

    return Running(work, **options)


def call(function: Callable[[], object], **options: Any) -> Running:
    """Start a piece of Python that prints what it gives; what stops it is said as by a command."""

    def say() -> int:
        print(repr(function()))
        return 0

    def work() -> int:
        from transformer.support.errors import exit_status

        return exit_status(say)

    return Running(work, **options)


def program(line: str, *words: object, given: bytes = b"", seconds: float = SECONDS) -> Ended:
    """Run a line of a shell in which "$@" is the real program with these words."""
    typed = ["sh", "-c", line, "sh", sys.executable, "-m", "transformer"]
    typed += [word if isinstance(word, bytes) else str(word) for word in words]  # type: ignore[misc]
    try:
        limit = seconds * _slower
        done = subprocess.run(typed, input=given, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return Ended(-signal.SIGKILL, b"", "", hung=True)
    return Ended(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


def ended(*words: object, seconds: float = SECONDS, **options: Any) -> Ended:
    """Run `python -m transformer` with these words to its end."""
    return command(*words, **options).wait(seconds)


def words_of(words: Sequence[object]) -> str:
    """Write a command's words for people."""
    return " ".join(ascii(str(word))[1:-1] for word in words)
