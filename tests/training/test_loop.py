"""The loop: what it computes, what it keeps, and how it goes on after any stop."""

import errno
import itertools
import os
import random
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from transformer.config import PAD_ID, ModelConfig, TrainingConfig
from transformer.data.batches import (
    Batch,
    Example,
    TokenBudgetBatches,
    collate,
    micro_batches,
    shard,
)
from transformer.model import Transformer
from transformer.models.folder import LAST
from transformer.models.weights import load_tensors
from transformer.support.errors import UserError
from transformer.training import loop, run
from transformer.training.checkpoint import State
from transformer.training.devices import Precision
from transformer.training.loop import TrainingResult, train
from transformer.training.model_loss import batch_loss, validation_loss
from transformer.training.report import NOT_LOGGED, Report, read_log
from transformer.training.schedule import learning_rate

Patch = pytest.MonkeyPatch
VOCAB, D_MODEL = 23, 16
CONFIG = TrainingConfig(
    steps=12, batch_tokens=60, warmup_steps=5, report_every=2, validate_every=3, average_last=2
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
        self.idle = nn.Parameter(torch.ones(7))  # no loss depends on it

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        source = self.embedding(src).mean(1, keepdim=True).expand(-1, tgt_in.size(1), -1)
        both = torch.cat([self.embedding(tgt_in), source], dim=-1)
        logits: Tensor = self.output(self.dropout(self.mix(both)))
        return logits


def transformer() -> Transformer:
    torch.manual_seed(3)
    shape = ModelConfig(d_model=D_MODEL, d_ff=19, num_heads=2, num_layers=1)
    return Transformer(shape, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB)


def go(
    out: Path, model: nn.Module, config: TrainingConfig = CONFIG, **options: Any
) -> TrainingResult:
    arguments = {"batches": DATA, "validation_batches": HELD_OUT, "on_report": lambda _: None}
    return train(model, config, out=out, d_model=D_MODEL, **arguments | options)


def same_weights(one: nn.Module, two: nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), two.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def told(out: Path) -> list[dict[str, Any]]:
    """The log without its times."""
    timing = ("seconds", "tokens_per_second")
    return [
        {key: value for key, value in line.items() if key not in timing}
        for line in read_log(out / "log.jsonl")
    ]


def same_runs(one: Path, two: Path) -> None:
    """Assert that the logs, weights and states of two runs are the same, file by file."""
    assert told(one) == told(two)
    names = [sorted(p.relative_to(out) for p in out.rglob("*.safetensors")) for out in (one, two)]
    assert names[0] == names[1]
    for name in names[0]:
        (first, about), (second, about_too) = load_tensors(one / name), load_tensors(two / name)
        assert first.keys() == second.keys(), name
        assert all(torch.equal(first[key], second[key]) for key in first), name
        assert about.get("loss") == about_too.get("loss"), name


def all_bytes(out: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in out.rglob("*.*")}


# --- what is computed -----------------------------------------------------------------------


@pytest.mark.parametrize("rate", [None, 0.003])
def test_equals_a_plain_loop_of_torch(tmp_path: Path, rate: float | None) -> None:
    # Independent of our loss and optimizer: torch's Adam and cross-entropy, three steps.
    config = replace(CONFIG, steps=3, average_last=1, label_smoothing=0.1, learning_rate=rate)
    config = replace(config, learning_rate_factor=0.5, report_every=1)
    rates = [rate or learning_rate(step, D_MODEL, 5, 0.5) for step in (1, 2, 3)]
    ours, plain = Tiny(dropout=0), Tiny(dropout=0)
    go(tmp_path, ours, config)
    adam = torch.optim.Adam(plain.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
    assert [line["learning_rate"] for line in told(tmp_path)][:3] == rates
    for now, batch in zip(rates, DATA.epoch(0), strict=False):
        logits = plain(batch.src, batch.tgt_in).flatten(0, 1)
        targets = batch.tgt_out.flatten()
        adam.zero_grad()
        F.cross_entropy(logits, targets, ignore_index=PAD_ID, label_smoothing=0.1).backward()
        adam.param_groups[0]["lr"] = now
        adam.step()
    close(ours, plain)


def close(one: nn.Module, two: nn.Module) -> None:
    for name, tensor in two.state_dict().items():
        torch.testing.assert_close(one.state_dict()[name], tensor, msg=name)


def test_micro_batches_equal_the_whole(tmp_path: Path) -> None:
    # Parts of unlike numbers of tokens: the mean of their means would be another gradient.
    # A large epsilon keeps Adam's step in proportion to the gradient.
    config = replace(CONFIG, average_last=1, epsilon=1.0)
    at_once = Tiny(dropout=0)
    go(tmp_path / "1", at_once, config)
    assert not same_weights(at_once, Tiny())
    for micro_tokens in (40, 13, 1):
        parts = Tiny(dropout=0)
        go(tmp_path / f"{micro_tokens} at once", parts, config, micro_tokens=micro_tokens)
        close(parts, at_once)


def test_no_sentence_of_a_batch_is_lost_or_doubled() -> None:
    def rows(*parts: Batch) -> list[tuple[list[int], list[int]]]:
        pairs = [pair for part in parts for pair in zip(part.src, part.tgt_out, strict=True)]
        found = [(src[src != PAD_ID].tolist(), tgt[tgt != PAD_ID].tolist()) for src, tgt in pairs]
        return sorted(row for row in found if row[1])

    for size, most in itertools.product((1, 2, 3, 97), (None, 25, 1)):
        for batch in DATA.epoch(0):
            parts = [
                part
                for rank in range(size)
                for part in micro_batches(shard(batch, rank, size), most)
            ]
            assert rows(*parts) == rows(batch)
            widest = max(batch.src.size(1), batch.tgt_in.size(1))
            assert most is None or max(len(part.src) for part in parts) <= max(most // widest, 1)


def test_a_part_of_no_weight_leaves_no_gradient() -> None:
    part = shard(collate(EXAMPLES[:2]), 2, 3)
    assert (part.num_tgt_tokens, part.src.size(0)) == (0, 1)
    model = Tiny()
    sums = batch_loss(model, part, CONFIG)
    sums.loss.backward()
    assert float(sums.loss.detach()) == float(sums.nll) == 0
    assert all(torch.all(p.grad == 0) for p in model.parameters() if p.grad is not None)
    assert model.mix.weight.grad is not None


def test_clipping_limits_the_norm_of_the_whole_gradient(tmp_path: Path) -> None:
    for limit in (0.01, 0.0):
        model = Tiny()
        go(tmp_path / str(limit), model, replace(CONFIG, clip_norm=limit), stop_after=1)
        squares = [p.grad.square().sum() for p in model.parameters() if p.grad is not None]
        norm = float(sum(squares)) ** 0.5
        assert norm == pytest.approx(0.01, rel=1e-3) if limit else norm > 0.1


def test_another_optimizer_may_be_given(tmp_path: Path) -> None:
    # Plain descent at rate 1: the weights less their gradients, by hand, in two groups.
    def make(model: Tiny) -> torch.optim.Optimizer:
        first: dict[str, Any] = {"params": [model.embedding.weight]}
        rest = {"params": list(model.mix.parameters()), "rate_factor": 0.5}
        return torch.optim.SGD([first, rest], lr=9.0)

    model, before = Tiny(), Tiny()
    go(tmp_path, model, optimizer=make, schedule=lambda step: 1.0, stop_after=1)
    for name, factor in {"embedding.weight": 1.0, "mix.weight": 0.5, "mix.bias": 0.5}.items():
        old, now = before.get_parameter(name), model.get_parameter(name)
        assert now.grad is not None
        torch.testing.assert_close(now.detach(), (old - factor * now.grad).detach())


class CountingDescent(torch.optim.Optimizer):
    """Momentum that is corrected by the number of steps, a Python number, as in Adam (§5.3)."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model.parameters(), {"lr": 0.0, "momentum": 0.9})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state |= {"step": 0, "share": 1.0, "mean": torch.zeros_like(parameter)}
                state["step"] += 1
                state["share"] *= group["momentum"]
                state["mean"].lerp_(parameter.grad, 1 - group["momentum"])
                correction = (1 - state["share"]) * state["step"] ** 0.5
                parameter.sub_(state["mean"], alpha=group["lr"] / correction)


def test_an_optimizer_whose_state_has_plain_numbers_resumes_exactly(tmp_path: Path) -> None:
    options: dict[str, Any] = {"optimizer": CountingDescent, "schedule": lambda step: 0.1}
    go(tmp_path / "1", Tiny(), **options)
    go(tmp_path / "2", Tiny(), stop_after=7, **options)
    go(tmp_path / "2", Tiny(), resume=True, **options)
    same_runs(tmp_path / "1", tmp_path / "2")


def test_an_optimizer_whose_state_no_checkpoint_holds_is_refused(tmp_path: Path) -> None:
    class Named(CountingDescent):
        def step(self, closure: Any = None) -> None:
            super().step()
            self.state[self.param_groups[0]["params"][0]]["name"] = "first"

    with pytest.raises(UserError, match="Named keeps 'name' as str, which no checkpoint holds"):
        go(tmp_path, Tiny(), optimizer=Named)


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


def test_the_final_model_is_the_better_of_best_and_average(tmp_path: Path) -> None:
    model = Tiny()
    result = go(tmp_path, model, replace(CONFIG, average_last=3, learning_rate_factor=3))
    names = ["best", "last", "step_000006", "step_000009", "step_000012"]
    paths = sorted((tmp_path / "checkpoints").iterdir())
    assert [path.stem for path in paths] == names
    final, about = load_tensors(tmp_path / "model.safetensors")
    loss = validation_loss(model, HELD_OUT)
    assert result.final_loss == about["loss"] == pytest.approx(loss, abs=1e-9)
    assert torch.equal(final["embedding.weight"], model.embedding.weight)
    steps = [load_tensors(path)[0] for path in paths[2:]]
    average = Tiny()
    average.load_state_dict(
        {n: sum(t.get(n, t["embedding.weight"]) for t in steps) / 3 for n in model.state_dict()}
    )
    losses = [line["loss"] for line in told(tmp_path) if line["kind"] == "validation"]
    assert result.best_loss == min(losses)
    wanted = min(validation_loss(average, HELD_OUT), min(losses))
    assert result.final_loss == pytest.approx(wanted, abs=1e-5)
    assert result.final_from == ("best" if wanted == min(losses) else "average")


@pytest.mark.parametrize("precision", [Precision.BF16, Precision.FP16])
def test_16_bits_learn_about_the_same(tmp_path: Path, precision: Precision) -> None:
    full, half = Tiny(dropout=0), Tiny(dropout=0)
    config = replace(CONFIG, steps=60, validate_every=30, learning_rate_factor=0.3)
    before = validation_loss(full, HELD_OUT)
    one = go(tmp_path / "1", full, config)
    two = go(tmp_path / "2", half, config, precision=precision)
    assert one.final_loss is not None
    assert one.final_loss < before - 0.2
    assert not same_weights(full, half)
    assert half.mix.weight.dtype == torch.float32
    assert two.final_loss == pytest.approx(one.final_loss, abs=0.05)


def spoiled(model: nn.Module, steps: range, where: str = "gradient") -> nn.Module:
    """A model whose loss or gradients are not finite in some steps."""
    passes = 0

    def spoil(module: nn.Module, arguments: Any, logits: Tensor) -> Tensor:
        nonlocal passes
        passes += module.training
        if not module.training or passes not in steps:
            return logits
        if where == "loss":
            return logits * float("nan")
        logits.register_hook(lambda grad: grad * float("inf"))
        return logits

    model.register_forward_hook(spoil)
    return model


def test_fp16_leaves_out_a_step_that_overflows_and_says_so(tmp_path: Path) -> None:
    config, reports = replace(CONFIG, report_every=1), list[Report]()
    options: dict[str, Any] = {"precision": Precision.FP16, "on_report": reports.append}
    model = spoiled(Tiny(), range(3, 5))
    go(tmp_path, model, config, stop_after=2, **options)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    go(tmp_path, model, config, stop_after=4, resume=True, **options)
    assert all(torch.equal(before[name], now) for name, now in model.state_dict().items())
    left_out = load_tensors(tmp_path / LAST)[1]["progress"]["overflows"]
    assert reports[-1].note == f"steps left out (overflow): {left_out}"
    assert load_tensors(tmp_path / LAST)[1]["scaler"]["scale"] == 2**16 / 2**left_out
    with pytest.raises(UserError, match=r"step 10: the 10th in a row to overflow in fp16"):
        go(tmp_path / "2", spoiled(Tiny(), range(1, 99)), config, **options)
    go(tmp_path / "3", spoiled(Tiny(), range(1, 2), "loss"), config, stop_after=1, **options)
    assert str(reports[-1]).startswith("step 1/12 · epoch 1 · loss nan")
    assert told(tmp_path / "3")[0]["loss"] is None


def test_the_backward_pass_multiplies_as_the_precision_says(monkeypatch: Patch) -> None:
    inside: list[bool] = []

    @contextmanager
    def noted(*_: Any) -> Iterator[None]:
        inside.append(True)
        yield
        inside.pop()

    monkeypatch.setattr(Precision, "float32_matmul_precision", noted)
    model, seen = Tiny(), list[int]()
    model.embedding.weight.register_hook(lambda grad: seen.append(len(inside)))
    loop.update(model, loop.new_state(model, CONFIG), next(DATA.epoch(0)), CONFIG, 0.0)
    assert seen == [1]


@pytest.mark.slow
def test_a_compiled_model_learns_the_same(tmp_path: Path, monkeypatch: Patch) -> None:
    ours = nn.Module.compile
    monkeypatch.setattr(nn.Module, "compile", lambda m, **o: ours(m, **o, backend="aot_eager"))
    plain, compiled = Tiny(dropout=0), Tiny(dropout=0)
    go(tmp_path / "1", plain)
    go(tmp_path / "2", compiled, compiled=True)
    close(compiled, plain)


# --- what is told ---------------------------------------------------------------------------


def test_reports_reach_the_reader_and_the_log(tmp_path: Path) -> None:
    reports: list[Report] = []
    go(tmp_path, Tiny(), on_report=reports.append)
    assert [(r.kind, r.step) for r in reports] == [
        ("training", 2), ("validation", 3), ("training", 4), ("training", 6), ("validation", 6),
        ("training", 8), ("validation", 9), ("training", 10), ("training", 12), ("validation", 12),
    ]  # fmt: skip
    told_of = [{k: v for k, v in vars(r).items() if k not in NOT_LOGGED} for r in reports]
    assert told_of == read_log(tmp_path / "log.jsonl")
    assert reports[-1].seconds_left == 0
    assert all(r.seconds_left > 0 for r in reports[:-2])


def test_speed_is_of_learning_alone(tmp_path: Path, monkeypatch: Patch) -> None:
    taken: list[float] = []

    def slow_save(*arguments: Any, **options: Any) -> None:
        taken.append(1000.0)
        save_state(*arguments, **options)

    save_state = State.save
    monkeypatch.setattr(State, "save", slow_save)
    monkeypatch.setattr(run, "time", SimpleNamespace(perf_counter=lambda: sum(taken)))
    model = Tiny()
    model.register_forward_hook(lambda *_: taken.append(1.0 if model.training else 100.0))
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


# --- exact resume ---------------------------------------------------------------------------


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
    whole = go(tmp_path / "1", straight, config, **options)
    part = go(tmp_path / "2", stopped, config, stop_after=stop_after, **options)
    assert (part.step, part.interrupted, part.final_loss) == (stop_after, True, None)
    assert not (tmp_path / "2" / "model.safetensors").exists()
    torch.rand(5)  # whatever happens in between
    result = go(tmp_path / "2", resumed, config, resume=True, **options)
    assert (result.final_loss, result.epoch) == (whole.final_loss, whole.epoch)
    assert whole.epoch > 2, "the runs should go through more than one epoch"
    same_runs(tmp_path / "1", tmp_path / "2")
    assert same_weights(straight, resumed)


@pytest.mark.slow
@pytest.mark.parametrize("average_last", [1, 2])
def test_killed_at_any_write_and_resumed_equals_straight_through(
    tmp_path: Path, monkeypatch: Patch, average_last: int
) -> None:
    replace_file, config = os.replace, replace(CONFIG, average_last=average_last)
    go(tmp_path / "straight", Tiny(), config)
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
                go(out, Tiny(), config)
                break
            except KeyboardInterrupt:
                pass
        go(out, Tiny(), config, resume=True)
        same_runs(tmp_path / "straight", out)
    assert kill_at > 10


@pytest.mark.usefixtures("default_handler")
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_keeps_everything_and_a_second_one_harms_nothing(tmp_path: Path, times: int) -> None:
    def press(report: Report) -> None:
        if report.step == 4:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    go(tmp_path / "1", Tiny())
    with nullcontext() if times == 1 else pytest.raises(KeyboardInterrupt):
        part = go(tmp_path / "2", Tiny(), on_report=press)
        assert (part.step, part.interrupted) == (4, True)
    go(tmp_path / "2", Tiny(), resume=True)
    same_runs(tmp_path / "1", tmp_path / "2")


@pytest.mark.parametrize("average_last", [1, 3])
def test_a_run_made_longer_is_one_that_was_so_long_from_the_beginning(
    tmp_path: Path, average_last: int
) -> None:
    # The first run validates at 3, 6, 9 and at its end, which the longer run may pass by.
    config = replace(CONFIG, average_last=average_last)
    for first, longer in ((10, 13), (11, 12), (12, 15)):
        one, two = tmp_path / f"{longer}", tmp_path / f"{first} to {longer}"
        whole = go(one, Tiny(), replace(config, steps=longer))
        go(two, Tiny(), replace(config, steps=first))
        result = go(two, Tiny(), replace(config, steps=longer), resume=True)
        assert replace(result, seconds=0, out=one) == replace(whole, seconds=0)
        same_runs(one, two)


def test_an_end_between_validations_that_is_the_best_is_kept_and_then_forgotten(
    tmp_path: Path,
) -> None:
    # After step 4 all is unlearned: it has the lowest loss of all.
    config = replace(CONFIG, steps=4, learning_rate_factor=2.0, average_last=1)
    model = Tiny()
    short = go(tmp_path / "2", model, config)
    losses = {line["step"]: line["loss"] for line in told(tmp_path / "2")}
    assert short.final_loss == short.best_loss == losses[4] < losses[3]
    assert validation_loss(model, HELD_OUT) == pytest.approx(losses[4], abs=1e-9)

    class Worse:
        """The data, with targets from the fifth batch on that are never right."""

        def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
            for place, batch in enumerate(DATA.epoch(number, start), start):
                wrong = batch.tgt_out.where(batch.tgt_out == PAD_ID, 1)
                yield Batch(batch.src, batch.tgt_in, wrong if place > 3 else batch.tgt_out)

    longer = replace(config, steps=12)
    whole = go(tmp_path / "1", Tiny(), longer, batches=Worse())
    result = go(tmp_path / "2", Tiny(), longer, batches=Worse(), resume=True)
    assert (result.best_loss, result.final_loss) == (whole.best_loss, whole.final_loss)
    same_runs(tmp_path / "1", tmp_path / "2")


@pytest.mark.parametrize("steps", [2, 5, 12])  # before the first validation, after it, at one
def test_resuming_with_the_steps_that_are_done_ends_the_run(tmp_path: Path, steps: int) -> None:
    config = replace(CONFIG, steps=steps, average_last=1)
    go(tmp_path / "1", Tiny(), config)
    go(tmp_path / "2", Tiny(), replace(config, steps=13), stop_after=steps)
    with pytest.raises(UserError, match=f"give {steps} steps or more"):
        go(tmp_path / "2", Tiny(), replace(config, steps=1), resume=True)
    for _ in range(2):  # the second time nothing is left to do
        result = go(tmp_path / "2", Tiny(), config, resume=True)
        assert (result.step, result.interrupted) == (steps, False)
        same_runs(tmp_path / "1", tmp_path / "2")


def test_a_state_is_saved_every_few_minutes(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_SAVES", -1.0)
    steps: list[int] = []
    save = State.save

    def count(state: State, *where: Any) -> None:
        steps.append(state.progress.step)
        save(state, *where)

    go(tmp_path / "1", Tiny())
    monkeypatch.setattr(State, "save", count)
    go(tmp_path / "2", Tiny())
    assert set(range(12)) <= set(steps)
    same_runs(tmp_path / "1", tmp_path / "2")


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: Patch) -> None:
    def fail(source: Path, target: Path) -> None:
        if target.name == "last.safetensors":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace_file(source, target)

    replace_file = os.replace
    go(tmp_path / "1", Tiny())
    go(tmp_path / "2", Tiny(), stop_after=4)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(UserError, match=r"cannot save .*No space left.* is unharmed"):
            go(tmp_path / "2", Tiny(), resume=True)
    left = tmp_path / "2" / "checkpoints" / ".last.safetensors.5f1c.tmp"
    left.write_bytes(b"half")  # of a kill while it was written
    go(tmp_path / "2", Tiny(), resume=True)
    assert not left.exists()
    same_runs(tmp_path / "1", tmp_path / "2")


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_a_step_that_is_not_finite_stops_the_run_and_is_never_saved(
    tmp_path: Path, where: str
) -> None:
    go(tmp_path / "straight", Tiny())
    for report_every in (2, 100):  # seen at a report, or at a checkpoint
        out, config = tmp_path / str(report_every), replace(CONFIG, report_every=report_every)
        with pytest.raises(UserError, match=r"step 7: the loss .*last\.safetensors, is unharmed"):
            go(out, spoiled(Tiny(), range(7, 8), where), config)
        assert load_tensors(out / LAST)[1]["progress"]["step"] == 6
    go(tmp_path / "2", Tiny(), resume=True)  # the fault was in the machine, say
    same_runs(tmp_path / "straight", tmp_path / "2")


def test_a_run_is_not_overwritten_or_gone_on_with_as_another(tmp_path: Path) -> None:
    go(tmp_path, Tiny(), stop_after=4)
    before = all_bytes(tmp_path)
    with pytest.raises(UserError, match="holds a run already: go on with it"):
        go(tmp_path, Tiny())
    with pytest.raises(UserError, match=r"label_smoothing=0\.1 and cannot go on with .*=0\.2"):
        go(tmp_path, Tiny(), replace(CONFIG, label_smoothing=0.2), resume=True)
    with pytest.raises(UserError, match=r"does not fit this model: .* has shape"):
        go(tmp_path, Tiny(size=17), resume=True)
    assert all_bytes(tmp_path) == before
    go(tmp_path, Tiny(), resume=True)
    (tmp_path / LAST).unlink()
    before = all_bytes(tmp_path)
    for resume in (True, False):  # weights without their last checkpoint
        with pytest.raises(UserError, match=r"that needs checkpoints/last\.safetensors"):
            go(tmp_path, Tiny(), resume=resume)
    assert all_bytes(tmp_path) == before


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    other = Tiny()

    def second_run(report: Report) -> None:
        with ThreadPoolExecutor() as pool:
            begun = pool.submit(go, tmp_path / "2", other, resume=True)
        with pytest.raises(UserError, match="is in use by another run: wait"):
            begun.result()

    go(tmp_path / "1", Tiny())
    go(tmp_path / "2", Tiny(), on_report=second_run)
    same_runs(tmp_path / "1", tmp_path / "2")


def test_no_data(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="epoch 0 has no batches"):
        go(tmp_path / "1", Tiny(), batches=SimpleNamespace(epoch=lambda number, start: iter(())))
    with pytest.raises(UserError, match="no validation tokens"):
        go(tmp_path / "2", Tiny(), validation_batches=[])
