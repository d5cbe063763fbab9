"""Where to compute, and where a figure comes from: command, commit, hardware (§5.2), date."""

import datetime
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from transformer import __version__
from transformer.support.files import PACKAGE


def pick_device() -> torch.device:
    """Give the GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


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
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return shlex.join(["python", "-m", program.parent.name, *sys.argv[1:]])
    if "ipykernel" in sys.modules:
        return "a notebook"
    return shlex.join([program.name, *sys.argv[1:]])


def commit(root: Path = PACKAGE.parent) -> str:
    """Give a checkout's commit, marked where its files differ from it; else the version."""
    version = f"version {__version__}"
    if not (root / ".git").exists():  # another project's repository around us is not ours
        return version
    git = ["git", "-C", str(root)]
    try:
        head, changed = (
            subprocess.run([*git, *words], capture_output=True, text=True, check=True).stdout
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "-uno"])
        )
    except (OSError, subprocess.CalledProcessError):
        return version
    return f"{head.strip()} with changes" if changed else head.strip()


def hardware(device: torch.device) -> str:
    """Name the processor that did the work: "NVIDIA ...", or the CPU and its threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    cpuinfo, threads = Path("/proc/cpuinfo"), torch.get_num_threads()
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = next(iter(names), platform.processor() or platform.machine())
    return f"{model}, {threads} thread{'s' * (threads > 1)}"
