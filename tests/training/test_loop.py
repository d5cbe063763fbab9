import contextlib
import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from tests.helpers import ROOT
from transformer.config import PAD_ID, Decay, ModelConfig, TrainingConfig
from transformer.data.batches import Batch, Example, TokenBudgetBatches
from transformer.model import Transformer
from transformer.models.checkpoint import load_tensors, save_tensors
from transformer.models.folder import RunFolder
from transformer.models.log import Report, TrainingResult, read_log
from transformer.support.errors import UserError
from transformer.training import run as run_module
from transformer.training.loop import train
from transformer.training.loss import validation_loss
from transformer.training.schedule import learning_rate, linear_decay_rate

VOCAB, D_MODEL = 23, 16
CONFIG = TrainingConfig(
    steps=12,
    batch_tokens=60,
    warmup_steps=5,
    report_every=2,
    validate_every=3,
    average_last=2,
)
CHANCE = random.Random(7)
SOURCES = [[CHANCE.randrange(4, VOCAB) for _ in range(CHANCE.randrange(2, 9))] for _ in range(70)]
EXAMPLES = [Example(src, src[::-1]) for src in SOURCES]
DATA = TokenBudgetBatches(EXAMPLES[13:], 60, pool_batches=3)
HELD_OUT = list(TokenBudgetBatches(EXAMPLES[:13], 60).epoch(0))


class Tiny(nn.Module):
    """The next token from the last one and the mean of the source, with tied weights."""

    def __init__(self, dropout: float = 0.3, size: int = D_MODEL) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.embedding = nn.Embedding(VOCAB, size)
        self.dropout = nn.Dropout(dropout)
        self.mix = nn.Linear(2 * size, size)
        self.output = nn.Linear(size, VOCAB, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        source = self.embedding(src).mean(1, keepdim=True).expand(-1, tgt_in.size(1), -1)
        both = torch.cat([self.embedding(tgt_in), source], dim=-1)
        logits: Tensor = self.output(self.dropout(self.mix(both)))
        return logits


class Forever:
    """The same few batches, epoch after epoch."""

    def __init__(self, *batches: Batch) -> None:
        self.batches = batches

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        return iter(self.batches[start:])


def transformer() -> Transformer:
    torch.manual_seed(3)
    shape = ModelConfig(d_model=D_MODEL, d_ff=19, num_heads=2, num_layers=1)
    return Transformer(shape, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB)


def quiet(report: Report) -> None:
    pass


def go(
    out: Path, model: nn.Module, config: TrainingConfig = CONFIG, **options: Any
) -> TrainingResult:
    arguments = {"batches": DATA, "validation_batches": HELD_OUT, "on_report": quiet} | options
    return train(model, config, out=out, d_model=D_MODEL, **arguments)


def same_weights(one: nn.Module, two: nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), two.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def all_are_finite(out: Path) -> None:
    """Hold every number that a run has saved to be one."""
    for path in out.rglob("*.safetensors"):
        tensors, _ = load_tensors(path)
        assert all(torch.isfinite(tensor).all() for tensor in tensors.values()), path


def same_files(one: Path, two: Path) -> None:
    """Hold the weights and states of two runs to be the same, file by file."""
    names = [sorted(p.relative_to(out) for p in out.rglob("*.safetensors")) for out in (one, two)]
    assert names[0] == names[1]
    for name in names[0]:
        (first, about), (second, about_too) = load_tensors(one / name), load_tensors(two / name)
        assert first.keys() == second.keys(), name
        assert all(torch.equal(first[key], second[key]) for key in first), name
        assert about.get("loss") == about_too.get("loss"), name


def told(out: Path) -> list[dict[str, Any]]:
    """The log without its times."""
    timing = ("seconds", "tokens_per_second")
    return [
        {key: value for key, value in line.items() if key not in timing}
        for line in read_log(out / "log.jsonl")
    ]


def test_it_learns(tmp_path: Path) -> None:
    model, config = Tiny(), replace(CONFIG, steps=60, validate_every=30)
    before = validation_loss(model, HELD_OUT)
    result = go(tmp_path, model, config)
    assert result.final_loss is not None
    assert result.final_loss < before - 0.3
    assert (result.step, result.interrupted) == (60, False)


@pytest.mark.parametrize("rate", [None, 0.003])
def test_equals_a_plain_loop_of_torch(tmp_path: Path, rate: float | None) -> None:
    # Independent of our loss and optimizer: torch's Adam and cross-entropy, three steps.
    config = replace(CONFIG, steps=3, average_last=1, label_smoothing=0.1, learning_rate=rate)
    ours, plain = Tiny(dropout=0), Tiny(dropout=0)
    go(tmp_path, ours, config)
    adam = torch.optim.Adam(plain.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
    for step, batch in zip((1, 2, 3), DATA.epoch(0), strict=False):
        logits = plain(batch.src, batch.tgt_in).flatten(0, 1)
        targets = batch.tgt_out.flatten()
        adam.zero_grad()
        F.cross_entropy(logits, targets, ignore_index=PAD_ID, label_smoothing=0.1).backward()
        adam.param_groups[0]["lr"] = rate or learning_rate(step, D_MODEL, 5)
        adam.step()
    for name, tensor in plain.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], tensor, msg=name)


def test_two_halves_accumulated_equal_the_whole(tmp_path: Path) -> None:
    # Halves of 3 and 8 tokens: the mean of two means would be another gradient.
    whole = Batch(
        src=torch.tensor([[5, 6, 3], [7, 3, 0]]),
        tgt_in=torch.tensor([[2, 8, 9, 4, 5, 6, 7, 11], [2, 9, 10, 0, 0, 0, 0, 0]]),
        tgt_out=torch.tensor([[8, 9, 4, 5, 6, 7, 11, 3], [9, 10, 3, 0, 0, 0, 0, 0]]),
    )
    first, second = (
        Batch(whole.src[:1], whole.tgt_in[:1], whole.tgt_out[:1]),
        Batch(whole.src[1:], whole.tgt_in[1:], whole.tgt_out[1:]),
    )
    # A large epsilon keeps Adam's step in proportion to the gradient.
    config = replace(CONFIG, steps=2, average_last=1, epsilon=1.0)
    at_once, halved = Tiny(dropout=0), Tiny(dropout=0)
    go(tmp_path / "1", at_once, config, batches=Forever(whole))
    go(tmp_path / "2", halved, replace(config, accumulate=2), batches=Forever(first, second))
    assert not same_weights(at_once, Tiny())
    for name, tensor in at_once.state_dict().items():
        torch.testing.assert_close(halved.state_dict()[name], tensor, msg=name)


@pytest.mark.parametrize("limit", [0.01, 0.0])
def test_clipping_limits_the_norm_of_the_whole_gradient(tmp_path: Path, limit: float) -> None:
    model = Tiny()
    go(tmp_path, model, replace(CONFIG, clip_norm=limit), stop_after=1)
    norm = (
        sum(float(p.grad.square().sum()) for p in model.parameters() if p.grad is not None) ** 0.5
    )
    assert norm == pytest.approx(0.01, rel=1e-3) if limit else norm > 0.1


def test_the_rate_follows_the_schedule(tmp_path: Path) -> None:
    go(tmp_path, Tiny(), replace(CONFIG, report_every=1, learning_rate_factor=0.5))
    rates = {line["step"]: line["learning_rate"] for line in told(tmp_path)}
    assert rates == {step: learning_rate(step, D_MODEL, 5, 0.5) for step in range(1, 13)}


LINEAR = replace(CONFIG, decay=Decay.LINEAR, report_every=1)


def test_the_rate_may_fall_in_a_line(tmp_path: Path) -> None:
    straight, resumed = Tiny(), Tiny()
    go(tmp_path / "1", straight, LINEAR)
    rates = {line["step"]: line["learning_rate"] for line in told(tmp_path / "1")}
    assert rates == {step: linear_decay_rate(step, 12, D_MODEL, 5) for step in range(1, 13)}
    assert (rates[5], rates[12]) == (learning_rate(5, D_MODEL, 5), 0)
    go(tmp_path / "2", Tiny(), LINEAR, stop_after=7)
    go(tmp_path / "2", resumed, LINEAR, resume=True)
    assert same_weights(straight, resumed)
    assert told(tmp_path / "1") == told(tmp_path / "2")


def test_a_line_is_not_made_longer(tmp_path: Path) -> None:
    go(tmp_path, Tiny(), LINEAR, stop_after=7)
    with pytest.raises(UserError, match="begun with steps=12 and cannot go on with steps=18"):
        go(tmp_path, Tiny(), replace(LINEAR, steps=18), resume=True)
    with pytest.raises(UserError, match="decay=linear and cannot go on with decay=inverse_sqrt"):
        go(tmp_path, Tiny(), replace(CONFIG, report_every=1), resume=True)


def finished_and_stopped(folder: Path) -> tuple[Tiny, Path]:
    """Train to the end in "1", and stop in "2": the model, and the checkpoint of the stop."""
    straight = Tiny()
    go(folder / "1", straight)
    go(folder / "2", Tiny(), stop_after=5)
    return straight, RunFolder(folder / "2").last


def test_a_checkpoint_of_before_there_was_a_choice_of_decay(tmp_path: Path) -> None:
    straight, last = finished_and_stopped(tmp_path)
    resumed = Tiny()
    tensors, about = load_tensors(last)
    assert about["settings"].pop("decay") == "inverse_sqrt"
    save_tensors(last, tensors, **about)
    with pytest.raises(UserError, match="decay=inverse_sqrt and cannot go on with decay=linear"):
        go(tmp_path / "2", Tiny(), replace(CONFIG, decay=Decay.LINEAR), resume=True)
    go(tmp_path / "2", resumed, resume=True)
    assert same_weights(straight, resumed)


def test_a_checkpoint_that_says_a_setting_by_its_former_name(tmp_path: Path) -> None:
    straight, last = finished_and_stopped(tmp_path)
    resumed = Tiny()
    tensors, about = load_tensors(last)
    about["settings"]["cooccurrence_embeddings"] = about["settings"].pop("cooccurrence_start")
    save_tensors(last, tensors, **about)
    go(tmp_path / "2", resumed, resume=True)
    assert same_weights(straight, resumed)


@pytest.mark.parametrize("make", [Tiny, transformer])
@pytest.mark.parametrize("stop_after", [1, 5, 6, 11])
def test_stopped_and_resumed_equals_straight_through(
    tmp_path: Path, make: Any, stop_after: int
) -> None:
    config = replace(CONFIG, accumulate=2, clip_norm=1.0, weight_decay=0.01)
    straight, stopped, resumed = make(), make(), make()
    whole = go(tmp_path / "1", straight, config)
    part = go(tmp_path / "2", stopped, config, stop_after=stop_after)
    assert (part.step, part.interrupted, part.final_loss) == (stop_after, True, None)
    assert not (tmp_path / "2" / "model.safetensors").exists()
    torch.rand(5)  # whatever happens in between
    result = go(tmp_path / "2", resumed, config, resume=True)
    assert same_weights(straight, resumed)
    assert (result.final_loss, result.epoch) == (whole.final_loss, whole.epoch)
    assert whole.epoch > 2, "the runs should go through more than one epoch"
    assert told(tmp_path / "1") == told(tmp_path / "2")


@pytest.mark.slow
def test_killed_at_any_moment_and_resumed_equals_straight_through(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.helpers.killed_runs", str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    assert answer["kills"] >= 6
    assert answer["different"] == {}


@pytest.fixture
def default_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_handler")
def test_ctrl_c_keeps_everything(tmp_path: Path) -> None:
    def press(report: Report) -> None:
        if report.step == 4:
            signal.raise_signal(signal.SIGINT)

    straight, resumed = Tiny(), Tiny()
    go(tmp_path / "1", straight)
    part = go(tmp_path / "2", Tiny(), on_report=press)
    assert (part.step, part.interrupted) == (4, True)
    go(tmp_path / "2", resumed, resume=True)
    assert same_weights(straight, resumed)
    assert told(tmp_path / "1") == told(tmp_path / "2")


@pytest.mark.usefixtures("default_handler")
def test_a_second_ctrl_c_stops_at_once_and_harms_nothing(tmp_path: Path) -> None:
    def press_twice(report: Report) -> None:
        if report.step == 4:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    straight, resumed = Tiny(), Tiny()
    go(tmp_path / "1", straight)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "2", Tiny(), on_report=press_twice)
    go(tmp_path / "2", resumed, resume=True)
    assert same_weights(straight, resumed)


@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_a_step_that_is_not_finite_stops_the_run(tmp_path: Path, where: str) -> None:
    model, passes = Tiny(), 0

    def spoil(module: nn.Module, arguments: Any, logits: Tensor) -> Tensor:
        nonlocal passes
        passes += module.training
        if passes != 8 or not module.training:
            return logits
        if where == "loss":
            return logits * float("nan")
        logits.register_hook(lambda grad: grad * float("inf"))
        return logits

    model.register_forward_hook(spoil)
    with pytest.raises(
        UserError, match=r"step 8: the loss .*last\.safetensors of step 6, is unharmed"
    ):
        go(tmp_path, model)
    all_are_finite(tmp_path)
    resumed, straight = Tiny(), Tiny()
    go(tmp_path, resumed, resume=True)  # the fault was in the machine, say
    go(tmp_path / "straight", straight)
    assert same_weights(resumed, straight)


@pytest.mark.parametrize("stop_after", [None, 8])
def test_a_step_that_is_not_finite_is_named_before_anything_is_saved(
    tmp_path: Path, stop_after: int | None
) -> None:
    # Seen only when something is due: the next report would come at step 100.
    model, passes = Tiny(), 0

    def spoil(module: nn.Module, arguments: Any, logits: Tensor) -> Tensor:
        nonlocal passes
        passes += module.training
        return logits * float("nan") if passes == 7 and module.training else logits

    model.register_forward_hook(spoil)
    with pytest.raises(UserError, match=r"step 7: the loss .* of step 6, is unharmed"):
        go(tmp_path, model, replace(CONFIG, report_every=100), stop_after=stop_after)
    all_are_finite(tmp_path)
    assert [line["step"] for line in told(tmp_path)] == [3, 6]


def test_a_step_waits_for_no_number_from_the_device(tmp_path: Path) -> None:
    class Reads(TorchDispatchMode):
        """Counts how often a tensor's number is read."""

        count = 0

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.count += function is torch.ops.aten._local_scalar_dense.default
            return function(*args, **(kwargs or {}))

    config = replace(CONFIG, report_every=100, validate_every=100)
    with Reads() as reads:
        go(tmp_path, Tiny(), config, stop_after=7)
    assert reads.count == 7  # each batch counts its tokens, before it goes to the device


def test_not_finite_before_the_first_checkpoint(tmp_path: Path) -> None:
    model = Tiny()
    nn.init.constant_(model.mix.bias, float("inf"))
    with pytest.raises(UserError, match=r"step 1: .* no checkpoint was made yet"):
        go(tmp_path, model)


def test_not_finite_after_resuming_names_the_step_resumed_from(tmp_path: Path) -> None:
    go(tmp_path, Tiny(), stop_after=4)
    model = Tiny()
    model.register_forward_hook(lambda module, arguments, logits: logits * float("nan"))
    with pytest.raises(UserError, match=r"step 5: .*last\.safetensors of step 4, is unharmed"):
        go(tmp_path, model, resume=True)


@pytest.mark.parametrize("where", ["step 8", "validation"])
def test_a_batch_that_does_not_fit_in_memory(tmp_path: Path, where: str) -> None:
    model, passes = Tiny(), 0

    def fail(module: nn.Module, *_: object) -> None:
        nonlocal passes
        passes += module.training
        if passes == (8 if where == "step 8" else 6) and module.training == (where == "step 8"):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    model.register_forward_hook(fail)
    after, saved = ("7", "6") if where == "step 8" else ("6", "3")
    with pytest.raises(
        UserError,
        match=f"out of memory on cpu after step {after}; .*of step {saved}, is unharmed; "
        "begin another run: halve batch_tokens and double accumulate",
    ):
        go(tmp_path, model)
    resumed, straight = Tiny(), Tiny()
    go(tmp_path, resumed, resume=True)  # another program had the memory, say
    go(tmp_path / "straight", straight)
    assert same_weights(resumed, straight)


@pytest.mark.parametrize("where", ["the weights", "the checkpoint"])
def test_what_has_no_memory_to_begin_is_told_in_a_line(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    go(tmp_path, Tiny(), stop_after=3)
    if where == "the weights":
        monkeypatch.setattr(Tiny, "to", fail)
    else:
        monkeypatch.setattr(run_module, "restore", fail)
    with pytest.raises(UserError, match="out of memory on cpu before the first step; what was"):
        go(tmp_path, Tiny(), resume=True)


def test_another_error_is_not_taken_for_full_memory(tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("shapes do not fit")

    model = Tiny()
    model.register_forward_hook(fail)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        go(tmp_path, model)


def test_a_model_in_evaluation_mode_is_trained_with_dropout(tmp_path: Path) -> None:
    one, two = Tiny(), Tiny().eval()
    go(tmp_path / "1", one)
    go(tmp_path / "2", two)
    assert same_weights(one, two)


def test_patience_ends_the_run_and_the_best_is_kept(tmp_path: Path) -> None:
    # To learn the training text is to unlearn the other: its targets are never seen.
    strange = [Batch(b.src, b.tgt_in, b.tgt_out.where(b.tgt_out == PAD_ID, 1)) for b in HELD_OUT]
    config = replace(CONFIG, steps=1000, patience=3, learning_rate_factor=3.0)
    model = Tiny()
    result = go(tmp_path, model, config, validation_batches=strange)
    losses = [line["loss"] for line in told(tmp_path) if line["kind"] == "validation"]
    best = losses.index(min(losses))
    assert len(losses) == best + 1 + 3
    assert (result.step, result.interrupted) == (3 * len(losses), False)
    assert result.best_loss == min(losses)
    assert result.final_from == "best"
    assert validation_loss(model, strange) == pytest.approx(min(losses), abs=1e-6)
    again = go(tmp_path, Tiny(), config, validation_batches=strange, resume=True)
    assert again.step == result.step


def test_the_final_model_is_the_better_of_best_and_average(tmp_path: Path) -> None:
    model = Tiny()
    result = go(tmp_path, model, replace(CONFIG, average_last=3, learning_rate_factor=3))
    files = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert files == [
        "best.safetensors",
        "last.safetensors",
        "step_000006.safetensors",
        "step_000009.safetensors",
        "step_000012.safetensors",
    ]
    final, about = load_tensors(tmp_path / "model.safetensors")
    loss = validation_loss(model, HELD_OUT)
    assert result.final_loss == about["loss"] == pytest.approx(loss, abs=1e-9)
    assert torch.equal(final["embedding.weight"], model.embedding.weight)
    steps = [load_tensors(tmp_path / "checkpoints" / name)[0] for name in files[2:]]
    mean = sum(tensors["mix.bias"].double() for tensors in steps) / 3
    average = Tiny()
    average.load_state_dict(
        {n: sum(t.get(n, t["embedding.weight"]) for t in steps) / 3 for n in model.state_dict()}
    )
    average_loss = validation_loss(average, HELD_OUT)
    assert result.best_loss is not None
    assert result.final_loss == pytest.approx(min(average_loss, result.best_loss), abs=1e-5)
    if result.final_from == "average":
        torch.testing.assert_close(final["mix.bias"].double(), mean)


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    go(tmp_path, Tiny())
    with pytest.raises(UserError, match="already holds a run: resume it, or choose another folder"):
        go(tmp_path, Tiny())


@pytest.mark.parametrize("first", range(1, 14, 4))
def test_best_and_last_are_of_one_state_after_a_kill_at_any_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    replace_file, config = os.replace, replace(CONFIG, average_last=1)
    for kill_at in range(first, first + 4):
        out, straight, writes = tmp_path / f"{kill_at}", tmp_path / f"{kill_at}-straight", [0]

        def die_at(*paths: Path, count: list[int] = writes, at: int = kill_at) -> None:
            count[0] += 1
            if count[0] == at:
                raise KeyboardInterrupt
            replace_file(*paths)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", die_at)
            with contextlib.suppress(KeyboardInterrupt):
                go(out, Tiny(), config)
        folder = RunFolder(out)
        if not folder.last.exists():
            continue
        step = load_tensors(folder.last)[1]["progress"]["step"]
        if folder.best.exists():
            assert load_tensors(folder.best)[1]["step"] <= step
        go(out, Tiny(), replace(config, steps=step), resume=True)
        go(straight, Tiny(), replace(config, steps=step))
        same_files(straight, out)


@pytest.mark.parametrize("damage", ["missing", "another's", "bit"])
def test_best_weights_that_are_lost_are_seen_before_the_work(tmp_path: Path, damage: str) -> None:
    go(tmp_path, Tiny(), stop_after=5)
    folder = RunFolder(tmp_path)
    content = folder.best.read_bytes()
    folder.best.unlink()
    if damage == "another's":
        save_tensors(folder.best, {"a": torch.ones(3)}, step=2, loss=1.25)
    elif damage == "bit":
        folder.best.write_bytes(content[:-5] + bytes([content[-5] ^ 4]) + content[-4:])
    before = told(tmp_path)
    with pytest.raises(UserError, match=r"best\.safetensors is (missing or not this run|damaged)"):
        go(tmp_path, Tiny(), resume=True)
    assert told(tmp_path) == before


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    refused, other = [], Tiny()

    def second_run(report: Report) -> None:
        def begin() -> None:
            with pytest.raises(UserError, match=f"is in use by process {os.getpid()}: wait") as why:
                go(tmp_path / "2", other, resume=True)
            refused.append(why)

        thread = threading.Thread(target=begin)
        thread.start()
        thread.join()

    alone, beside = Tiny(), Tiny()
    go(tmp_path / "1", alone)
    go(tmp_path / "2", beside, on_report=second_run)
    assert len(refused) == len(told(tmp_path / "2"))
    assert same_weights(alone, beside)
    assert told(tmp_path / "1") == told(tmp_path / "2")
    same_files(tmp_path / "1", tmp_path / "2")
    assert not (tmp_path / "2" / ".lock").exists()


def test_resumed_with_another_configuration(tmp_path: Path) -> None:
    go(tmp_path, Tiny(), stop_after=4)
    before = (tmp_path / "checkpoints" / "last.safetensors").read_bytes()
    with pytest.raises(UserError, match=r"label_smoothing=0\.1 and cannot go on with .*=0\.2"):
        go(tmp_path, Tiny(), replace(CONFIG, label_smoothing=0.2), resume=True)
    with pytest.raises(UserError, match=r"does not fit this model: embedding.weight has shape"):
        go(tmp_path, Tiny(size=17), resume=True)
    assert (tmp_path / "checkpoints" / "last.safetensors").read_bytes() == before


def test_more_steps_may_be_asked_for_later(tmp_path: Path) -> None:
    straight, extended = Tiny(), Tiny()
    go(tmp_path / "1", straight, replace(CONFIG, steps=18))
    go(tmp_path / "2", Tiny())
    go(tmp_path / "2", extended, replace(CONFIG, steps=18), resume=True)
    assert same_weights(straight, extended)


@pytest.mark.parametrize("first", [10, 11])
@pytest.mark.parametrize("longer", [12, 13, 15])
@pytest.mark.parametrize("average_last", [1, 3])
def test_an_end_between_validations_leaves_no_trace_in_a_longer_run(
    tmp_path: Path, first: int, longer: int, average_last: int
) -> None:
    # The first run validates at 3, 6, 9 and at its end, which the longer run passes by.
    config = replace(CONFIG, average_last=average_last, patience=100)
    straight, extended = Tiny(), Tiny()
    whole = go(tmp_path / "1", straight, replace(config, steps=longer))
    go(tmp_path / "2", Tiny(), replace(config, steps=first))
    result = go(tmp_path / "2", extended, replace(config, steps=longer), resume=True)
    assert same_weights(straight, extended)
    assert (result.final_loss, result.final_from) == (whole.final_loss, whole.final_from)
    assert result.best_loss == whole.best_loss
    assert told(tmp_path / "1") == told(tmp_path / "2")
    same_files(tmp_path / "1", tmp_path / "2")


def test_an_end_between_validations_that_is_the_best_is_forgotten_in_a_longer_run(
    tmp_path: Path,
) -> None:
    # After step 4 all is unlearned: it has the lowest loss of all.
    config = replace(CONFIG, steps=4, learning_rate_factor=2.0, patience=2)
    model = Tiny()
    short = go(tmp_path / "2", model, config)
    losses = {line["step"]: line["loss"] for line in told(tmp_path / "2")}
    assert short.best_loss == losses[4] < losses[3]
    assert validation_loss(model, HELD_OUT) == pytest.approx(short.final_loss, abs=1e-9)

    class Worse:
        """The data, with targets from the fifth batch on that are never right."""

        def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
            for place, batch in enumerate(DATA.epoch(number, start), start):
                wrong = batch.tgt_out.where(batch.tgt_out == PAD_ID, 1)
                yield Batch(batch.src, batch.tgt_in, wrong if place > 3 else batch.tgt_out)

    longer, straight, extended = replace(config, steps=12), Tiny(), Tiny()
    whole = go(tmp_path / "1", straight, longer, batches=Worse())
    result = go(tmp_path / "2", extended, longer, batches=Worse(), resume=True)
    assert (result.step, result.best_loss) == (whole.step, whole.best_loss)
    assert same_weights(straight, extended)
    assert told(tmp_path / "1") == told(tmp_path / "2")
    same_files(tmp_path / "1", tmp_path / "2")


def test_resuming_what_ended_between_validations_changes_nothing(tmp_path: Path) -> None:
    config = replace(CONFIG, steps=10, average_last=3)
    first, second = Tiny(), Tiny()
    result = go(tmp_path, first, config)
    before = told(tmp_path)
    again = go(tmp_path, second, config, resume=True)
    assert same_weights(first, second)
    assert (again.step, again.final_loss, again.final_from, again.best_loss) == (
        result.step, result.final_loss, result.final_from, result.best_loss,
    )  # fmt: skip
    assert told(tmp_path) == before


@pytest.mark.slow
def test_a_compiled_model_leaves_what_a_plain_one_does(tmp_path: Path) -> None:
    plain, resumed = Tiny(), Tiny()
    compiled = torch.compile(Tiny(), backend="eager")
    go(tmp_path / "1", plain)
    go(tmp_path / "2", compiled, stop_after=5)
    go(tmp_path / "2", resumed, resume=True)
    assert same_weights(plain, resumed)
    same_files(tmp_path / "1", tmp_path / "2")


def test_resuming_what_never_saved_begins(tmp_path: Path) -> None:
    straight, resumed = Tiny(), Tiny()
    go(tmp_path / "1", straight)
    go(tmp_path / "2", resumed, resume=True)
    assert same_weights(straight, resumed)


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("left", ["model", "best", "step_000012"])
def test_weights_without_their_last_checkpoint_are_not_overwritten(
    tmp_path: Path, left: str, resume: bool
) -> None:
    go(tmp_path, Tiny())
    for path in tmp_path.rglob("*.safetensors"):
        if path.stem != left:
            path.unlink()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    with pytest.raises(UserError, match=r"no checkpoints/last\.safetensors to go on from"):
        go(tmp_path, Tiny(), resume=resume)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


@pytest.mark.parametrize("saves", [1, 2])
def test_killed_while_the_first_checkpoint_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saves: int
) -> None:
    def die_at(*arguments: Any, **options: Any) -> None:
        nonlocal saves
        saves -= 1
        if saves == 0:
            raise KeyboardInterrupt
        save_state(*arguments, **options)

    save_state = run_module.save_state
    straight, resumed = Tiny(), Tiny()
    go(tmp_path / "1", straight)
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "save_state", die_at)
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path / "2", Tiny())
    go(tmp_path / "2", resumed, resume=True)
    assert same_weights(straight, resumed)
    assert told(tmp_path / "1") == told(tmp_path / "2")


@pytest.mark.parametrize("steps", [2, 5])  # before the first validation, and after it
def test_resuming_with_the_steps_that_are_done_validates_them(tmp_path: Path, steps: int) -> None:
    config = replace(CONFIG, steps=steps, average_last=1)
    straight, resumed = Tiny(), Tiny()
    go(tmp_path / "1", straight, config)
    go(tmp_path / "2", Tiny(), replace(config, steps=12), stop_after=steps)
    with pytest.raises(UserError, match=f"give {steps} steps or more"):
        go(tmp_path / "2", Tiny(), replace(config, steps=1), resume=True)
    result = go(tmp_path / "2", resumed, config, resume=True)
    assert (result.step, result.interrupted) == (steps, False)
    assert same_weights(straight, resumed)
    assert told(tmp_path / "1") == told(tmp_path / "2")
    go(tmp_path / "2", resumed, config, resume=True)  # nothing is left to do
    assert told(tmp_path / "1") == told(tmp_path / "2")


def test_a_validation_that_was_not_saved_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    straight, resumed = Tiny(), Tiny()
    go(tmp_path / "1", straight)
    go(tmp_path / "2", Tiny(), stop_after=5)
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "save_state", die)
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path / "2", Tiny(), replace(CONFIG, steps=5), resume=True)
    assert told(tmp_path / "2")[-1]["step"] == 5
    go(tmp_path / "2", resumed, resume=True, stop_after=6)
    files = [path.stem for path in RunFolder(tmp_path / "2").step_files()]
    assert files == ["step_000003", "step_000006"]
    go(tmp_path / "2", resumed, resume=True)
    assert same_weights(straight, resumed)
    assert told(tmp_path / "1") == told(tmp_path / "2")


@pytest.mark.parametrize("stop_after", [5, 6])
def test_a_checkpoint_of_before_validations_were_counted_is_gone_on_from(
    tmp_path: Path, stop_after: int
) -> None:
    straight, resumed = Tiny(), Tiny()
    go(tmp_path / "1", straight)
    go(tmp_path / "2", Tiny(), stop_after=stop_after)
    last = RunFolder(tmp_path / "2").last
    tensors, about = load_tensors(last)
    del about["progress"]["validated_step"]
    save_tensors(last, tensors, **about)
    go(tmp_path / "2", resumed, resume=True)
    assert same_weights(straight, resumed)
    assert told(tmp_path / "1") == told(tmp_path / "2")


def test_a_run_that_is_past_its_stop_makes_no_step(tmp_path: Path) -> None:
    go(tmp_path, Tiny(), stop_after=5)
    result = go(tmp_path, Tiny(), resume=True, stop_after=4)
    assert (result.step, result.interrupted) == (5, True)


def test_resuming_what_is_done_changes_nothing(tmp_path: Path) -> None:
    first, second = Tiny(), Tiny()
    result = go(tmp_path, first)
    again = go(tmp_path, second, resume=True)
    assert same_weights(first, second)
    assert (again.step, again.final_loss) == (result.step, result.final_loss)


@pytest.mark.parametrize("damage", ["truncated", "weights only"])
def test_damaged_checkpoint(tmp_path: Path, damage: str) -> None:
    go(tmp_path, Tiny(), stop_after=4)
    last = tmp_path / "checkpoints" / "last.safetensors"
    other = last.with_name("best.safetensors").read_bytes()
    last.write_bytes(last.read_bytes()[:-100] if damage == "truncated" else other)
    with pytest.raises(UserError, match=r"last.safetensors (is cut short|holds weights only)"):
        go(tmp_path, Tiny(), resume=True)


@pytest.mark.parametrize("lost", ["a row", "the optimizer", "settings", "progress"])
def test_a_checkpoint_that_does_not_fit_is_not_gone_on_from(tmp_path: Path, lost: str) -> None:
    # With a row of a moment lost, the next update wrote into foreign memory.
    go(tmp_path, Tiny(), stop_after=4)
    last = RunFolder(tmp_path).last
    tensors, about = load_tensors(last)
    if lost == "a row":
        tensors["optimizer/0/exp_avg"] = tensors["optimizer/0/exp_avg"][:1].clone()
    elif lost == "the optimizer":
        tensors = {name: each for name, each in tensors.items() if "optimizer" not in name}
        del about["moments_of"]
    else:
        del about[lost]
    save_tensors(last, tensors, **about)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    with pytest.raises(UserError, match=r"last\.safetensors .*(put|copy)"):
        go(tmp_path, Tiny(), resume=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


def test_what_a_killed_run_had_begun_to_write_is_removed(tmp_path: Path) -> None:
    go(tmp_path, Tiny(), stop_after=4)
    unfinished = [
        tmp_path / "checkpoints" / ".last.safetensors.5f1c.tmp",
        tmp_path / ".log.jsonl.93ab.tmp",
    ]
    for path in unfinished:
        path.write_bytes(b"half")
    go(tmp_path, Tiny(), resume=True)
    assert not any(path.exists() for path in unfinished)


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: Path, target: Path) -> None:
        if target.name == "last.safetensors":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace_file(source, target)

    replace_file = os.replace
    straight, resumed = Tiny(), Tiny()
    go(tmp_path / "1", straight)
    go(tmp_path / "2", Tiny(), stop_after=4)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(UserError, match=r"cannot save .*No space left.* is unharmed"):
            go(tmp_path / "2", Tiny(), resume=True)
    go(tmp_path / "2", resumed, resume=True)
    assert same_weights(straight, resumed)
    assert told(tmp_path / "1") == told(tmp_path / "2")


def test_reports_reach_the_reader_and_the_log(tmp_path: Path) -> None:
    reports: list[Report] = []
    go(tmp_path, Tiny(), on_report=reports.append)
    assert [(r.kind, r.step) for r in reports] == [
        ("training", 2), ("validation", 3), ("training", 4), ("training", 6), ("validation", 6),
        ("training", 8), ("validation", 9), ("training", 10), ("training", 12), ("validation", 12),
    ]  # fmt: skip
    assert [report.to_dict() for report in reports] == read_log(tmp_path / "log.jsonl")
    assert reports[-1].seconds_left == 0
    assert all(r.seconds_left > 0 for r in reports[:-2])


def test_speed_is_of_learning_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def takes(seconds: float) -> Any:
        def pass_time(*_: object) -> None:
            nonlocal now
            now += seconds

        return pass_time

    def slow_save(*arguments: Any, **options: Any) -> None:
        takes(1000.0)()
        save_state(*arguments, **options)

    save_state = run_module.save_state
    monkeypatch.setattr(run_module, "save_state", slow_save)
    monkeypatch.setattr(run_module, "time", SimpleNamespace(perf_counter=lambda: now))
    model = Tiny()
    model.register_forward_hook(lambda module, *_: takes(1.0 if module.training else 100.0)())
    speeds: dict[int, float | None] = {}
    config = replace(CONFIG, steps=6, report_every=1)
    go(tmp_path, model, config, on_report=lambda r: speeds.setdefault(r.step, r.tokens_per_second))
    tokens = [batch.num_tgt_tokens for _, batch in zip(range(6), DATA.epoch(0), strict=False)]
    assert list(speeds.values()) == [pytest.approx(count) for count in tokens]


def test_training_loss_is_of_the_steps_since_the_last_report(tmp_path: Path) -> None:
    config = replace(CONFIG, steps=2, average_last=1, learning_rate_factor=1e-9)
    go(tmp_path, Tiny(dropout=0), config)  # weights that all but stand still
    batches = [batch for _, batch in zip(range(2), DATA.epoch(0), strict=False)]
    assert told(tmp_path)[0]["loss"] == pytest.approx(validation_loss(Tiny(), batches), abs=1e-5)


def test_bf16_learns_about_the_same(tmp_path: Path) -> None:
    full, half = Tiny(dropout=0), Tiny(dropout=0)
    config = replace(CONFIG, steps=30, validate_every=15)
    one = go(tmp_path / "1", full, config)
    two = go(tmp_path / "2", half, replace(config, bf16=True))
    assert not same_weights(full, half)
    assert half.mix.weight.dtype == torch.float32
    assert two.final_loss == pytest.approx(one.final_loss, abs=0.05)


def test_no_data(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="epoch 0 has no batches"):
        go(tmp_path / "1", Tiny(), batches=Forever())
    with pytest.raises(UserError, match="no validation tokens"):
        go(tmp_path / "2", Tiny(), validation_batches=[])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_resumed_goes_on_with_the_same_dropout(tmp_path: Path) -> None:
    straight, resumed = Tiny(), Tiny()
    go(tmp_path / "1", straight, device="cuda")
    go(tmp_path / "2", Tiny(), device="cuda", stop_after=5)
    go(tmp_path / "2", resumed, device="cuda", resume=True)
    for name, tensor in straight.state_dict().items():
        torch.testing.assert_close(resumed.state_dict()[name], tensor, msg=name)
