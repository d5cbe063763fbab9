"""What a profile says of a GPU's work, and the benchmark's steps; both need no GPU."""

import copy
import dataclasses
import weakref
from itertools import islice

import pytest
import torch

from experiments.bench import sections
from experiments.bench.gpu import BenchSteps
from experiments.bench.gpu_profile import busy_microseconds, profile_figures, profile_steps
from experiments.bench.peers import TrainingWorkload
from experiments.bench.shapes import count_shapes
from tests.helpers.cpu_recorder import CpuStepRecorder
from tests.helpers.tiny_training import D_MODEL, DATA, VOCAB
from transformer.config import ModelConfig
from transformer.data.batches import Example
from transformer.data.token_budget import TokenBudgetBatches
from transformer.recipes import find_recipe
from transformer.support.files import read_json
from transformer.support.folders import results_folder

CPU = torch.device("cpu")


def event(category: str, name: str, start: float, duration: float) -> dict[str, object]:
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration}


def test_a_profile_by_hand() -> None:
    events = [
        {"ph": "M", "name": "process_name"},
        event("cpu_op", "aten::mm", 0, 900),
        event("cuda_runtime", "cudaLaunchKernel", 10, 5),
        event("cuda_runtime", "cudaLaunchKernelExC", 20, 5),
        event("cuda_runtime", "cudaGraphLaunch", 30, 5),
        event("cuda_runtime", "cudaStreamSynchronize", 40, 500),
        event("kernel", "gemm", 100, 200),
        event("kernel", "softmax", 250, 150),  # 50 of them beside the first
        event("kernel", "add", 400, 100),
        event("gpu_memcpy", "Memcpy HtoD", 700, 300),
        event("gpu_memset", "Memset", 1000, 100),
    ]
    found = profile_figures(events, 2)
    assert found == {"kernels": 1.5, "launches": 1.5, "gpu_milliseconds": 0.4}


@pytest.mark.parametrize(
    ("intervals", "length"),
    [([], 0), ([(3, 5)], 2), ([(3, 5), (0, 2)], 4), ([(0, 9), (1, 2), (8, 11)], 11)],
)
def test_what_happens_at_once_is_counted_once(
    intervals: list[tuple[float, float]], length: float
) -> None:
    assert busy_microseconds(intervals) == length


@pytest.mark.filterwarnings("ignore:CUDA is not available")
def test_a_profile_of_this_processor_has_no_kernels() -> None:
    found = profile_steps(lambda: torch.ones(3).sum(), 1)
    assert found == {"kernels": 0, "launches": 0, "gpu_milliseconds": 0}


def test_recorded_steps_are_of_the_same_batches_as_eager_ones() -> None:
    recipe = find_recipe("multi30k-de-en")
    model = ModelConfig(d_model=D_MODEL, d_ff=19, num_heads=2, num_layers=1)
    workload = TrainingWorkload(
        dataclasses.replace(recipe, model=model),
        list(islice(DATA.epoch(0), 5)),
        DATA,
        VOCAB,
        VOCAB,
    )
    recorder = CpuStepRecorder()
    eager = BenchSteps(workload, CPU, "float32", None)
    recorded = BenchSteps(workload, CPU, "float32, CUDA graphs", recorder)
    tokens = [[steps().tokens for _ in range(15)] for steps in (eager, recorded)]
    assert tokens[0] == tokens[1] == [batch.num_tgt_tokens for batch in workload.batches] * 3
    # By the third pass each of these five shapes is recorded.
    assert recorder.num_recordings <= recorder.num_runs <= 5
    assert recorder.num_replays >= 10
    assert recorded.graphed is not None
    assert recorded.graphed.padding.positions_per_token
    # The memory of a way must not be counted as that of the next one.
    models = [weakref.ref(steps.model) for steps in (eager, recorded)]
    del eager, recorded
    assert [model() for model in models] == [None, None]


def test_the_table_of_a_record_with_a_profile() -> None:
    figures = read_json(results_folder() / "bench" / "gpu.json")
    profile = {"milliseconds_without_waiting": 8.0, "kernels": 913.2, "launches": 2.0}
    profile |= {"gpu_milliseconds": 6.0}
    for measured in figures["models"].values():
        for step in measured["ways"].values():
            for name in profile:
                step.pop(name, None)
    profiled = copy.deepcopy(figures)
    for measured in profiled["models"].values():
        for step in measured["ways"].values():
            step |= profile
    before, after = (sections.gpu_steps_table(each).splitlines() for each in (figures, profiled))
    assert before[2].count("|") + 4 == after[2].count("|") == after[4].count("|")
    assert after[4].endswith("| 8.0 | 913 | 2 | 75% |")


def test_shapes_are_counted() -> None:
    # Both sides have 3, 3, 5 and 5 positions, and the budget holds a batch of two: rounded up to 4
    # and, as the longest are no longer, to 5.
    examples = [Example([5] * length, [6] * length) for length in (2, 2, 4, 4)]
    found = count_shapes(TokenBudgetBatches(examples, 10), epochs=3)
    assert found["batches"] == 6
    assert found["ways"]["as padded"] == {
        "shapes": 2,
        "shapes_that_come_once": 0,
        "positions_per_token": 1,
    }
    assert found["ways"]["rounded up"]["shapes"] == 2
    assert found["ways"]["rounded up"]["positions_per_token"] == pytest.approx(
        (2 * 4 + 2 * 5) / (2 * 3 + 2 * 5)
    )
