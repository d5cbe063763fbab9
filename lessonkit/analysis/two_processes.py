"""A script of a lesson run by torchrun, in two processes on this machine. Not in the paper."""

import inspect
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformer.support.errors import UserError, short_repr
from transformer.support.signatures import check_argument_types

MAX_SHOWN_CHARACTERS = 300  # of the error of a process


@check_argument_types
def run_script_in_two_processes(script: str, **functions: Callable[..., Any]) -> str:
    """Run a script twice at once by torchrun, on one thread each; return what it prints.

    Functions of a notebook are written before it, under the names of their keywords.
    """
    definitions = [
        _function_source_under_name(name, function) for name, function in functions.items()
    ]
    source = "\n\n".join(["from __future__ import annotations", *definitions, script])
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    python_path = os.pathsep.join(filter(None, sys.path))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "worker.py"
        file.write_text(source, encoding="utf-8")
        completed = subprocess.run(
            [sys.executable, *torchrun, str(file)],
            env=os.environ | {"PYTHONPATH": python_path, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
    if completed.returncode:
        print(completed.stderr, file=sys.stderr)
        raise UserError(
            f"the two processes failed: {_first_error(completed.stderr)}; mend the script"
        )
    return completed.stdout


def _first_error(printed: str) -> str:
    """Return the line of the first error in what two processes print, or the last line."""
    lines = [re.sub(r"^\[rank\d\]:\s*", "", line) for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"\w+(Error|Exception|Interrupt)\b", line)]
    return (errors or lines[-1:] or ["without a word"])[0][:MAX_SHOWN_CHARACTERS]


def _function_source_under_name(name: str, function: Callable[..., Any]) -> str:
    """Return the source of a function, and the line that gives it another name."""
    try:
        source = inspect.getsource(function)
    except (TypeError, OSError) as error:
        message = f"{name} is {short_repr(function)}, whose source is not here"
        raise UserError(f"{message}: give a function that the notebook defines") from error
    return f"{source}\n{name} = {function.__name__}"
