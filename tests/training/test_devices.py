"""What a machine can do, and what is chosen for it: by its own word, or by the clock."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from transformer.support.errors import UserError
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
        monkeypatch.setattr(devices, "_matrix_product_seconds", timed)

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
    assert (
        min(devices._matrix_product_seconds(each) for each in (torch.float32, torch.bfloat16)) > 0
    )
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
    assert devices.memory_bytes(CPU) > 100e6
    # Four times the weights.
    monkeypatch.setattr(devices, "memory_bytes", lambda device: 4 * 4 * 2**34)
    check_memory(nn.Linear(2**17, 2**17, bias=False, device="meta"), CPU)
    with pytest.raises(UserError, match=r"needs 274\.9 GB of memory .* cpu has 274\.9 GB: give"):
        check_memory(nn.Linear(2**17, 2**17, device="meta"), CPU)
