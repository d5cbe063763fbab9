"""A script of a lesson run by torchrun, in two processes on this machine. Not in the paper."""

import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformer.support.errors import UserError


def run_script_in_two_processes(script: str, **functions: Callable[..., Any]) -> str:
    """Run a script twice at once by torchrun, on one thread each; return what it prints.

    Functions of a notebook are written before it, under the names of their keywords.
    """
    definitions = [
        f"{inspect.getsource(function)}\n{name} = {function.__name__}"
        for name, function in functions.items()
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
        raise UserError(f"the two processes failed:\n{completed.stderr[:1500]}")
    return completed.stdout
