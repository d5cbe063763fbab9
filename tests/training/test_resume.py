"""A run that was stopped or killed at any moment goes on as if nothing had happened."""

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.helpers.tiny_training import (
    CONFIG,
    DATA,
    HELD_OUT,
    Tiny,
    assert_same_runs,
    log_without_times,
    run_tiny,
    same_weights,
    transformer,
)
from transformer.config import PAD_ID
from transformer.data.batches import (
    Batch,
)
from transformer.support.errors import UserError
from transformer.training import loop
from transformer.training.checkpoint import TrainingState
from transformer.training.devices import Precision
from transformer.training.model_loss import validation_loss
from transformer.training.report import Report

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize(
    ("make", "stop_after", "precision"),
    [
        *((Tiny, step, Precision.FLOAT32) for step in (1, 5, 6, 11)),
        *((transformer, 5, each) for each in (Precision.FLOAT32, Precision.BF16, Precision.FP16)),
    ],
)
def test_stopped_and_resumed_equals_straight_through(
    tmp_path: Path, make: Any, stop_after: int, precision: Precision
) -> None:
    config = replace(CONFIG, steps=24, clip_norm=1.0)
    options: dict[str, Any] = {"precision": precision, "micro_tokens": 30}
    straight, stopped, resumed = make(), make().eval(), make()  # training sets the mode
    whole = run_tiny(tmp_path / "1", straight, config, **options)
    part = run_tiny(tmp_path / "2", stopped, config, stop_after=stop_after, **options)
    assert (part.step, part.interrupted, part.final_loss) == (stop_after, True, None)
    assert not (tmp_path / "2" / "model.safetensors").exists()
    torch.rand(5)  # whatever happens in between
    result = run_tiny(tmp_path / "2", resumed, config, resume=True, **options)
    assert (result.final_loss, result.epoch) == (whole.final_loss, whole.epoch)
    assert whole.epoch > 2, "the runs should go through more than one epoch"
    assert_same_runs(tmp_path / "1", tmp_path / "2")
    assert same_weights(straight, resumed)


@pytest.mark.slow
@pytest.mark.parametrize("average_last", [1, 2])
def test_killed_at_any_write_and_resumed_equals_straight_through(
    tmp_path: Path, monkeypatch: Patch, average_last: int
) -> None:
    replace_file, config = os.replace, replace(CONFIG, average_last=average_last)
    run_tiny(tmp_path / "straight", Tiny(), config)
    writes = [0]
    for kill_at in range(1, 30):
        out, writes[0] = tmp_path / f"{kill_at}", 0

        def die_at(*paths: Path, at: int = kill_at) -> None:
            writes[0] += 1
            if writes[0] == at:
                raise KeyboardInterrupt
            replace_file(*paths)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", die_at)
            try:
                run_tiny(out, Tiny(), config)
                break
            except KeyboardInterrupt:
                pass
        run_tiny(out, Tiny(), config, resume=True)
        assert_same_runs(tmp_path / "straight", out)
    assert kill_at > 10


@pytest.mark.usefixtures("default_handler")
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_keeps_everything_and_a_second_one_harms_nothing(tmp_path: Path, times: int) -> None:
    def press(report: Report) -> None:
        if report.step == 4:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    run_tiny(tmp_path / "1", Tiny())
    with nullcontext() if times == 1 else pytest.raises(KeyboardInterrupt):
        part = run_tiny(tmp_path / "2", Tiny(), on_report=press)
        assert (part.step, part.interrupted) == (4, True)
    run_tiny(tmp_path / "2", Tiny(), resume=True)
    assert_same_runs(tmp_path / "1", tmp_path / "2")


@pytest.mark.parametrize("average_last", [1, 3])
def test_a_run_made_longer_is_one_that_was_so_long_from_the_beginning(
    tmp_path: Path, average_last: int
) -> None:
    # The first run validates at 3, 6, 9 and at its end, which the longer run may pass by.
    config = replace(CONFIG, average_last=average_last)
    for first, longer in ((10, 13), (11, 12), (12, 15)):
        one, two = tmp_path / f"{longer}", tmp_path / f"{first} to {longer}"
        whole = run_tiny(one, Tiny(), replace(config, steps=longer))
        run_tiny(two, Tiny(), replace(config, steps=first))
        result = run_tiny(two, Tiny(), replace(config, steps=longer), resume=True)
        assert replace(result, seconds=0, out=one) == replace(whole, seconds=0)
        assert_same_runs(one, two)


def test_an_end_between_validations_that_is_the_best_is_kept_and_then_forgotten(
    tmp_path: Path,
) -> None:
    # After step 4 all is unlearned: it has the lowest loss of all.
    config = replace(CONFIG, steps=4, learning_rate_factor=2.0, average_last=1)
    model = Tiny()
    short = run_tiny(tmp_path / "2", model, config)
    losses = {line["step"]: line["loss"] for line in log_without_times(tmp_path / "2")}
    assert short.final_loss == short.best_loss == losses[4] < losses[3]
    assert validation_loss(model, HELD_OUT) == pytest.approx(losses[4], abs=1e-9)

    class Worse:
        """The data, with targets from the fifth batch on that are never right."""

        def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
            for place, batch in enumerate(DATA.epoch(number, start), start):
                wrong = batch.tgt_out.where(batch.tgt_out == PAD_ID, 1)
                yield Batch(batch.src, batch.tgt_in, wrong if place > 3 else batch.tgt_out)

    longer = replace(config, steps=12)
    whole = run_tiny(tmp_path / "1", Tiny(), longer, batches=Worse())
    result = run_tiny(tmp_path / "2", Tiny(), longer, batches=Worse(), resume=True)
    assert (result.best_loss, result.final_loss) == (whole.best_loss, whole.final_loss)
    assert_same_runs(tmp_path / "1", tmp_path / "2")


@pytest.mark.parametrize("steps", [2, 5, 12])  # before the first validation, after it, at one
def test_resuming_with_the_steps_that_are_done_ends_the_run(tmp_path: Path, steps: int) -> None:
    config = replace(CONFIG, steps=steps, average_last=1)
    run_tiny(tmp_path / "1", Tiny(), config)
    run_tiny(tmp_path / "2", Tiny(), replace(config, steps=13), stop_after=steps)
    with pytest.raises(UserError, match=f"give {steps} steps or more"):
        run_tiny(tmp_path / "2", Tiny(), replace(config, steps=1), resume=True)
    for _ in range(2):  # the second time nothing is left to do
        result = run_tiny(tmp_path / "2", Tiny(), config, resume=True)
        assert (result.step, result.interrupted) == (steps, False)
        assert_same_runs(tmp_path / "1", tmp_path / "2")


def test_a_state_is_saved_every_few_minutes(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(loop, "MAX_SECONDS_BETWEEN_SAVES", -1.0)
    steps: list[int] = []
    save = TrainingState.save

    def count(state: TrainingState, *where: Any) -> None:
        steps.append(state.progress.step)
        save(state, *where)

    run_tiny(tmp_path / "1", Tiny())
    monkeypatch.setattr(TrainingState, "save", count)
    run_tiny(tmp_path / "2", Tiny())
    assert set(range(12)) <= set(steps)
    assert_same_runs(tmp_path / "1", tmp_path / "2")


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: Patch) -> None:
    def fail(source: Path, target: Path) -> None:
        if target.name == "last.safetensors":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace_file(source, target)

    replace_file = os.replace
    run_tiny(tmp_path / "1", Tiny())
    run_tiny(tmp_path / "2", Tiny(), stop_after=4)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(UserError, match=r"cannot save .*No space left.* is unharmed"):
            run_tiny(tmp_path / "2", Tiny(), resume=True)
    left = tmp_path / "2" / "checkpoints" / ".last.safetensors.5f1c.tmp"
    left.write_bytes(b"half")  # of a kill while it was written
    run_tiny(tmp_path / "2", Tiny(), resume=True)
    assert not left.exists()
    assert_same_runs(tmp_path / "1", tmp_path / "2")
