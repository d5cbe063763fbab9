"""What a user gets to see of a mistake."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_our_own_mistakes_are_not_hidden() -> None:
    def command() -> int:
        raise ValueError("not the user's")

    with pytest.raises(ValueError, match="not the user's"):
        exit_status(command)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trian", "unknown split 'trian': did you mean 'train'? (known: test, train)"),
        ("xyz", "unknown split 'xyz': (known: test, train)"),
    ],
)
def test_unknown_names(name: str, message: str) -> None:
    assert str(unknown_name("split", name, {"train", "test"})) == message
