"""The loop: what it computes in a step and over a run, in every precision."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tests.helpers.tiny_training import (
    CONFIG,
    D_MODEL,
    DATA,
    EXAMPLES,
    HELD_OUT,
    Tiny,
    assert_close_weights,
    log_without_times,
    run_tiny,
    same_weights,
    with_bad_steps,
)
from transformer.config import PAD_ID
from transformer.data.batches import (
    Batch,
    collate,
    micro_batches,
    shard,
)
from transformer.models.folder import LAST
from transformer.models.weights import load_tensors
from transformer.support.errors import UserError
from transformer.training import loop
from transformer.training.devices import Precision
from transformer.training.model_loss import batch_loss, validation_loss
from transformer.training.report import Report
from transformer.training.schedule import learning_rate

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize("rate", [None, 0.003])
def test_equals_a_plain_loop_of_torch(tmp_path: Path, rate: float | None) -> None:
    # Independent of our loss and optimizer: torch's Adam and cross-entropy, three steps.
    config = replace(CONFIG, steps=3, average_last=1, label_smoothing=0.1, learning_rate=rate)
    config = replace(config, learning_rate_factor=0.5, report_every=1)
    rates = [rate or learning_rate(step, D_MODEL, 5, 0.5) for step in (1, 2, 3)]
    ours, plain = Tiny(dropout=0), Tiny(dropout=0)
    run_tiny(tmp_path, ours, config)
    adam = torch.optim.Adam(plain.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
    assert [line["learning_rate"] for line in log_without_times(tmp_path)][:3] == rates
    for now, batch in zip(rates, DATA.epoch(0), strict=False):
        logits = plain(batch.src, batch.tgt_in).flatten(0, 1)
        targets = batch.tgt_out.flatten()
        adam.zero_grad()
        F.cross_entropy(logits, targets, ignore_index=PAD_ID, label_smoothing=0.1).backward()
        adam.param_groups[0]["lr"] = now
        adam.step()
    assert_close_weights(ours, plain)


def test_micro_batches_equal_the_whole(tmp_path: Path) -> None:
    # Parts of unlike numbers of tokens: the mean of their means would be another gradient.
    # A large epsilon keeps Adam's step in proportion to the gradient.
    config = replace(CONFIG, average_last=1, epsilon=1.0)
    at_once = Tiny(dropout=0)
    run_tiny(tmp_path / "1", at_once, config)
    assert not same_weights(at_once, Tiny())
    for micro_tokens in (40, 13, 1):
        parts = Tiny(dropout=0)
        run_tiny(tmp_path / f"{micro_tokens} at once", parts, config, micro_tokens=micro_tokens)
        assert_close_weights(parts, at_once)


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
        run_tiny(tmp_path / str(limit), model, replace(CONFIG, clip_norm=limit), stop_after=1)
        squares = [p.grad.square().sum() for p in model.parameters() if p.grad is not None]
        norm = float(sum(squares)) ** 0.5
        assert norm == pytest.approx(0.01, rel=1e-3) if limit else norm > 0.1


def test_a_sparse_gradient_is_refused_by_name() -> None:
    model = Tiny()
    model.output.weight = nn.Parameter(
        model.output.weight.detach().clone()
    )  # else their sum is dense
    model.embedding.sparse = True
    with pytest.raises(UserError, match=r"of embedding\.weight is sparse, .*sparse=False"):
        loop.update(model, loop.new_state(model, CONFIG), next(DATA.epoch(0)), CONFIG, 0.0)


def test_another_optimizer_may_be_given(tmp_path: Path) -> None:
    # Plain descent at rate 1: the weights less their gradients, by hand, in two groups.
    def make(model: Tiny) -> torch.optim.Optimizer:
        first: dict[str, Any] = {"params": [model.embedding.weight]}
        rest = {"params": list(model.mix.parameters()), "rate_factor": 0.5}
        return torch.optim.SGD([first, rest], lr=9.0)

    model, before = Tiny(), Tiny()
    run_tiny(tmp_path, model, optimizer=make, schedule=lambda step: 1.0, stop_after=1)
    for name, factor in {"embedding.weight": 1.0, "mix.weight": 0.5, "mix.bias": 0.5}.items():
        old, now = before.get_parameter(name), model.get_parameter(name)
        assert now.grad is not None
        torch.testing.assert_close(now.detach(), (old - factor * now.grad).detach())


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
        run_tiny(tmp_path, Tiny(), config, stop_after=7)
    assert reads.count == 7  # each batch counts its tokens, before it goes to the device


def test_the_final_model_is_the_better_of_best_and_average(tmp_path: Path) -> None:
    model = Tiny()
    result = run_tiny(tmp_path, model, replace(CONFIG, average_last=3, learning_rate_factor=3))
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
    losses = [line["loss"] for line in log_without_times(tmp_path) if line["kind"] == "validation"]
    assert result.best_loss == min(losses)
    wanted = min(validation_loss(average, HELD_OUT), min(losses))
    assert result.final_loss == pytest.approx(wanted, abs=1e-5)
    assert result.final_from == ("best" if wanted == min(losses) else "average")


@pytest.mark.parametrize("precision", [Precision.BF16, Precision.FP16])
def test_16_bits_learn_about_the_same(tmp_path: Path, precision: Precision) -> None:
    full, half = Tiny(dropout=0), Tiny(dropout=0)
    config = replace(CONFIG, steps=60, validate_every=30, learning_rate_factor=0.3)
    before = validation_loss(full, HELD_OUT)
    one = run_tiny(tmp_path / "1", full, config)
    two = run_tiny(tmp_path / "2", half, config, precision=precision)
    assert one.final_loss is not None
    assert one.final_loss < before - 0.2
    assert not same_weights(full, half)
    assert half.mix.weight.dtype == torch.float32
    assert two.final_loss == pytest.approx(one.final_loss, abs=0.05)


def test_fp16_leaves_out_a_step_that_overflows_and_says_so(tmp_path: Path) -> None:
    config, reports = replace(CONFIG, report_every=1), list[Report]()
    options: dict[str, Any] = {"precision": Precision.FP16, "on_report": reports.append}
    model = with_bad_steps(Tiny(), range(3, 5))
    run_tiny(tmp_path, model, config, stop_after=2, **options)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    run_tiny(tmp_path, model, config, stop_after=4, resume=True, **options)
    assert all(torch.equal(before[name], now) for name, now in model.state_dict().items())
    left_out = load_tensors(tmp_path / LAST)[1]["progress"]["overflows"]
    assert reports[-1].note == f"steps left out (overflow): {left_out}"
    assert load_tensors(tmp_path / LAST)[1]["scaler"]["scale"] == 2**16 / 2**left_out
    with pytest.raises(UserError, match=r"step 10: the 10th in a row to overflow in fp16"):
        run_tiny(tmp_path / "2", with_bad_steps(Tiny(), range(1, 99)), config, **options)
    run_tiny(
        tmp_path / "3", with_bad_steps(Tiny(), range(1, 2), "loss"), config, stop_after=1, **options
    )
    assert str(reports[-1]).startswith("step 1/12 · epoch 1 · loss nan")
    assert log_without_times(tmp_path / "3")[0]["loss"] is None


def test_the_backward_pass_multiplies_as_the_precision_says(monkeypatch: Patch) -> None:
    inside: list[bool] = []

    @contextmanager
    def noted(*_: Any) -> Iterator[None]:
        inside.append(True)
        yield
        inside.pop()

    monkeypatch.setattr(Precision, "float32_matmul_context", noted)
    model, seen = Tiny(), list[int]()
    model.embedding.weight.register_hook(lambda grad: seen.append(len(inside)))
    loop.update(model, loop.new_state(model, CONFIG), next(DATA.epoch(0)), CONFIG, 0.0)
    assert seen == [1]


@pytest.mark.slow
def test_a_compiled_model_learns_the_same(tmp_path: Path, monkeypatch: Patch) -> None:
    ours = nn.Module.compile
    monkeypatch.setattr(nn.Module, "compile", lambda m, **o: ours(m, **o, backend="aot_eager"))
    plain, compiled = Tiny(dropout=0), Tiny(dropout=0)
    run_tiny(tmp_path / "1", plain)
    run_tiny(tmp_path / "2", compiled, compiled=True)
    assert_close_weights(compiled, plain)
