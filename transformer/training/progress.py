"""Where a run stands, what it has to report, and its files, to go on from as if never stopped.

Not in the paper, but for the weights to average (§6.1). What must agree is in one file, so a kill
at any moment leaves a state to go on from.
"""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import Optimizer

from transformer.models import checkpoint
from transformer.models.checkpoint import STATE, load_tensors, load_weights, save_tensors
from transformer.models.folder import MANIFEST, RunFolder
from transformer.models.log import Report, append_log, truncate_log
from transformer.support.errors import UserError
from transformer.support.files import locked, remove_unfinished
from transformer.training import processes
from transformer.training.devices import Precision

DEVICE_STATE = "random/device"  # a GPU's random numbers
MOST_OVERFLOWS = 10  # steps in a row; a `GradScaler` halves its scale after each

Saved = tuple[dict[str, Tensor], dict[str, Any]]  # tensors, and what is said about them


@dataclass(kw_only=True)
class Progress:
    """Where a run stands; losses are in nats."""

    step: int = 0  # updates done
    epoch: int = 0  # place in the data, from 0
    batch: int = 0  # how many batches of the epoch are used up
    best_loss: float | None = None  # lowest validation loss per token; None before the first
    best_step: int | None = None  # the step that it was measured after
    seconds: float = 0.0  # time spent
    window_nll: float = 0.0  # since the last report: the sum of the loss,
    window_tokens: int = 0  # the real target tokens,
    window_seconds: float = 0.0  # and the time spent in updates
    overflows: int = 0  # steps that were left out, in fp16
    overflows_in_a_row: int = 0  # of the last steps


@dataclass
class State:
    """All that a checkpoint holds of a run."""

    model: nn.Module
    optimizer: Optimizer
    scaler: GradScaler  # of the loss, in fp16 (see `devices.Precision`); else it does nothing
    progress: Progress = field(default_factory=Progress)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device


class Meter:
    """Counts a run's losses and seconds, which it keeps up to date in the run's progress.

    A GPU works behind the program, which waits whenever it reads a number. So the numbers of a
    step stay on the device until somebody asks for them.
    """

    def __init__(self, progress: Progress, steps: int, precision: Precision) -> None:
        self.progress, self.steps, self.precision = progress, steps, precision
        self.first_step, self.first_seconds = progress.step, progress.seconds
        self.clock = time.perf_counter() - progress.seconds
        self.unread: list[tuple[int, Tensor, Tensor]] = []  # tokens, sum of the loss, norm
        self.go_on()

    def go_on(self) -> None:
        """Count the time from here on as spent in learning."""
        self.since = time.perf_counter()

    def note(self, tokens: int, nll: Tensor, norm: Tensor) -> None:
        """Take the numbers of a step, which is done; see `loop.update`."""
        self.progress.step += 1
        self.unread.append((tokens, nll, norm))

    def read(self) -> None:
        """Bring the progress up to date.

        Raises:
            UserError: a step's loss or gradient is not finite, or (fp16) too many were left out.
        """
        if self.unread:
            tokens, nlls, norms = zip(*self.unread, strict=True)
            sums = processes.add_up(torch.stack(nlls).tolist())
            steps = zip(tokens, sums, torch.stack(norms).tolist(), strict=True)
            for step, numbers in enumerate(steps, self.progress.step - len(tokens) + 1):
                self._count(step, *numbers)
            self.unread.clear()
        now = time.perf_counter()
        self.progress.window_seconds += now - self.since
        self.progress.seconds, self.since = now - self.clock, now

    def _count(self, step: int, tokens: int, nll: float, norm: float) -> None:
        progress = self.progress
        if math.isfinite(nll):
            progress.window_nll += nll
            progress.window_tokens += tokens
        if math.isfinite(nll + norm):
            progress.overflows_in_a_row = 0
            return
        if self.precision != Precision.FP16:
            raise not_finite(f"step {step}: the loss or its gradient")
        progress.overflows += 1
        progress.overflows_in_a_row += 1
        if progress.overflows_in_a_row >= MOST_OVERFLOWS:
            raise UserError(
                f"step {step}: the {MOST_OVERFLOWS}th in a row to overflow in fp16, and all were "
                "left out; the last checkpoint is unharmed: begin another run with --precision "
                "float32, or with a smaller learning_rate_factor"
            )

    def training_report(self, rate: float) -> Report:
        """Tell of the steps since the last report."""
        progress = self.progress
        loss = progress.window_nll / max(progress.window_tokens, 1)
        speed = progress.window_tokens / progress.window_seconds
        progress.window_nll, progress.window_tokens, progress.window_seconds = 0.0, 0, 0.0
        left_out = f"{progress.overflows} steps left out (overflow)" if progress.overflows else ""
        return self.report("training", loss, rate, speed, left_out)

    def report(
        self, kind: str, loss: float, rate: float, speed: float | None = None, note: str = ""
    ) -> Report:
        """Tell where the run stands; arguments as `Report` has them."""
        progress, now = self.progress, time.perf_counter() - self.clock
        done = max(progress.step - self.first_step, 1)
        return Report(
            kind=kind,
            step=progress.step,
            steps=self.steps,
            epoch=progress.epoch + 1,
            loss=loss,
            learning_rate=rate,
            tokens_per_second=speed,
            seconds=now,
            seconds_left=(now - self.first_seconds) / done * (self.steps - progress.step),
            note=note,
        )


def _identity(folder: Path) -> tuple[int, int] | None:
    """Tell a folder from any other that comes to have its name; None where there is none."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class RunFiles:
    """A run's files. Every process calls these methods; the first alone touches files.

    Args:
        folder: Where they are.
        state: Of the run.
        settings: What was asked for, ready for JSON: `TrainingConfig`'s fields, and more.
    """

    def __init__(self, folder: RunFolder, state: State, settings: dict[str, Any]) -> None:
        self.folder, self.state, self.settings = folder, state, settings

    @contextmanager
    def opened(self, resume: bool) -> Iterator[None]:
        """Hold the folder, and bring the state to where the run in it stands, if there is one.

        Raises:
            UserError: the folder is in use, or holds a run that cannot be gone on with so.
        """
        with ExitStack() as held:
            saved = processes.from_first(lambda: self._read(held, resume))
            if saved is not None:
                restore(saved, self.state, self.folder.last)
            else:
                torch.manual_seed(self.settings["seed"])
            done, steps = self.state.progress.step, self.settings["steps"]
            if done > steps:
                raise UserError(
                    f"{self.folder.out} has done {done} steps already and cannot end at {steps}: "
                    f"give {done} steps or more"
                )
            if processes.rank() == 0:
                self.identity = _identity(self.folder.out)
                self._tidy()
                if saved is None:
                    self.save()
            yield

    def _read(self, held: ExitStack, resume: bool) -> Saved | None:
        """Take hold of the folder and read the last checkpoint in it, if there is one."""
        held.enter_context(locked(self.folder.out))
        self.folder.check(resume)
        last = self.folder.last
        return load_state(last, self.settings) if last.exists() else None

    def _tidy(self) -> None:
        """Undo what a killed run did after its last checkpoint: it comes again."""
        self._save_best()  # where a kill came before that
        for each in (self.folder.out, self.folder.last.parent):
            remove_unfinished(each)
        truncate_log(self.folder.log, self.state.progress.step, self._validated_step())
        self._drop_step_files()

    def _validated_step(self) -> int:
        """Give the last step after which a run of any length has been validated."""
        return self.state.progress.step - self.state.progress.step % self.settings["validate_every"]

    def check_place(self) -> None:
        """See that the folder is still the one that the run has held from its beginning.

        Raises:
            UserError: it was moved, removed or replaced; nothing is written to its name.
        """
        if _identity(self.folder.out) != self.identity:
            raise UserError(
                f"{self.folder.out} was moved, removed or replaced while the run wrote to it: "
                "where its folder is now, --resume goes on from the last checkpoint in it"
            )

    def log(self, report: Report) -> Report:
        """Add a report to the log, and give it back."""
        if processes.rank() == 0:
            self.check_place()
            append_log(self.folder.log, report)
        return report

    def validated(self, report: Report) -> Report:
        """Take the loss of a validation: log it, and keep the weights to average.

        It counts towards the best where a run of any length has it: not at an end between two.

        Raises:
            UserError: it is not finite.
        """
        progress, loss = self.state.progress, report.loss
        if not math.isfinite(loss):
            raise not_finite(f"step {progress.step}: the validation loss")
        gain = progress.best_loss is None or loss < progress.best_loss
        if self.settings["average_last"] > 1:
            self.save_weights(self.folder.step_file(progress.step), step=progress.step, loss=loss)
        if gain and progress.step == self._validated_step():
            progress.best_loss, progress.best_step = loss, progress.step
        return self.log(replace(report, note="best so far" if gain else ""))

    def save(self) -> None:
        """Write the state to resume from, then the weights that it says are the best."""
        if processes.rank() == 0:
            self.check_place()
            save_state(self.folder.last, self.state, self.settings)
            self._save_best()
            self._drop_step_files()

    def _save_best(self) -> None:
        progress = self.state.progress
        if progress.best_step == progress.step:
            self.save_weights(self.folder.best, step=progress.step, loss=progress.best_loss)

    def save_weights(self, path: Path, **about: Any) -> None:
        """Write the weights as they are, and what is to be known about them."""
        if processes.rank() == 0:
            self.check_place()
            save_tensors(path, checkpoint.weights(self.state.model), **about)

    def _drop_step_files(self) -> None:
        """Leave the weights of the newest validations that the state knows of."""
        newest = self.settings["average_last"]
        self.folder.drop_step_files(newest=newest, up_to=self._validated_step())

    def averaged(self) -> dict[str, Tensor]:
        """Give the mean of the last validations' weights (§6.1); {} of less than two."""
        paths = self.folder.step_files()[-self.settings["average_last"] :]
        return processes.from_first(lambda: checkpoint.average(paths) if len(paths) > 1 else {})

    def best(self) -> dict[str, Tensor]:
        """Give the weights of the lowest validation loss."""
        return processes.from_first(lambda: load_tensors(self.folder.best)[0])

    def finish(self, loss: float, kept: str) -> None:
        """Write the final weights, and where they are from."""
        if processes.rank() == 0:
            (self.folder.out / MANIFEST).unlink(missing_ok=True)  # of a shorter run
        self.save_weights(self.folder.model, step=self.state.progress.step, loss=loss, kept=kept)


def save_state(path: Path, state: State, settings: Mapping[str, Any]) -> None:
    """Write all that a run needs to go on; the file of before is unharmed until it is whole."""
    tensors = {f"model/{name}": each for name, each in checkpoint.weights(state.model).items()}
    for index, moments in state.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{index}/{key}": value for key, value in moments.items()}
    tensors[STATE] = torch.get_rng_state()
    if state.device.type == "cuda":
        tensors[DEVICE_STATE] = torch.cuda.get_rng_state(state.device)
    about = {"progress": vars(state.progress), "scaler": state.scaler.state_dict()}
    save_tensors(path, tensors, **about, settings=settings)


def load_state(path: Path, settings: Mapping[str, Any]) -> Saved:
    """Read what `save_state` wrote, for `restore`; only `steps` may differ from the settings then.

    Raises:
        UserError: the file is damaged, or the run was begun with other settings (the first is
            named).
    """
    tensors, about = load_tensors(path)
    require_same(about["settings"], settings)
    return tensors, about


def restore(saved: Saved, state: State, source: Path) -> None:
    """Put a state, its parts made as those that were saved, where `save_state` found the other.

    Raises:
        UserError: what was saved, in the file `source`, is another model's.
    """
    tensors, about = saved
    own: dict[str, Tensor] = {}
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        part, _, rest = name.partition("/")
        if part == "model":
            own[rest] = tensor
        elif part == "optimizer":
            index, key = rest.split("/")
            moments.setdefault(int(index), {})[key] = tensor
    load_weights(state.model, own, source)
    state.optimizer.load_state_dict(state.optimizer.state_dict() | {"state": moments})
    state.scaler.load_state_dict(about["scaler"])
    state.progress.__dict__.update(about["progress"])
    torch.set_rng_state(tensors[STATE])
    if state.device.type == "cuda" and DEVICE_STATE in tensors:
        torch.cuda.set_rng_state(tensors[DEVICE_STATE], state.device)


def require_same(saved: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse to go on with other settings (of any depth) than those begun with, but for `steps`."""
    for key in dict.fromkeys([*saved, *given]):
        before, now = saved.get(key), given.get(key)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            require_same(before, now)
        elif before != now and key != "steps":
            raise UserError(
                f"the run was begun with {key}={before} and cannot go on with {key}={now}: "
                f"give {key}={before}, or begin in another folder"
            )


def not_finite(what: str) -> UserError:
    """Refuse to go on with a run that has gone astray."""
    return UserError(
        f"{what} is not finite; the last good checkpoint, checkpoints/last.safetensors, is "
        "unharmed; begin another run with a smaller learning_rate_factor, more warmup_steps or "
        "clip_norm=1"
    )
