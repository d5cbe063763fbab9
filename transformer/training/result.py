"""How a run ends: with the best weights or an average of the last ones (§6.1), and a line of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from transformer.data.batch_shapes import PaddingCount
from transformer.models import folder
from transformer.models.weights import average_weights, load_tensors, load_weights, model_weights
from transformer.training import processes
from transformer.training.report import Report, format_duration
from transformer.training.run import Run


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """How a run ended; `str` says it in a line. Losses are in nats per token."""

    step: int  # updates done
    epoch: int  # of the last update, from 1
    seconds: float  # time spent, all resumed parts together
    out: Path  # the run's folder
    best_loss: float | None  # lowest validation loss of any checkpoint; None before the first
    final_loss: float | None = None  # of model.safetensors; None if interrupted: resume to go on
    final_from: str = ""  # whose weights these are: "best" or "average"; "" if interrupted
    # With CUDA graphs: positions computed for each real token in the steps since it was begun or
    # resumed, padding included; None without.
    positions_per_token: float | None = None

    @property
    def interrupted(self) -> bool:
        """Whether the run stopped before its end."""
        return self.final_loss is None

    def __str__(self) -> str:
        if self.final_loss is None:
            return f"stopped after step {self.step}: all is kept in {self.out}, resume to go on"
        weights = "the best checkpoint" if self.final_from == "best" else "the average"
        padding = ""
        if self.positions_per_token is not None:
            padding = f"; {self.positions_per_token:.2f} positions computed for each token"
        return (
            f"done in {format_duration(self.seconds)}, {self.step} steps: {weights} is kept as "
            f"{self.out / folder.WEIGHTS}, validation loss {self.final_loss:.3f}{padding}"
        )


def finish_run(
    run: Run,
    measure_loss: Callable[[], float],
    on_report: Callable[[Report], None],
    padding: PaddingCount | None = None,
) -> TrainingResult:
    """Save the run, and if all its steps are done, the weights that it ends with.

    `padding` is what padding has cost, if it was counted.
    """
    progress = run.progress
    ended = progress.step == run.settings["steps"]
    # After a validation, all is saved already.
    if progress.step % run.settings["validate_every"] != 0:
        run.save()
        if ended:
            # The checkpoint does not know of this validation: a longer run has none here.
            on_report(run.validate(measure_loss))
    final_loss: float | None = None
    final_from = ""
    if ended:
        run.forget_removed_weights()
        if progress.best_loss is None:
            on_report(run.validate(measure_loss))
        final_loss, final_from = _save_best_or_averaged_weights(run, measure_loss)
    return TrainingResult(
        step=progress.step,
        epoch=progress.epoch + 1,
        seconds=progress.seconds,
        out=run.out,
        best_loss=progress.best_loss,
        final_loss=final_loss,
        final_from=final_from,
        positions_per_token=padding.positions_per_token if padding else None,
    )


def _save_best_or_averaged_weights(
    run: Run, measure_loss: Callable[[], float]
) -> tuple[float, str]:
    """Save the best weights or the average, whichever has the lower loss (§6.1).

    Returns:
        Their validation loss, and which they are: "best" or "average".
    """
    progress, model = run.progress, run.state.model
    assert progress.best_loss is not None, "a run ends with a validation"
    best = {name: tensor.clone() for name, tensor in model_weights(model).items()}
    if progress.best_step != progress.step:
        best = processes.run_on_rank_zero(lambda: load_tensors(run.out / folder.BEST)[0])
    loss, source = progress.best_loss, "best"
    if len(progress.to_average) > 1:
        paths = [folder.step_weights_path(run.out, step) for step in progress.to_average]
        average = processes.run_on_rank_zero(lambda: average_weights(paths))
        load_weights(model, average, run.out)
        average_loss = measure_loss()
        if average_loss < loss:
            loss, source = average_loss, "average"
    if source == "best":
        load_weights(model, best, run.out)
    run.save_final_weights(loss, source)
    return loss, source
