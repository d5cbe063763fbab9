"""Recorded steps, held to those of the plain loop, without a GPU (see `CpuStepRecorder`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD

from tests.helpers import TINY
from tests.helpers.cpu_recorder import CpuStepRecorder
from tests.helpers.tiny_training import (
    CONFIG,
    DATA,
    EXAMPLES,
    PaddedBatches,
    Tiny,
    assert_same_runs,
    rounded_rate,
    run_tiny,
    same_weights,
    transformer,
)
from transformer.config import TrainingConfig
from transformer.data import batch_shapes
from transformer.data.batches import Batch
from transformer.data.token_budget import TokenBudgetBatches
from transformer.recipes import find_recipe
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.training import loop, recipe
from transformer.training.cuda_graphs import CudaGraphRecorder, RecordingObstacles
from transformer.training.devices import Precision
from transformer.training.graphed_update import GraphedUpdate
from transformer.training.loop import new_state, update
from transformer.training.model_loss import batch_loss
from transformer.training.recipe import train_recipe
from transformer.training.result import TrainingResult
from transformer.training.run import StepStats

CPU = torch.device("cpu")
Patch = pytest.MonkeyPatch
FEW_SHAPES = TokenBudgetBatches(EXAMPLES, 45, pool_batches=3)
MANY_STEPS = replace(CONFIG, steps=24, validate_every=8, clip_norm=0.5)


@pytest.fixture(autouse=True)
def _shapes_are_rounded(monkeypatch: Patch) -> None:
    monkeypatch.setattr(batch_shapes, "MAX_SHAPES_AS_PADDED", 0)


def train_recorded(
    out: Path, model: nn.Module, monkeypatch: Patch, config: TrainingConfig = CONFIG, **options: Any
) -> tuple[TrainingResult, CpuStepRecorder]:
    recorder = CpuStepRecorder()
    monkeypatch.setattr(loop, "make_recorder", lambda _: recorder)
    options = {"batches": FEW_SHAPES, "schedule": rounded_rate} | options
    return run_tiny(out, model, config, cuda_graphs=True, **options), recorder


@pytest.mark.parametrize(
    "precision", [Precision.FLOAT32, pytest.param(Precision.BF16, marks=pytest.mark.weekly)]
)
def test_recorded_steps_are_those_of_the_plain_loop(
    tmp_path: Path, monkeypatch: Patch, precision: Precision
) -> None:
    recorded, plain = transformer(), transformer()
    result, recorder = train_recorded(
        tmp_path / "1", recorded, monkeypatch, MANY_STEPS, precision=precision
    )
    options = {"batches": PaddedBatches(FEW_SHAPES), "schedule": rounded_rate}
    run_tiny(tmp_path / "2", plain, MANY_STEPS, precision=precision, **options)
    assert_same_runs(tmp_path / "1", tmp_path / "2")
    assert same_weights(recorded, plain)
    assert recorder.num_runs + recorder.num_replays == MANY_STEPS.steps
    assert recorder.num_recordings >= 3
    assert recorder.num_replays > recorder.num_recordings
    assert result.positions_per_token is not None
    assert f"{result.positions_per_token:.2f} positions" in str(result)


def test_a_resumed_run_ends_as_one_that_was_not_stopped(tmp_path: Path, monkeypatch: Patch) -> None:
    straight, resumed = Tiny(), Tiny()
    train_recorded(tmp_path / "1", straight, monkeypatch, MANY_STEPS)
    train_recorded(tmp_path / "2", Tiny(), monkeypatch, MANY_STEPS, stop_after=13)
    train_recorded(tmp_path / "2", resumed, monkeypatch, MANY_STEPS, resume=True)
    assert_same_runs(tmp_path / "1", tmp_path / "2")
    assert same_weights(resumed, straight)


def test_a_run_is_resumed_as_it_was_begun(tmp_path: Path, monkeypatch: Patch) -> None:
    train_recorded(tmp_path / "1", Tiny(), monkeypatch, stop_after=3)
    with pytest.raises(UserError, match="cuda_graphs"):
        run_tiny(tmp_path / "1", Tiny(), resume=True, schedule=rounded_rate)
    run_tiny(tmp_path / "2", Tiny(), stop_after=3, schedule=rounded_rate)
    with pytest.raises(UserError, match="cuda_graphs"):
        train_recorded(tmp_path / "2", Tiny(), monkeypatch, resume=True)


def update_overflowing(steps: int, recorder: CpuStepRecorder | None) -> tuple[Any, ...]:
    """Make steps in fp16 of which the first overflow, until the scale was halved often enough.

    Return the scale after each, the norms of the gradients, Adam's step counts and the model.
    """
    model = transformer().train()
    state = new_state(model, CONFIG, Precision.FP16)
    state.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=3)

    def plain_update(batch: Batch, rate: float | Tensor) -> StepStats:
        return update(model, state, batch, CONFIG, rate, Precision.FP16)

    graphed = recorder and GraphedUpdate(plain_update, state, FEW_SHAPES, recorder)
    batch = next(PaddedBatches(FEW_SHAPES).epoch(0))
    rows = np.array(FEW_SHAPES.plan(0)[0])
    torch.manual_seed(11)
    scales, norms = [], []
    for step in range(1, steps + 1):
        rate = rounded_rate(step)
        stats = graphed(rows, rate) if graphed else plain_update(batch, rate)
        scales.append(state.scaler.get_scale())
        norms.append(float(stats.grad_norm))
    counts = {int(values["step"]) for values in state.optimizer.state_dict()["state"].values()}
    return scales, norms, counts, model


def test_what_overflows_in_fp16_is_left_out_by_replays_too() -> None:
    recorder = CpuStepRecorder()
    scales, norms, counts, model = update_overflowing(12, recorder)
    plain_scales, plain_norms, _, plain_model = update_overflowing(12, None)
    assert recorder.num_replays == 11
    assert scales == plain_scales
    np.testing.assert_array_equal(norms, plain_norms)
    assert same_weights(model, plain_model)
    skipped = sum(not np.isfinite(norm) for norm in norms)
    assert 2 <= skipped < 10, "some steps overflow, replayed ones too"
    assert counts == {12 - skipped}


def test_padding_changes_neither_loss_nor_gradient() -> None:
    model = transformer().eval()
    config = TrainingConfig(label_smoothing=0.1)
    for padded, batch in zip(PaddedBatches(DATA).epoch(0), DATA.epoch(0), strict=True):
        gradients, sums = [], []
        for each in (padded, batch):
            model.zero_grad()
            sums.append(batch_loss(model, each, config))
            sums[-1].loss.backward()
            gradients.append(
                torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
            )
        apart = (gradients[0] - gradients[1]).norm() / gradients[1].norm()
        assert apart < 3e-7
        torch.testing.assert_close(sums[0], sums[1], rtol=3e-7, atol=0)
        assert sums[0].tokens == batch.num_tgt_tokens


class WaitsForTheDevice(Tiny):
    """Reads a number on its way."""

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        assert float(src.sum()) > 0
        return super().forward(src, tgt_in)


def test_what_cannot_be_recorded_is_launched_and_said(tmp_path: Path, monkeypatch: Patch) -> None:
    plain = Tiny()
    run_tiny(tmp_path / "plain", plain, batches=PaddedBatches(FEW_SHAPES), schedule=rounded_rate)
    model = WaitsForTheDevice()
    with pytest.warns(UserWarning, match="_local_scalar_dense") as warned:
        _, recorder = train_recorded(tmp_path / "1", model, monkeypatch)
    assert len(warned) == 1
    assert (recorder.num_runs, recorder.num_recordings) == (CONFIG.steps, 0)
    assert same_weights(model, plain)


def test_known_reasons_against_recording(tmp_path: Path, monkeypatch: Patch) -> None:
    plain, hooked = Tiny(), Tiny()
    hooked.output.register_forward_hook(lambda *_: None)
    run_tiny(tmp_path / "plain", plain, batches=FEW_SHAPES, schedule=rounded_rate)
    sgd = partial(SGD, lr=0.0)
    for name, model, options in (
        ("hooks", hooked, {}),
        ("micro-batches", Tiny(), {"micro_tokens": 1000}),
        ("PaddedBatches", Tiny(), {"batches": PaddedBatches(FEW_SHAPES)}),
        ("SGD", Tiny(), {"optimizer": lambda model: sgd(model.parameters())}),
    ):
        with pytest.warns(UserWarning, match=name):
            result, recorder = train_recorded(tmp_path / name, model, monkeypatch, **options)
        assert recorder.num_runs == recorder.num_recordings == 0
        assert result.positions_per_token is None
        if name in ("hooks", "micro-batches"):
            assert same_weights(model, plain)


def test_what_no_graph_can_record_is_noticed() -> None:
    numbers, mask = torch.arange(7.0), torch.arange(7) > 3
    chooser = torch.Generator()
    for step, noticed in (
        (lambda: numbers[numbers.long()], ""),
        (lambda: mask[:, None][None, numbers.long()], ""),
        (lambda: torch.where(mask, numbers, 0.0), ""),
        (lambda: torch.rand(3), ""),
        (lambda: numbers[mask], "index"),
        (lambda: mask.nonzero(), "nonzero"),
        (lambda: numbers.sum().item(), "_local_scalar_dense"),
        (lambda: torch.rand(3, generator=chooser), "generator"),
    ):
        with RecordingObstacles() as obstacles:
            step()
        assert noticed in obstacles.first
        assert bool(obstacles.first) == bool(noticed), obstacles.first


def test_without_a_gpu_the_option_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--cuda-graphs"):
        run_tiny(tmp_path / "run", Tiny(), cuda_graphs=True)
    with pytest.raises(UserError, match="--cuda-graphs"):
        train_recipe(find_recipe("multi30k-de-en"), tmp_path / "run", device=CPU, cuda_graphs=True)
    for device in ("cuda:99", "nowhere"):
        with pytest.raises(UserError, match=device):
            run_tiny(tmp_path / "run", Tiny(), device=device, cuda_graphs=True)
    assert not (tmp_path / "run").exists()


def test_a_recording_that_fails_says_why(monkeypatch: Patch) -> None:
    @contextmanager
    def failing_graph(*_: Any, **__: Any) -> Iterator[None]:
        try:
            yield
        finally:
            raise RuntimeError("the recording ended with an error")

    for name, stand_in in (
        *((name, lambda *_: None) for name in ("Stream", "graph_pool_handle", "CUDAGraph")),
        ("graph", failing_graph),
    ):
        monkeypatch.setattr(torch.cuda, name, stand_in)
    recorder = CudaGraphRecorder(torch.device("cuda"))
    with pytest.raises(UserError, match=r"size 3.*without --cuda-graphs"):
        recorder.record(lambda: Tensor.view(torch.ones(3), 2))
    with pytest.raises(UserError, match="ended with an error"):
        recorder.record(lambda: None)


@pytest.mark.weekly
def test_a_run_says_what_its_padding_cost(
    tmp_path: Path, monkeypatch: Patch, few_sentences: None
) -> None:
    recorder = CpuStepRecorder()
    monkeypatch.setattr(loop, "make_recorder", lambda _: recorder)
    monkeypatch.setattr(recipe, "require_cuda", lambda _: None)
    tiny = find_recipe("demo").override(TINY | {"steps": "3"})
    quiet: dict[str, Any] = dict.fromkeys(("on_begin", "on_report"), lambda _: None)
    options = {"device": CPU, "precision": Precision.FLOAT32, "cuda_graphs": True}
    result = train_recipe(tiny, tmp_path, **options, **quiet)
    assert result.positions_per_token is not None
    assert 1 < result.positions_per_token < 2
    assert read_json(tmp_path / "run.json")["positions_per_token"] == pytest.approx(
        result.positions_per_token, abs=6e-4
    )
