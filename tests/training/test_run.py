"""A run in its folder: what it reports, and what it refuses to go on with or to overwrite."""

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.tiny_training import (
    CONFIG,
    DATA,
    EXAMPLES,
    HELD_OUT,
    Tiny,
    assert_same_runs,
    file_contents,
    log_without_times,
    run_tiny,
    with_bad_steps,
)
from transformer.data.batches import Batch
from transformer.data.token_budget import TokenBudgetBatches
from transformer.models.folder import LAST, LOG, WEIGHTS
from transformer.models.weights import load_tensors, load_weights
from transformer.support.errors import UserError
from transformer.training import run
from transformer.training.checkpoint import TrainingState
from transformer.training.model_loss import validation_loss
from transformer.training.report import UNLOGGED_REPORT_FIELDS, Report, read_log

Patch = pytest.MonkeyPatch


def test_reports_reach_the_reader_and_the_log(tmp_path: Path) -> None:
    reports: list[Report] = []
    run_tiny(tmp_path, Tiny(), on_report=reports.append)
    assert [(r.kind, r.step) for r in reports] == [
        ("training", 2), ("validation", 3), ("training", 4), ("training", 6), ("validation", 6),
        ("training", 8), ("validation", 9), ("training", 10), ("training", 12), ("validation", 12),
    ]  # fmt: skip
    told_of = [
        {k: v for k, v in vars(r).items() if k not in UNLOGGED_REPORT_FIELDS} for r in reports
    ]
    assert told_of == read_log(tmp_path / "log.jsonl")
    assert reports[-1].seconds_left == 0
    assert all(r.seconds_left > 0 for r in reports[:-2])


def test_the_time_left_is_told_early_and_a_resumed_run_tells_it_anew(tmp_path: Path) -> None:
    """The early report is in no log, and the next regular one is of all steps since the last."""
    config = replace(CONFIG, steps=28, report_every=11, validate_every=28, average_last=1)
    parts: list[list[Report]] = [[], []]
    run_tiny(tmp_path / "1", Tiny(), config, stop_after=13, on_report=parts[0].append)
    run_tiny(tmp_path / "1", Tiny(), config, resume=True, on_report=parts[1].append)
    steps = [[report.step for report in reports] for reports in parts]
    assert steps == [[5, 11], [18, 22, 28]]
    assert parts[0][0].seconds_left > 0
    assert [record["step"] for record in read_log(tmp_path / "1" / LOG)] == [11, 22, 28]
    run_tiny(tmp_path / "2", Tiny(), replace(config, report_every=1))
    every = [record for record in read_log(tmp_path / "2" / LOG) if record["kind"] == "training"]
    batches = [batch for epoch in range(11) for batch in DATA.epoch(epoch)]
    tokens = [batch.num_tgt_tokens for batch in batches[:11]]
    losses = [record["loss"] * count for record, count in zip(every, tokens, strict=False)]
    assert parts[0][1].loss == pytest.approx(sum(losses) / sum(tokens), rel=1e-5)


def test_no_early_report_follows_a_regular_one(tmp_path: Path) -> None:
    config = replace(CONFIG, steps=15, report_every=11, validate_every=15, average_last=1)
    reports: list[Report] = []
    run_tiny(tmp_path, Tiny(), config, stop_after=8)
    run_tiny(tmp_path, Tiny(), config, resume=True, on_report=reports.append)
    assert [report.step for report in reports] == [11, 15]


def test_speed_is_of_learning_alone(tmp_path: Path, monkeypatch: Patch) -> None:
    taken: list[float] = []

    def slow_save(*arguments: Any, **options: Any) -> None:
        taken.append(1000.0)
        save_state(*arguments, **options)

    save_state = TrainingState.save
    monkeypatch.setattr(TrainingState, "save", slow_save)
    monkeypatch.setattr(run, "time", SimpleNamespace(perf_counter=lambda: sum(taken)))
    model = Tiny()
    model.register_forward_hook(lambda *_: taken.append(1.0 if model.training else 100.0))
    speeds: dict[int, float | None] = {}
    config = replace(CONFIG, steps=6, report_every=1)
    run_tiny(
        tmp_path, model, config, on_report=lambda r: speeds.setdefault(r.step, r.tokens_per_second)
    )
    tokens = [batch.num_tgt_tokens for _, batch in zip(range(6), DATA.epoch(0), strict=False)]
    assert list(speeds.values()) == [pytest.approx(count) for count in tokens]


def test_training_loss_is_of_the_steps_since_the_last_report(tmp_path: Path) -> None:
    config = replace(CONFIG, steps=2, average_last=1, learning_rate_factor=1e-9)
    run_tiny(tmp_path, Tiny(dropout=0), config)  # weights that all but stand still
    batches = [batch for _, batch in zip(range(2), DATA.epoch(0), strict=False)]
    assert log_without_times(tmp_path)[0]["loss"] == pytest.approx(
        validation_loss(Tiny(), batches), abs=1e-5
    )


@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_a_step_that_is_not_finite_stops_the_run_and_is_never_saved(
    tmp_path: Path, where: str
) -> None:
    run_tiny(tmp_path / "straight", Tiny())
    for report_every in (2, 100):  # seen at a report, or at a checkpoint
        out, config = tmp_path / str(report_every), replace(CONFIG, report_every=report_every)
        with pytest.raises(UserError, match=r"step 7: the loss .*last\.safetensors, is unharmed"):
            run_tiny(out, with_bad_steps(Tiny(), range(7, 8), where), config)
        assert load_tensors(out / LAST)[1]["progress"]["step"] == 6
    run_tiny(tmp_path / "2", Tiny(), resume=True)  # the fault was in the machine, say
    assert_same_runs(tmp_path / "straight", tmp_path / "2")


def test_a_run_is_not_overwritten_or_gone_on_with_as_another(tmp_path: Path) -> None:
    run_tiny(tmp_path, Tiny(), stop_after=4)
    before = file_contents(tmp_path)
    with pytest.raises(UserError, match="holds a run already: go on with it"):
        run_tiny(tmp_path, Tiny())
    with pytest.raises(UserError, match=r"label_smoothing=0\.1 and cannot go on with .*=0\.2"):
        run_tiny(tmp_path, Tiny(), replace(CONFIG, label_smoothing=0.2), resume=True)
    with pytest.raises(UserError, match=r"does not fit this model: .* has shape"):
        run_tiny(tmp_path, Tiny(size=17), resume=True)
    assert file_contents(tmp_path) == before
    run_tiny(tmp_path, Tiny(), resume=True)
    (tmp_path / LAST).unlink()
    before = file_contents(tmp_path)
    for resume in (True, False):  # weights without their last checkpoint
        with pytest.raises(UserError, match="--start-from"):
            run_tiny(tmp_path, Tiny(), resume=resume)
    assert file_contents(tmp_path) == before


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    other = Tiny()

    def second_run(report: Report) -> None:
        with ThreadPoolExecutor() as pool:
            begun = pool.submit(run_tiny, tmp_path / "2", other, resume=True)
        with pytest.raises(UserError, match="is in use by another run: wait"):
            begun.result()

    run_tiny(tmp_path / "1", Tiny())
    run_tiny(tmp_path / "2", Tiny(), on_report=second_run)
    assert_same_runs(tmp_path / "1", tmp_path / "2")


@pytest.mark.parametrize("removed_after", [6, 9, 12])
@pytest.mark.parametrize("names", ["*", "best*", "step*", "last*"])
def test_a_run_whose_checkpoints_are_removed_ends_and_can_be_resumed(
    names: str, removed_after: int, tmp_path: Path
) -> None:
    """The learning rate makes validation losses rise, so that the best is an early one."""

    def remove(report: Report) -> None:
        if report.kind == "validation" and report.step == removed_after and not removed:
            removed.extend((tmp_path / "checkpoints").glob(names))
            for path in removed:
                path.unlink()

    removed: list[Path] = []
    rising = replace(CONFIG, learning_rate=None, learning_rate_factor=30.0, average_last=3)
    lost = names in ("*", "step*") or (names == "best*" and removed_after > 3)
    with pytest.warns(UserWarning, match="were removed: the run ends") if lost else nullcontext():
        ended = run_tiny(tmp_path, Tiny(), rising, on_report=remove)
    assert ended.step == 12
    tensors, about = load_tensors(tmp_path / WEIGHTS)
    model = Tiny()
    load_weights(model, tensors, tmp_path / WEIGHTS)
    assert about["loss"] == ended.final_loss
    assert validation_loss(model.eval(), HELD_OUT) == pytest.approx(ended.final_loss)
    # What was removed at the very end is missed again: the last checkpoint is older.
    with warnings.catch_warnings(action="ignore"):
        longer = run_tiny(tmp_path, Tiny(), replace(rising, steps=15), resume=True)
    assert (longer.step, read_log(tmp_path / LOG)[-1]["step"]) == (15, 15)


def test_a_run_without_the_checkpoint_to_resume_from_does_not_begin_anew(tmp_path: Path) -> None:
    run_tiny(tmp_path, Tiny(), stop_after=4)
    for path in (tmp_path / "checkpoints").iterdir():
        path.unlink()
    log = (tmp_path / LOG).read_bytes()
    with pytest.raises(
        UserError, match=r"has no checkpoints/last\.safetensors, which --resume goes"
    ):
        run_tiny(tmp_path, Tiny(), resume=True)
    assert (tmp_path / LOG).read_bytes() == log


def test_no_data(tmp_path: Path) -> None:
    class NoBatches(TokenBudgetBatches):
        def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
            return iter(())

    with pytest.raises(UserError, match="epoch 0 has no batches"):
        run_tiny(tmp_path / "1", Tiny(), batches=NoBatches(EXAMPLES, 60))
    with pytest.raises(UserError, match="no validation tokens"):
        run_tiny(tmp_path / "2", Tiny(), validation_batches=[])
