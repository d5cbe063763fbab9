"""For `pytest --nbval notebooks` without make: kernels inherit this."""

import os
from typing import Any

import pytest

# Two kernels of several threads spin against each other on two cores. Torch
# reads this as it loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


# Without pytest-xdist there is no such hook.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Keep a lesson's cells on one worker: `-n 2` alone would scatter them."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)
