"""Where a figure comes from: the command as typed, the code's commit, and the machine."""

import datetime
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.helpers import set_torchrun_environment
from transformer import __version__
from transformer.support import provenance
from transformer.support.provenance import (
    add_torchrun_prefix,
    command_line,
    commit_or_version,
)

Patch = pytest.MonkeyPatch
CPU = torch.device("cpu")


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_checkout_has_its_commit_and_all_else_the_version(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    git(tmp_path, "init", "-q")
    tracked = tmp_path / "tracked.txt"
    tracked.write_text("one\n", encoding="utf-8")
    git(tmp_path, "add", "tracked.txt")
    git(tmp_path, "commit", "-q", "-m", "one")
    head = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "runs").write_text("what a run leaves is no change", encoding="utf-8")
    assert len(head) == 40
    assert commit_or_version(tmp_path) == head
    tracked.write_text("two\n", encoding="utf-8")
    assert commit_or_version(tmp_path) == f"{head} with changes"

    version = f"version {__version__}"
    inside = tmp_path / "site-packages"  # another project's repository is not ours
    inside.mkdir()
    assert commit_or_version(inside) == version
    (inside / ".git").write_text("gitdir: /nowhere\n", encoding="utf-8")
    assert commit_or_version(inside) == version
    monkeypatch.setenv("PATH", "")
    assert commit_or_version(tmp_path) == version


def test_command(monkeypatch: Patch) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    for typed, shown in (
        (["/x/transformer/__main__.py", "train", "a b"], "python -m transformer train 'a b'"),
        (["/x/experiments/__main__.py", "bench"], "python -m experiments bench"),
        (["/x/bin/attention-course", "train", "demo"], "attention-course train demo"),
    ):
        monkeypatch.setattr(sys, "argv", typed)
        assert command_line() == shown
    set_torchrun_environment(monkeypatch, 3, 3)
    for program, shown in (
        ("/x/transformer/__main__.py", "-m transformer"),
        ("/x/bin/attention-course", "--no-python attention-course"),
    ):
        monkeypatch.setattr(sys, "argv", [program, "train"])
        assert command_line() == f"torchrun --nproc-per-node 3 {shown} train"
    monkeypatch.setattr(sys, "argv", ["/x/ipykernel_launcher.py", "-f", "/x/kernel.json"])
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert command_line() == "a notebook"


def test_hardware_names_the_processor_and_counts_the_threads(monkeypatch: Patch) -> None:
    for threads, words in ((1, "1 thread"), (2, "2 threads")):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        name, _, said = provenance.hardware_name(CPU).rpartition(", ")
        assert name
        assert said == words
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file() and "model name" in cpuinfo.read_text(encoding="utf-8"):
        assert f": {name}\n" in cpuinfo.read_text(encoding="utf-8")


def test_all_of_it_is_ready_for_json() -> None:
    values = provenance.provenance(torch.device("cpu"))
    assert json.loads(json.dumps(values)) == values
    assert list(values) == ["command", "commit", "hardware", "torch", "date"]
    age = datetime.datetime.now(datetime.UTC).date() - datetime.date.fromisoformat(values["date"])
    assert age.days in (0, 1)


def test_what_began_the_process_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    set_torchrun_environment(monkeypatch, 1, 1)
    for command in ("python -m a b", "a b"):
        assert add_torchrun_prefix(command) == command
    for size, here, torchrun in (
        (3, 3, "torchrun --nproc-per-node 3"),
        (10, 5, "torchrun --nproc-per-node 5 --nnodes 2 ..."),
    ):
        set_torchrun_environment(monkeypatch, size, here)
        assert add_torchrun_prefix("python -m a b") == f"{torchrun} -m a b"
        assert add_torchrun_prefix("a b") == f"{torchrun} --no-python a b"
