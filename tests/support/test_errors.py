"""What a user gets to see of a mistake."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from transformer.support.errors import UserError, exit_status, is_out_of_memory, unknown_name

Capture = pytest.CaptureFixture[str]
needs_full = pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full here")


def raising(error: BaseException) -> Callable[[], int]:
    """Give a command that prints a line and raises."""

    def command() -> int:
        print("so far")
        raise error

    return command


def test_a_commands_own_status_is_kept() -> None:
    assert exit_status(lambda: 130) == 130
    with pytest.raises(SystemExit):
        exit_status(lambda: sys.exit(3))


def test_a_mistake_is_a_line_and_status_2(capsys: Capture) -> None:
    assert exit_status(raising(UserError("n is\n0: give 1 or more"))) == 2
    assert capsys.readouterr() == ("so far\n", "error: n is 0: give 1 or more\n")


def test_ctrl_c_is_a_line_and_status_130(capsys: Capture) -> None:
    assert exit_status(raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr() == ("so far\n", "stopped\n")


def test_a_file_that_fails_is_a_line_and_what_was_printed_stays(capsys: Capture) -> None:
    assert exit_status(raising(FileNotFoundError(2, "No such file or directory", "there"))) == 2
    told = "error: cannot go on: [Errno 2] No such file or directory: 'there'\n"
    assert capsys.readouterr() == ("so far\n", told)


def test_our_own_mistakes_are_a_line_that_says_how_to_report_them(capsys: Capture) -> None:
    assert exit_status(raising(ValueError("not the\nuser's"))) == 70
    out, err = capsys.readouterr()
    assert out == "so far\n"
    assert err.startswith("error: ValueError: not the user's; this is a mistake of the course's")
    assert err.count("\n") == 1
    for words in ("what was saved before is kept", "report it", "--traceback"):
        assert words in err
    assert exit_status(raising(ValueError("not the\nuser's")), show_traceback=True) == 70
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert shown.endswith(err)


def test_too_little_memory_is_a_line(capsys: Capture) -> None:
    for command in (
        lambda: len(bytearray(2**62)),
        lambda: len(torch.empty(2**58, dtype=torch.uint8)),
        raising(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")),
    ):
        assert exit_status(command) == 2
        err = capsys.readouterr().err
        assert err.startswith("error: out of memory; what was saved before is kept: give a smaller")
        assert err.count("\n") == 1
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


@needs_full
@pytest.mark.parametrize(
    ("sink", "says"),
    [("/dev/full", "error: cannot go on: [Errno 28] No space left on device\n"), (None, "")],
)
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


@needs_full
def test_a_line_that_standard_error_does_not_take_changes_no_status() -> None:
    code = (
        "import sys; from transformer.support.errors import UserError, exit_status\n"
        "def command(): raise UserError('n is 0')\n"
        "sys.exit(exit_status(command))"
    )
    with open("/dev/full", "wb") as full:
        assert subprocess.run([sys.executable, "-c", code], stderr=full).returncode == 2


def test_unknown_names() -> None:
    for name, hint in (("trian", "did you mean 'train'? "), ("xyz", "")):
        said = f"unknown split '{name}': {hint}(known: test, train)"
        assert str(unknown_name("split", name, {"train", "test"})) == said
