"""Where a figure comes from: the command, the code's commit, the hardware and the date.

Not in the paper.
"""

import datetime
import os
import platform
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from transformer import __version__
from transformer.support.folders import PACKAGE


def provenance(device: torch.device) -> dict[str, Any]:
    """Say how this process was started, from what code, and on what machine, ready for JSON."""
    return {
        "command": command(),
        "commit": commit(),
        "hardware": hardware(device),
        "torch": torch.__version__,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def command() -> str:
    """Give the command line as typed, or where else this runs from: "a notebook"."""
    program, *words = sys.argv
    if Path(program).name == "__main__.py":
        return f"{launcher()} -m {shlex.join([Path(program).parent.name, *words])}"
    return "a notebook" if "ipykernel" in sys.modules else shlex.join([Path(program).name, *words])


def commit(root: Path = PACKAGE.parent) -> str:
    """Give a checkout's commit, marked where its files differ from it; else the version."""
    if (root / ".git").exists():  # another project's repository around us is not ours
        words = ["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty= with changes"]
        with suppress(OSError, subprocess.CalledProcessError):
            git = ["git", "-C", str(root), *words]
            return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    return f"version {__version__}"


def hardware(device: torch.device) -> str:
    """Name the processor that did the work: "NVIDIA ...", or the CPU and its threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    cpuinfo, threads = Path("/proc/cpuinfo"), torch.get_num_threads()
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.is_file() else ""
    named = re.search(r"^model name\s*:\s*(.*\S)", text, re.MULTILINE)
    model = named[1] if named else platform.processor() or platform.machine()
    return f"{model}, {threads} thread{'s' * (threads > 1)}"


def begun_by_torchrun() -> bool:
    """Return whether torchrun began this process and others beside it."""
    torchrun = dist.is_available() and dist.is_torchelastic_launched()
    return torchrun and int(os.environ["WORLD_SIZE"]) > 1


def launcher() -> str:
    """Give what stands before `-m transformer` in the command that began this process."""
    if not begun_by_torchrun():
        return "python"
    size, here = (int(os.environ[name]) for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    nodes = "" if size == here else f" --nnodes {size // here} ..."
    return f"torchrun --nproc-per-node {here}{nodes}"
