"""Where a figure comes from: the command, the code's commit, the hardware and the date.

Not in the paper.
"""

import datetime
import hashlib
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
from transformer.support.folders import PACKAGE_FOLDER


def provenance(device: torch.device) -> dict[str, Any]:
    """Return how this process was started, from what code, on what machine, and when, for JSON."""
    return {
        "command": command_line(),
        "commit": commit_or_version(),
        "hardware": hardware_name(device),
        "torch": torch.__version__,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def command_line() -> str:
    """Return the command line as typed, or "a notebook" if that is where this runs."""
    program, *words = sys.argv
    path = Path(program)
    if path.name == "__main__.py":
        return add_torchrun_prefix(shlex.join(["python", "-m", path.parent.name, *words]))
    if "ipykernel" in sys.modules:
        return "a notebook"
    return add_torchrun_prefix(shlex.join([path.name, *words]))


def commit_or_version(root: Path = PACKAGE_FOLDER.parent) -> str:
    """Return a checkout's commit, marked if its files differ from it; else the version."""
    # A folder further up that has one belongs to another project.
    if (root / ".git").exists():
        words = ["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty= with changes"]
        with suppress(OSError, subprocess.CalledProcessError):
            git = ["git", "-C", str(root), *words]
            return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    return f"version {__version__}"


def code_sha256(package: Path = PACKAGE_FOLDER) -> str:
    """Return a check sum of a package's source, which tells any two versions of it apart."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def hardware_name(device: torch.device) -> str:
    """Return the processor's name: "NVIDIA ...", or the CPU's and its number of threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.is_file() else ""
    match = re.search(r"^model name\s*:\s*(.*\S)", text, re.MULTILINE)
    model = match[1] if match else platform.processor() or platform.machine()
    threads = torch.get_num_threads()
    return f"{model}, 1 thread" if threads == 1 else f"{model}, {threads} threads"


def is_launched_by_torchrun() -> bool:
    """Return whether torchrun began this process and others beside it."""
    by_torchrun = dist.is_available() and dist.is_torchelastic_launched()
    return by_torchrun and int(os.environ["WORLD_SIZE"]) > 1


def add_torchrun_prefix(command: str) -> str:
    """Return a command with the torchrun that began this process before it, if one did."""
    if not is_launched_by_torchrun():
        return command
    world_size = int(os.environ["WORLD_SIZE"])
    local_world_size = int(os.environ["LOCAL_WORLD_SIZE"])
    nodes = world_size // local_world_size
    machines = f" --nnodes {nodes} ..." if nodes > 1 else ""
    torchrun = f"torchrun --nproc-per-node {local_world_size}{machines}"
    if command.startswith("python "):
        return f"{torchrun} {command.removeprefix('python ')}"
    return f"{torchrun} --no-python {command}"
