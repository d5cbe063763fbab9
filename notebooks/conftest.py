"""For `pytest --nbval notebooks` without make: kernels inherit this."""

import os
from typing import Any

import pytest

# Two kernels of several threads spin against each other on two cores. Torch
# reads this as it loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# How long (seconds) a cell's outputs may take after the kernel has said that
# it is done. nbval waits 5, too short for a busy machine, and has no option.
OUTPUT_TIMEOUT = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a busy machine take its time over outputs; the longest lessons first.

    If a long one came last, one of two workers would wait for it.
    """
    cells = [item for item in items if hasattr(item, "output_timeout")]
    for item in cells:
        item.output_timeout = OUTPUT_TIMEOUT
    train = {item.path for item in cells if "train_recipe(" in item.cell.source}
    items.sort(key=lambda item: item.path not in train)


# Without pytest-xdist there is no such hook.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Keep a lesson's cells on one worker: `-n 2` alone would scatter them.

    Lessons begin in the order above and not with the most cells.
    """
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)
