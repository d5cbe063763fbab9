"""What the command line does with its process: closed streams, signals, faults of its own."""

import importlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import pytest

from attention_course.command_line import main
from tests.helpers import HANGS, TINY, weekly
from transformer.data import corpora
from transformer.models.folder import LAST, holds_run
from transformer.training.interrupt import STOP_NOTICE

Capture = pytest.CaptureFixture[str]
PROGRAM = [sys.executable, "-m", "transformer"]
SETTINGS = [part for key, value in TINY.items() for part in ("--set", f"{key}={value}")]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a file's name is text")
def test_help_is_utf8_whatever_the_system_writes() -> None:
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    said = subprocess.run([*PROGRAM, "--help"], env=env, capture_output=True, check=True)
    assert "schläft".encode() in said.stdout
    assert said.stderr == b""


def test_a_path_of_other_bytes_is_printed_as_it_is(tmp_path: Path, shared_data: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    shutil.copytree(shared_data / "tatoeba", folder / "tatoeba")
    env = os.environ | {"TRANSFORMER_DATA": str(folder)}
    done = subprocess.run([*PROGRAM, "corpora", "fetch", "tatoeba"], env=env, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == os.fsencode(folder) + b"/tatoeba/data.zip\n"


def fault(name: str) -> None:
    raise ZeroDivisionError("for the test")


def test_a_fault_is_a_line_and_a_traceback_only_when_asked_for(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "fetch", fault)
    assert main(["corpora", "fetch", "multi30k"]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ZeroDivisionError: for the test; this is a mistake of the course")
    assert all(words in err for words in ("saved before is kept", "report it", "--traceback"))
    assert err.count("\n") == 1
    assert main(["--traceback", "corpora", "fetch", "multi30k"]) == 70
    assert "in fault\n" in capsys.readouterr().err


def test_a_package_that_is_not_installed_is_named_with_the_remedy(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "lessonkit.diagnose", raising=False)
    monkeypatch.setitem(sys.modules, "attention_laws", None)
    assert main(["diagnose", "demo-en-fr"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "attention_laws" in err
    assert "pip install" in err


def import_what_the_course_lacks(name: str) -> None:
    importlib.import_module("transformer.lacks")


def test_a_module_that_the_course_itself_lacks_is_its_own_mistake(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "fetch", import_what_the_course_lacks)
    assert main(["corpora", "fetch", "multi30k"]) == 70
    assert "mistake of the course" in capsys.readouterr().err


def begin(command: list[str], before: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    """Start a training, and wait for its first report."""
    run = subprocess.Popen(
        [*PROGRAM, *command], stdout=PIPE, stderr=PIPE, text=True, preexec_fn=before
    )
    assert run.stdout is not None
    while not run.stdout.readline().startswith("step "):
        assert run.poll() is None
    return run


@pytest.mark.slow
@pytest.mark.parametrize("sig", [signal.SIGINT, *map(weekly, (signal.SIGTERM, signal.SIGHUP))])
def test_a_request_to_end_a_training_keeps_everything(sig: signal.Signals, tmp_path: Path) -> None:
    command = ["train", "demo", *SETTINGS, "--steps", "100000", "--out", str(tmp_path / "r un")]

    def as_a_shell_does() -> None:
        """Let a foreground listen to Ctrl-C, what is in the background not; neither has nohup."""
        waits = sig != signal.SIGINT
        signal.signal(signal.SIGINT, signal.SIG_IGN if waits else signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    run = begin(command, as_a_shell_does)
    run.send_signal(sig)
    out, err = run.communicate(timeout=HANGS)
    assert (run.returncode, err) == (130, f"{STOP_NOTICE}\n")
    said, _, again = out.splitlines()[-1].partition("; go on with: ")
    assert re.fullmatch(r"stopped after step \d+, all is kept", said)
    assert shlex.split(again) == ["attention-course", *command, "--resume"]
    assert (tmp_path / "r un" / LAST).exists()


@pytest.mark.weekly
@pytest.mark.parametrize("deed", ["moved", "removed", "replaced"])
def test_a_run_whose_folder_goes_is_not_done_and_writes_nothing_in_its_place(
    deed: str, tmp_path: Path
) -> None:
    out, other = tmp_path / "run", tmp_path / "other"
    command = ["train", "demo", *SETTINGS, "--steps", "100000", "--out", str(out)]
    run = begin(command)
    out.rename(other)
    if deed == "removed":
        shutil.rmtree(other)
    if deed == "replaced":
        out.mkdir()
    _, err = run.communicate(timeout=HANGS)
    assert run.returncode == 2
    assert err.startswith(f"error: {out} was moved, removed or replaced while the run")
    assert not out.exists() or not list(out.iterdir())
    assert other.exists() == (deed != "removed")
    if deed == "moved":
        assert holds_run(other)
