"""What a GPU did in some steps, from the trace of `torch.profiler`.

Not in the paper.
"""

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerActivity, profile

# The categories of what a GPU does, in a trace of `export_chrome_trace`.
KERNEL_CATEGORY = "kernel"
GPU_CATEGORIES = (KERNEL_CATEGORY, "gpu_memcpy", "gpu_memset")
# How the names of the calls begin with which a program gives a GPU kernels to carry out.
LAUNCH_PREFIXES = ("cudaLaunchKernel", "cuLaunchKernel", "cudaGraphLaunch")


def profile_steps(make_steps: Callable[[], object], num_steps: int) -> dict[str, Any]:
    """Return `profile_figures` of what is called, which waits for the GPU at its end."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        make_steps()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        trace = json.loads(file.read_text(encoding="utf-8"))
    return profile_figures(trace["traceEvents"], num_steps)


def profile_figures(events: Iterable[Mapping[str, Any]], num_steps: int) -> dict[str, Any]:
    """Return a step's kernels, launches, and the milliseconds in which the GPU was at work.

    `events` are those of a trace, with times in microseconds. What a GPU does at the same time is
    counted once.
    """
    timed = [event for event in events if event.get("ph") == "X"]
    of_gpu = [event for event in timed if event.get("cat") in GPU_CATEGORIES]
    kernels = sum(event["cat"] == KERNEL_CATEGORY for event in of_gpu)
    launches = sum(event["name"].startswith(LAUNCH_PREFIXES) for event in timed)
    busy = busy_microseconds((event["ts"], event["ts"] + event["dur"]) for event in of_gpu)
    return {
        "kernels": round(kernels / num_steps, 1),
        "launches": round(launches / num_steps, 1),
        "gpu_milliseconds": round(busy / num_steps / 1000, 2),
    }


def busy_microseconds(intervals: Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of some intervals, each a start and an end."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
