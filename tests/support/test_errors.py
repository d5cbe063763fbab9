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
from transformer.support.checks import check_fields
from transformer.support.errors import UserError, is_out_of_memory

Capture = pytest.CaptureFixture[str]


def raising(error: BaseException) -> Callable[[], int]:
    """Give a command that prints a line and raises."""

    def command() -> int:
        print("so far")
        raise error

    return command


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
        check_fields(self, max_number=1000, fractions=["water"], may_be_zero=["cracks"])


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
        ({"coats": True}, "coats is True: give a whole number"),
        ({"coats": 0}, "coats is 0: give 1 to 1,000"),
        ({"coats": "9" * 5000}, f"coats is '{'9' * 12}...{'9' * 13}': give a whole number"),
        ({"lid": "big"}, "lid is 'big': give a whole number or none"),
        ({"lid": -1}, "lid is -1: give 1 to 1,000"),
        ({"dry": 1}, "dry is 1: give true or false"),
        ({"name": 3}, "name is 3: give text"),
        ({"litres": None}, "litres is None: give a number"),
        ({"litres": 10**400}, f"litres is 1{'0' * 17}...{'0' * 19}: give a number"),
        ({"litres": 0}, "litres is 0.0: give a number above 0"),
        ({"litres": "nan"}, "litres is nan: give a number above 0"),
        ({"water": 1}, "water is 1.0: give a number from 0 up to, not including, 1"),
        ({"cracks": -1}, "cracks is -1: give 0 to 1,000"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Paint(**changes)
    assert str(caught.value).startswith(message)
