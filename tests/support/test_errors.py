"""What a user gets to see of a mistake in a command."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from attention_course.status import run_to_exit_status
from transformer.support.errors import is_out_of_memory

Capture = pytest.CaptureFixture[str]


def raising(error: BaseException) -> Callable[[], int]:
    """Return a command that prints a line and raises."""

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
        assert run_to_exit_status(command) == 2
        err = capsys.readouterr().err
        assert err.startswith("error: out of memory; what was saved before is kept: give a smaller")
        assert err.count("\n") == 1
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full here")
def test_output_that_cannot_be_written() -> None:
    # In a process of its own, for Python flushes standard output once more at its end.
    code = (
        "import sys; from attention_course.status import run_to_exit_status\n"
        "sys.exit(run_to_exit_status(lambda: print('a line') or 0))"
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
