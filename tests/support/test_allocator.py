"""Freed memory is kept, and taken again without the system's help."""

import subprocess
import sys

import pytest

from transformer.support import allocator

FAULTS = """
import resource, sys
import torch
from transformer.support.allocator import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
def work():
    return float(torch.ones(16 * 2**20).sum())  # 64 MiB: the default always gives that back
for _ in range(20):
    work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    command = [sys.executable, "-c", FAULTS, how]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc can be asked")
def test_kept_memory_costs_no_page_faults() -> None:
    given_back, kept = faults("given back"), faults("kept")
    assert given_back > 1000
    assert kept < given_back / 20


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator.sys, "platform", "darwin")
    assert not allocator.keep_freed_memory()


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator.sys, "platform", "linux")
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: object())
    assert not allocator.keep_freed_memory()
