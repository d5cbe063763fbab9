"""What a machine can do, and what is chosen for it: by its own word, or by the clock."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from transformer.support.errors import UserError
from transformer.training import devices
from transformer.training.devices import Precision, check_memory, memory, pick

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A stand-in for hardware that is not here: it says what that would say."""

    def says(
        capability: tuple[int, int] = (0, 0), instructions: bool = False, seconds: float = 1.0
    ) -> None:
        def timed(numbers: torch.dtype) -> float:
            return seconds if numbers == torch.bfloat16 else 1.0

        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a GPU")
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (7, 15 * 10**9))
        monkeypatch.setattr(devices, "_has_bfloat16_instructions", lambda: instructions)
        monkeypatch.setattr(devices, "_seconds", timed)

    return says


@pytest.mark.parametrize(
    ("capability", "chosen"),
    [((6, 0), "fp16"), ((7, 5), "fp16"), ((8, 0), "bf16"), ((8, 9), "bf16"), ((9, 0), "bf16")],
)
def test_a_gpu_gets_what_its_capability_has(
    machine: Callable[..., None], capability: tuple[int, int], chosen: str
) -> None:
    machine(capability=capability)
    found = pick(GPU)
    assert found.precision == chosen
    assert str(found) == (
        f"a GPU, 15 GB, {chosen} (compute capability {capability[0]}.{capability[1]})"
    )


@pytest.mark.parametrize(
    ("instructions", "seconds", "chosen", "why"),
    [
        (False, 0.5, "float32", "no instructions"),
        (True, 0.5, "bf16", "has instructions"),
        (True, 2.0, "float32", "is slower with"),
    ],
)
def test_a_processor_gets_bf16_where_it_gains(
    machine: Callable[..., None], instructions: bool, seconds: float, chosen: str, why: str
) -> None:
    machine(instructions=instructions, seconds=seconds)
    found = pick(CPU)
    assert found.precision == chosen
    assert why in found.why


def test_mps_computes_in_float32() -> None:
    assert pick(torch.device("mps")).precision == Precision.FLOAT32


def test_what_is_asked_for_is_taken_where_it_can_be_had(machine: Callable[..., None]) -> None:
    machine(capability=(7, 5))
    assert str(pick(GPU, Precision.FLOAT32)) == "a GPU, 15 GB, float32 (as asked for)"
    assert pick(CPU, Precision.FP16).precision == Precision.FP16
    for device in (GPU, CPU):
        with pytest.raises(UserError, match=r"has no tf32: NVIDIA GPUs of .* 8\.0"):
            pick(device, Precision.TF32)
    machine(capability=(8, 6))
    assert pick(GPU, Precision.TF32).precision == Precision.TF32


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        (Precision.FLOAT32, torch.float32),
        (Precision.BF16, torch.bfloat16),
        (Precision.FP16, torch.float16),
    ],
)
def test_products_are_in_the_precision(precision: Precision, expected: torch.dtype) -> None:
    one = torch.rand(3, 5)
    with precision.products(CPU):
        assert (one @ one.T).dtype == expected
    assert (one @ one.T).dtype == torch.float32


@pytest.mark.parametrize(
    ("precision", "setting"), [("float32", "highest"), ("tf32", "high"), ("bf16", "high")]
)
def test_a_gpu_multiplies_float32_as_tf32_where_that_is_meant(
    monkeypatch: pytest.MonkeyPatch, precision: str, setting: str
) -> None:
    said: list[str] = []
    monkeypatch.setattr(torch, "set_float32_matmul_precision", said.append)
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: torch.inference_mode())
    with Precision(precision).products(GPU):
        assert said == [setting]
    assert said == [setting, torch.get_float32_matmul_precision()]


def test_a_product_takes_time_in_each() -> None:
    assert min(devices._seconds(each) for each in (torch.float32, torch.bfloat16)) > 0


def test_a_giant_is_refused_without_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory(CPU) > 100e6
    monkeypatch.setattr(devices, "memory", lambda device: 64 * 10**9)
    giant = nn.Linear(2**17, 2**17, device="meta")
    with pytest.raises(UserError, match=r"needs [\d,.]+ GB of memory .* cpu has 64\.0 GB: give"):
        check_memory(giant, CPU)


@pytest.mark.parametrize(
    ("device", "processes", "copies"), [("cpu", 1, 4), ("cpu", 3, 3 * 5), ("cuda", 3, 5)]
)
def test_the_bound_of_memory_by_hand(
    device: str, processes: int, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = 4 * (5 * 7 + 7)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(processes))
    monkeypatch.setattr(devices, "memory", lambda device: copies * weights)
    check_memory(nn.Linear(5, 7), torch.device(device))
    monkeypatch.setattr(devices, "memory", lambda device: copies * weights - 1)
    with pytest.raises(UserError, match="of memory at the least"):
        check_memory(nn.Linear(5, 7), torch.device(device))
