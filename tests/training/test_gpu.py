"""What only a GPU can show: `make gpu`. Skipped where there is none."""

import math
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers import ROOT, TINY, python
from tests.helpers.tiny_training import (
    CONFIG,
    D_MODEL,
    DATA,
    EXAMPLES,
    HELD_OUT,
    VOCAB,
    Tiny,
    assert_close_weights,
    run_tiny,
)
from transformer.attention import MultiHeadAttention
from transformer.config import ModelConfig
from transformer.data import batch_shapes, corpora
from transformer.data.batches import Batch
from transformer.data.token_budget import TokenBudgetBatches
from transformer.decoding import beam_search
from transformer.masks import causal_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.recipes import find_recipe
from transformer.support.files import read_json
from transformer.support.provenance import hardware_name
from transformer.training import loop
from transformer.training.cuda_graphs import Step, make_recorder
from transformer.training.devices import Precision, pick_device_and_precision
from transformer.training.graphed_update import GraphedUpdate
from transformer.training.loop import new_state, update
from transformer.training.recipe import train_recipe
from transformer.training.report import read_log
from transformer.training.run import StepStats

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]
GPU = torch.device("cuda")


def small_model() -> Transformer:
    torch.manual_seed(5)
    shape = ModelConfig(d_model=D_MODEL, d_ff=32, num_heads=2, num_layers=2)
    return Transformer(shape, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB)


def test_the_gpu_is_named_and_picked() -> None:
    here = pick_device_and_precision()
    assert hardware_name(GPU) == torch.cuda.get_device_name() in str(here)
    new = torch.cuda.get_device_capability() >= (8, 0)
    assert here.precision == (Precision.BF16 if new else Precision.FP16)


@pytest.mark.parametrize("precision", Precision)
def test_resumed_goes_on_with_the_same_dropout(tmp_path: Path, precision: Precision) -> None:
    straight, resumed = Tiny(), Tiny()
    given = {"device": "cuda", "precision": precision}
    run_tiny(tmp_path / "1", straight, **given)
    run_tiny(tmp_path / "2", Tiny(), stop_after=5, **given)
    run_tiny(tmp_path / "2", resumed, resume=True, **given)
    assert_close_weights(resumed, straight)


def test_every_precision_learns_as_float32_does(tmp_path: Path) -> None:
    # Without dropout, while the held-out loss falls: later, weights moved by 1/1000 differ as much.
    config = replace(CONFIG, steps=100, learning_rate=0.003, validate_every=25)
    losses = {}
    for precision in Precision:
        out = tmp_path / precision
        model = small_model()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        run_tiny(out, model, config, device="cuda", precision=precision)
        log = read_log(out / "log.jsonl")
        losses[precision] = [row["loss"] for row in log if row["kind"] == "validation"]
    exact = losses[Precision.FLOAT32]
    assert min(exact) < math.log(VOCAB) - 0.1  # below chance
    for precision, found in losses.items():
        apart = max(abs(a - b) for a, b in zip(found, exact, strict=True))
        print(f"{precision}: last loss {found[-1]:.4f}, at most {apart:.4f} from float32's")
        assert apart < 0.1


def test_the_same_on_gpu_and_cpu() -> None:
    model, batch = small_model().eval(), HELD_OUT[0]
    with torch.no_grad():
        there = model.to(GPU)(batch.src.to(GPU), batch.tgt_in.to(GPU)).cpu()
        here = model.cpu()(batch.src, batch.tgt_in)
    torch.testing.assert_close(there, here, atol=1e-4, rtol=1e-4)
    found = []
    for device in ("cpu", "cuda"):
        hypotheses = beam_search(model.to(device), batch.src.to(device), max_len=9)
        found.append([[each.ids for each in sentence] for sentence in hypotheses])
    assert found[0] == found[1]


def test_the_fused_kernel_gives_what_the_explicit_one_does() -> None:
    torch.manual_seed(7)
    attention = MultiHeadAttention(D_MODEL, num_heads=2, d_k=7, d_v=5).to(GPU).eval()
    states, mask = torch.randn(5, 37, D_MODEL, device=GPU), causal_mask(37, device=GPU)
    fused, _ = attention(states, mask=mask)
    explicit, weights = attention(states, mask=mask, return_weights=True)
    assert weights is not None
    torch.testing.assert_close(fused, explicit, atol=1e-4, rtol=1e-4)


def test_shipped_models_translate_as_on_the_cpu() -> None:
    text = corpora.load("embedded", "test", "en", "fr").src[:200]
    said = [Translator.load("demo-en-fr", device).translate(text) for device in ("cpu", "cuda")]
    same = sum(a == b for a, b in zip(*said, strict=True))
    assert same >= 198  # a tie may fall the other way


def test_what_does_not_fit_is_done_in_parts(tmp_path: Path) -> None:
    big = TINY | {"steps": "2", "d_model": "512", "d_ff": "2048", "vocab_size": "8000"}
    recipe = find_recipe("demo").override(big | {"batch_tokens": "200000"})
    said: list[str] = []
    _, whole = torch.cuda.mem_get_info()
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(2.5e9 / whole)
    try:
        train_recipe(recipe, tmp_path, micro_tokens=0, on_begin=said.append, on_report=said.append)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert re.search("200,000 tokens, (?!200,000)[0-9,]+ at a time", said[0]), said[0]
    assert read_json(tmp_path / "run.json")["steps"] == 2


def test_more_processes_than_gpus_are_refused(tmp_path: Path) -> None:
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    command += [torch.cuda.device_count() + 1, "-m", "transformer", "train", "demo"]
    done = python(*command, "--out", tmp_path / "run", cwd=ROOT, status=1)
    assert "processes on a machine with" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.fixture
def rounded_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Round shapes up, of which the tests' text has few as it is."""
    monkeypatch.setattr(batch_shapes, "MAX_SHAPES_AS_PADDED", 0)


class NoRecorder:
    """A `StepRecorder` whose replays are the step itself, operation by operation."""

    def run(self, step: Step) -> None:
        step()

    def record(self, step: Step) -> Step:
        return step


def train_with_graphs(out: Path, **options: Any) -> torch.nn.Module:
    """Make 40 steps over a few shapes, most of which are replays."""
    model = small_model()
    batches = TokenBudgetBatches(EXAMPLES, 45, pool_batches=3)
    config = replace(CONFIG, steps=40, validate_every=20, clip_norm=0.5)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "no CUDA graphs")
        run_tiny(out, model, config, device="cuda", batches=batches, cuda_graphs=True, **options)
    return model


@pytest.mark.usefixtures("rounded_shapes")
@pytest.mark.parametrize("precision", Precision)
def test_replays_do_what_the_step_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: Precision
) -> None:
    replayed = train_with_graphs(tmp_path / "1", precision=precision)
    monkeypatch.setattr(loop, "make_recorder", lambda _: NoRecorder())
    launched = train_with_graphs(tmp_path / "2", precision=precision)
    assert_close_weights(replayed, launched)


@pytest.mark.usefixtures("rounded_shapes")
def test_a_recorded_run_resumes_with_the_same_dropout(tmp_path: Path) -> None:
    straight = train_with_graphs(tmp_path / "1")
    train_with_graphs(tmp_path / "2", stop_after=17)
    resumed = train_with_graphs(tmp_path / "2", resume=True)
    assert_close_weights(resumed, straight)


def test_no_step_waits_for_the_gpu() -> None:
    model = small_model().to(GPU).train()
    state = new_state(model, CONFIG, Precision.FP16)

    def plain_update(batch: Batch, rate: float | Tensor) -> StepStats:
        return update(model, state, batch, CONFIG, rate, Precision.FP16)

    graphed = GraphedUpdate(plain_update, state, DATA, make_recorder(GPU))
    rows = np.array(DATA.plan(0)[0])
    graphed(rows, 1e-4)  # makes what is made once
    graphed(rows, 1e-4)  # recording waits by design
    torch.cuda.set_sync_debug_mode("error")
    try:
        stats = [graphed(rows, 1e-4) for _ in range(5)]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert all(torch.isfinite(each.nll) for each in stats)
    assert len({float(each.nll) for each in stats}) == 5  # dropout and weights go on
