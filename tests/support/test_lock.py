"""One writer in a folder."""

import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from transformer.support.errors import UserError
from transformer.support.files import LOCK, locked

HOLD = """
import sys, time
from pathlib import Path
from transformer.support.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """Start a process that holds a folder, and wait until it does."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_folder_is_held_by_one_process_and_free_after_its_kill(tmp_path: Path) -> None:
    with holder(tmp_path / "run") as process:
        message = f"run is in use by process {process.pid}: wait for its end, or give another"
        try:
            with pytest.raises(UserError, match=message), locked(tmp_path / "run"):
                raise AssertionError
        finally:
            process.send_signal(signal.SIGKILL)
    assert (tmp_path / "run" / LOCK).exists()  # what it left holds nobody up
    with locked(tmp_path / "run"):
        assert (tmp_path / "run" / LOCK).read_text() == f"process {os.getpid()}"
    assert list((tmp_path / "run").iterdir()) == []


def test_a_thread_may_ask_again_and_another_may_not(tmp_path: Path) -> None:
    said = []

    def ask() -> None:
        try:
            with locked(tmp_path):
                said.append("held")
        except UserError as error:
            said.append(str(error))

    def in_thread() -> None:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()

    with locked(tmp_path):
        with locked(tmp_path):
            pass
        assert (tmp_path / LOCK).exists()
        in_thread()
    in_thread()
    assert said == [
        f"{tmp_path} is in use by process {os.getpid()}: wait for its end, or give another folder",
        "held",
    ]


def test_a_folder_is_let_go_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), locked(tmp_path):
        raise KeyboardInterrupt
    with locked(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(UserError, match=r"cannot write in .*taken"), locked(tmp_path / "taken"):
        raise AssertionError
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_lock_removed_between_its_opening_and_its_taking_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    flock, removals = fcntl.flock, [tmp_path / LOCK]

    def late(*arguments: object) -> None:
        if removals:
            removals.pop().unlink()
        flock(*arguments)

    monkeypatch.setattr(fcntl, "flock", late)
    with locked(tmp_path):
        assert (tmp_path / LOCK).read_text() == f"process {os.getpid()}"
        with pytest.raises(BlockingIOError), (tmp_path / LOCK).open() as file:
            flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_file_system_without_locks_is_written_to_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr("fcntl.flock", refuse)
    with locked(tmp_path):
        assert (tmp_path / LOCK).exists()


def test_a_full_disk_is_said_and_leaves_no_lock(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(UserError, match="cannot write in") as kept, locked(tmp_path):
            raise AssertionError
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with locked(tmp_path):  # though its traceback is still held, as IPython holds it
        assert kept.value.__traceback__ is not None
