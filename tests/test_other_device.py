"""A tensor made on the wrong device fails, without a GPU.

The device is PyTorch's for good, so its tests have a process of their own.
"""

import re

import pytest

from tests.helpers import ROOT, python


@pytest.mark.slow
def test_training_and_search_on_another_device() -> None:
    """By hand: python -m pytest tests/helpers/on_other_device.py."""
    checks = ROOT / "tests" / "helpers" / "on_other_device.py"
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", checks, cwd=ROOT)
    assert re.fullmatch(r"4 passed in .*", done.stdout.splitlines()[-1])
