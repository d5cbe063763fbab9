"""What a user gets to see of a mistake: in a command, a name, a setting."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import torch

from attention_course.status import exit_status
from transformer.support.errors import UserError, check_fields, is_out_of_memory, unknown_name

Capture = pytest.CaptureFixture[str]


# --- commands ------------------------------------------------------------------------------


def raising(error: BaseException) -> Callable[[], int]:
    """Give a command that prints a line and raises."""

    def command() -> int:
        print("so far")
        raise error

    return command


def test_a_commands_own_status_is_kept() -> None:
    assert exit_status(lambda: 130) == 130


def test_a_mistake_is_a_line_and_status_2(capsys: Capture) -> None:
    for error, line in (
        (UserError("n is\n0: give 1 or more"), "error: n is 0: give 1 or more\n"),
        (
            FileNotFoundError(2, "No such file or directory", "there"),
            "error: cannot go on: [Errno 2] No such file or directory: 'there'\n",
        ),
    ):
        assert exit_status(raising(error)) == 2
        assert capsys.readouterr() == ("so far\n", line)


def test_ctrl_c_is_a_line_and_status_130(capsys: Capture) -> None:
    assert exit_status(raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr() == ("so far\n", "stopped\n")


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


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full here")
def test_output_that_cannot_be_written() -> None:
    # In a process of its own, for Python flushes standard output once more at its end.
    code = (
        "import sys; from attention_course.status import exit_status\n"
        "sys.exit(exit_status(lambda: print('a line') or 0))"
    )
    command = [sys.executable, "-c", code]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    read, write = os.pipe()
    os.close(read)  # nobody listens, which is no mistake
    full = os.open("/dev/full", os.O_WRONLY)
    for sink, says in ((full, "cannot go on: [Errno 28] No space left on device"), (write, "")):
        done = subprocess.run(command, stdout=sink, stderr=subprocess.PIPE, text=True, env=env)
        os.close(sink)
        assert done.returncode == 2
        assert says in done.stderr
        assert done.stderr.count("\n") == (says != "")


def test_unknown_names() -> None:
    for name, hint in (("trian", "did you mean 'train'? "), ("xyz", "")):
        said = f"unknown split '{name}': {hint}(known: test, train)"
        assert str(unknown_name("split", name, {"train", "test"})) == said


# --- settings ------------------------------------------------------------------------------


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True, kw_only=True)
class Paint:
    colour: Colour = Colour.RED
    coats: int = 2
    litres: float = 1.5
    lid: int | None = None
    dry: bool = True
    name: str = ""
    water: float = 0.25
    cracks: int = 1

    def __post_init__(self) -> None:
        check_fields(self, most=1000, fractions=["water"], from_0=["cracks"])


def test_a_field_comes_to_have_its_type() -> None:
    for name, given, value in (
        ("colour", "green", Colour.GREEN),
        ("coats", "13", 13),
        ("coats", 1000, 1000),
        ("litres", "1e-3", 0.001),
        ("litres", 3, 3.0),
        ("lid", "None", None),
        ("lid", "7", 7),
        ("dry", "FALSE", False),
        ("name", "none", "none"),
        ("water", 0, 0.0),
        ("cracks", "0", 0),
    ):
        read = getattr(Paint(**{name: given}), name)  # type: ignore[arg-type]
        assert (read, type(read)) == (value, type(value)), name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": "grene"}, "unknown colour 'grene': did you mean 'green'?"),
        ({"coats": 2.0}, "coats is 2.0: give a whole number"),
        ({"coats": "1.5"}, "coats is '1.5': give a whole number"),
        ({"coats": True}, "coats is True: give a whole number"),
        ({"coats": 0}, "coats is 0: give 1 to 1,000"),
        ({"coats": 1001}, "coats is 1001: give 1 to 1,000"),
        ({"coats": "9" * 5000}, f"coats is '{'9' * 12}...{'9' * 13}': give a whole number"),
        ({"lid": "big"}, "lid is 'big': give a whole number or none"),
        ({"lid": -1}, "lid is -1: give 1 to 1,000"),
        ({"dry": 1}, "dry is 1: give true or false"),
        ({"dry": "1"}, "dry is '1': give true or false"),
        ({"name": 3}, "name is 3: give text"),
        ({"litres": None}, "litres is None: give a number"),
        ({"litres": 10**400}, f"litres is 1{'0' * 17}...{'0' * 19}: give a number"),
        ({"litres": 0}, "litres is 0.0: give a number above 0"),
        ({"litres": "inf"}, "litres is inf: give a number above 0"),
        ({"litres": "nan"}, "litres is nan: give a number above 0"),
        ({"water": 1}, "water is 1.0: give a number from 0 up to, not including, 1"),
        ({"water": -0.1}, "water is -0.1: give a number from 0 up to"),
        ({"cracks": -1}, "cracks is -1: give 0 to 1,000"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Paint(**changes)
    assert str(caught.value).startswith(message)
