"""What a machine can do, and what is chosen for it: by its own word, or by the clock."""

import datetime
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from transformer import __version__
from transformer.support import provenance
from transformer.support.errors import UserError
from transformer.support.provenance import command, commit
from transformer.training import devices
from transformer.training.devices import Precision, check_memory, pick_device_and_precision

Patch = pytest.MonkeyPatch
CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


@pytest.fixture
def machine(monkeypatch: Patch) -> Callable[..., None]:
    """A stand-in for hardware that is not here: it says what that would say."""

    def says(
        capability: tuple[int, int] = (0, 0), instructions: bool = False, seconds: float = 1.0
    ) -> None:
        def timed(numbers: torch.dtype) -> float:
            return seconds if numbers == torch.bfloat16 else 1.0

        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a GPU")
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (7, 15 * 10**9))
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: instructions)
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: instructions)
        monkeypatch.setattr(devices, "_seconds", timed)

    return says


def test_a_gpu_gets_what_its_capability_has(machine: Callable[..., None]) -> None:
    chosen = {(6, 0): "fp16", (7, 5): "fp16", (8, 0): "bf16", (8, 9): "bf16", (9, 0): "bf16"}
    for (major, minor), precision in chosen.items():
        machine(capability=(major, minor))
        said = f"a GPU, 15 GB, {precision} (compute capability {major}.{minor})"
        assert (str(pick_device_and_precision(GPU)), pick_device_and_precision(GPU).precision) == (
            said,
            precision,
        )


def test_a_processor_gets_bf16_where_it_gains(machine: Callable[..., None]) -> None:
    for instructions, seconds, chosen, why in (
        (False, 0.5, "float32", "no instructions"),
        (True, 0.5, "bf16", "has instructions"),
        (True, 2.0, "float32", "is slower with"),
    ):
        machine(instructions=instructions, seconds=seconds)
        found = pick_device_and_precision(CPU)
        assert found.precision == chosen
        assert why in found.why


def test_where_nothing_is_said() -> None:
    threads = torch.get_num_threads()
    assert min(devices._seconds(each) for each in (torch.float32, torch.bfloat16)) > 0
    assert torch.get_num_threads() == threads
    assert pick_device_and_precision(torch.device("mps")).precision == Precision.FLOAT32
    assert devices.pick_device().type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_what_is_asked_for_is_taken_where_it_can_be_had(machine: Callable[..., None]) -> None:
    machine(capability=(7, 5))
    assert (
        str(pick_device_and_precision(GPU, Precision.FLOAT32))
        == "a GPU, 15 GB, float32 (as asked for)"
    )
    assert pick_device_and_precision(CPU, Precision.FP16).precision == Precision.FP16
    for device in (GPU, CPU):
        with pytest.raises(UserError, match=r"has no tf32: NVIDIA GPUs of .* 8\.0"):
            pick_device_and_precision(device, Precision.TF32)
    machine(capability=(8, 6))
    assert pick_device_and_precision(GPU, Precision.TF32).precision == Precision.TF32


def test_products_are_in_the_precision() -> None:
    one = torch.rand(3, 5)
    for name, expected in (("float32", "float32"), ("bf16", "bfloat16"), ("fp16", "float16")):
        with Precision(name).autocast(CPU):
            assert (one @ one.T).dtype == getattr(torch, expected)
        assert (one @ one.T).dtype == torch.float32


def test_a_gpu_multiplies_float32_as_tf32_where_that_is_meant(monkeypatch: Patch) -> None:
    said: list[str] = []
    monkeypatch.setattr(torch, "set_float32_matmul_precision", said.append)
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: torch.inference_mode())
    for precision, setting in (("float32", "highest"), ("tf32", "high"), ("bf16", "high")):
        said.clear()
        with Precision(precision).autocast(GPU):
            assert said == [setting]
        assert said == [setting, torch.get_float32_matmul_precision()]


def test_a_giant_is_refused_without_being_made(monkeypatch: Patch) -> None:
    assert devices.memory(CPU) > 100e6
    monkeypatch.setattr(devices, "memory", lambda device: 4 * 4 * 2**34)  # four times the weights
    check_memory(nn.Linear(2**17, 2**17, bias=False, device="meta"), CPU)
    with pytest.raises(UserError, match=r"needs 274\.9 GB of memory .* cpu has 274\.9 GB: give"):
        check_memory(nn.Linear(2**17, 2**17, device="meta"), CPU)


# --- where a figure comes from ---------------------------------------------------------------


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
    assert commit(tmp_path) == head
    tracked.write_text("two\n", encoding="utf-8")
    assert commit(tmp_path) == f"{head} with changes"

    version = f"version {__version__}"
    inside = tmp_path / "site-packages"  # another project's repository is not ours
    inside.mkdir()
    assert commit(inside) == version
    (inside / ".git").write_text("gitdir: /nowhere\n", encoding="utf-8")
    assert commit(inside) == version
    monkeypatch.setenv("PATH", "")
    assert commit(tmp_path) == version


def test_command(monkeypatch: Patch) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    for typed, shown in (
        (["/x/transformer/__main__.py", "train", "a b"], "python -m transformer train 'a b'"),
        (["/x/experiments/__main__.py", "bench"], "python -m experiments bench"),
        (["/x/bin/attention-course", "train", "demo"], "attention-course train demo"),
    ):
        monkeypatch.setattr(sys, "argv", typed)
        assert command() == shown
    monkeypatch.setattr(provenance, "launcher", lambda: "torchrun --nproc-per-node 3")
    monkeypatch.setattr(sys, "argv", ["/x/transformer/__main__.py", "train"])
    assert command() == "torchrun --nproc-per-node 3 -m transformer train"
    monkeypatch.setattr(sys, "argv", ["/x/ipykernel_launcher.py", "-f", "/x/kernel.json"])
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert command() == "a notebook"


def test_hardware_names_the_processor_and_counts_the_threads(monkeypatch: Patch) -> None:
    for threads, words in ((1, "1 thread"), (2, "2 threads")):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        name, _, said = provenance.hardware(CPU).rpartition(", ")
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
