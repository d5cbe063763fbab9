"""What a user gets to see of a mistake."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from transformer.support.errors import UserError, exit_status, unknown_name


def test_a_commands_own_status_is_kept() -> None:
    assert exit_status(lambda: 0) == 0
    assert exit_status(lambda: 130) == 130


def test_a_mistake_is_a_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> int:
        raise UserError("n is 0: give 1 or more")

    assert exit_status(command) == 2
    assert capsys.readouterr() == ("", "error: n is 0: give 1 or more\n")


def test_ctrl_c_is_a_line_and_status_130(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> int:
        raise KeyboardInterrupt

    assert exit_status(command) == 130
    assert capsys.readouterr() == ("", "stopped\n")


def test_a_file_that_fails_is_a_line_and_what_was_printed_stays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def command() -> int:
        print("so far")
        raise FileNotFoundError(2, "No such file or directory", "there")

    assert exit_status(command) == 2
    told = "error: cannot go on: [Errno 2] No such file or directory: 'there'\n"
    assert capsys.readouterr() == ("so far\n", told)


@pytest.mark.parametrize(
    ("sink", "says"),
    [("/dev/full", "error: cannot go on: [Errno 28] No space left on device\n"), (None, "")],
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written(sink: str | None, says: str) -> None:
    # In a process of its own, for Python flushes standard output once more at its end.
    code = (
        "import sys; from transformer.support.errors import exit_status\n"
        "sys.exit(exit_status(lambda: print('a line') or 0))"
    )
    buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    read, write = os.pipe()
    os.close(read)
    with open(sink, "wb") if sink else os.fdopen(write, "wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env=buffered,
        )
    assert (done.returncode, done.stderr) == (2, says)


class Panic(BaseException):
    """What a library in Rust raises: no Exception."""


@pytest.mark.parametrize("error", [ValueError("not the\nuser's"), RecursionError("deep"), Panic()])
def test_our_own_mistakes_are_a_line_that_says_how_to_report_them(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> int:
        print("so far")
        raise error

    assert exit_status(command) == 70
    out, err = capsys.readouterr()
    assert out == "so far\n"
    message = " ".join(f"{type(error).__name__}: {error}; this is a mistake of the course".split())
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1
    assert "what was saved before is kept" in err
    assert "report it" in err
    assert "--traceback" in err
    assert exit_status(command, show_traceback=True) == 70
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert shown.endswith(err)


def test_a_long_message_is_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> int:
        raise ValueError("x" * 100_000)

    assert exit_status(command) == 70
    assert len(capsys.readouterr().err) < 1000


def test_a_command_may_end_the_program() -> None:
    with pytest.raises(SystemExit):
        exit_status(lambda: sys.exit(3))


def no_memory() -> int:
    return len(bytearray(2**62))


def no_memory_for_a_tensor() -> int:
    return len(torch.empty(2**58, dtype=torch.uint8))


@pytest.mark.parametrize("command", [no_memory, no_memory_for_a_tensor])
def test_too_little_memory_is_a_line(
    command: Callable[[], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_status(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: out of memory; what was saved before is kept: give a smaller")
    assert err.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_line_that_standard_error_does_not_take_changes_no_status() -> None:
    code = (
        "import sys; from transformer.support.errors import UserError, exit_status\n"
        "def command(): raise UserError('n is 0')\n"
        "sys.exit(exit_status(command))"
    )
    with open("/dev/full", "wb") as full:
        assert subprocess.run([sys.executable, "-c", code], stderr=full).returncode == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trian", "unknown split 'trian': did you mean 'train'? (known: test, train)"),
        ("xyz", "unknown split 'xyz': (known: test, train)"),
    ],
)
def test_unknown_names(name: str, message: str) -> None:
    assert str(unknown_name("split", name, {"train", "test"})) == message
