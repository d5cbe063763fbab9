"""Contenders do the same work; their seconds are set beside ours round by round; what grows."""

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from experiments.bench import contenders, growth, training
from experiments.bench.contenders import Workload
from experiments.bench.tables import MARIAN, OURS, TORCH
from lessonkit.analysis.costs import step_flops
from lessonkit.analysis.machines import one_thread
from transformer.config import ModelConfig, Positions, TrainingConfig
from transformer.data import corpora
from transformer.data.batches import Batch, Example, TokenBudgetBatches
from transformer.model import count_parameters
from transformer.recipes.named import find_recipe

Patch = pytest.MonkeyPatch
SRC_TYPES, TGT_TYPES = 61, 53
CAPTIONS = ModelConfig(d_model=12, d_ff=22, num_heads=3, num_layers=2, pre_norm=True)
SYSTEM_4 = dataclasses.replace(
    CAPTIONS,
    pre_norm=False,
    positions=Positions.LEARNED,
    attention_bias=True,
    output_bias=True,
    attention_dropout=0.1,
    feed_forward_dropout=0.1,
    tie_source_target=False,
    tie_softmax=False,
)


def workload(config: ModelConfig, count: int = 3) -> Workload:
    """Sentences of 5 and 7 tokens beside 3 and 2, in a recipe of small sizes."""
    tied = config.tie_source_target
    recipe = dataclasses.replace(
        find_recipe("multi30k"),
        model=config,
        data=dataclasses.replace(find_recipe("multi30k").data, joint_vocabulary=tied),
        training=TrainingConfig(label_smoothing=0.1, clip_norm=1.0),
    )
    examples = [Example([5, 6, 7, 8, 9], [4, 5, 6, 7, 8, 9, 10]), Example([11, 12, 13], [14, 15])]
    pipeline = TokenBudgetBatches(examples, 100)
    batches = [next(iter(pipeline.epoch(0))) for _ in range(count)]
    return Workload(recipe, batches, pipeline, TGT_TYPES if tied else SRC_TYPES, TGT_TYPES)


@pytest.fixture(autouse=True)
def on_one_thread() -> Iterator[None]:
    with one_thread():
        yield


def made(config: ModelConfig, peer: str, bf16: bool = False) -> dict[str, contenders.Contender]:
    if peer == MARIAN:
        pytest.importorskip("transformers", reason="needs the extra [foreign]")
    return contenders.make_contenders(workload(config), bf16)


@pytest.mark.slow
def test_contenders_do_the_same_work() -> None:
    """As many multiplications as PyTorch counts; PyTorch's own has as many parameters too."""
    for config in (CAPTIONS, SYSTEM_4):
        batch = workload(config).batches[0]
        assert (batch.src.shape, batch.tgt_in.shape) == ((2, 6), (2, 8))
        told = step_flops(config, TGT_TYPES, sentences=2, src_len=6, tgt_len=8) // 2
        found = contenders.make_contenders(workload(config), False)
        for name, contender in found.items():
            assert contenders.multiply_adds(contender, batch) == told, name
        assert count_parameters(found[OURS].model) == count_parameters(found[TORCH].model)
        assert found[TORCH].differs == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("peer", "bf16"), [(OURS, False), (OURS, True), (TORCH, False), (MARIAN, False)]
)
def test_a_contender_learns_a_batch(peer: str, bf16: bool) -> None:
    contender = made(CAPTIONS, peer, bf16)[peer]
    batch = workload(CAPTIONS).batches[0]

    def loss() -> float:
        logits = contender.model.eval()(batch.src, batch.tgt_in)
        contender.model.train()
        real = batch.tgt_out != 0
        return nn.functional.cross_entropy(logits[real], batch.tgt_out[real]).item()

    before = loss()
    for number in range(1, 13):
        contender.step(3000 + number, batch)
    assert loss() < before - 0.1


@pytest.mark.slow
def test_without_multi30k_the_batches_are_of_the_embedded_corpus(monkeypatch: Patch) -> None:
    monkeypatch.setattr(corpora, "verify", lambda corpus: {Path("train.de.gz"): False})
    found = contenders.load("multi30k", 2)
    assert found.recipe.data.corpus == found.about()["corpus"] == "embedded"
    assert found.about()["batches"] == len(found.batches) == 2
    logits = found.build()(found.batches[0].src[:2], found.batches[0].tgt_in[:2])
    assert logits.shape[-1] == found.tgt_vocab_size


def test_the_first_batch_is_not_counted_and_ratios_are_of_a_round(monkeypatch: Patch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: clock[0])
    model = nn.Linear(1, 1)

    def slow(*seconds: float) -> contenders.Contender:
        def step(number: int, batch: Batch) -> None:
            clock[0] += seconds[number - 1]

        return contenders.Contender(model, step, "slow")

    found = {OURS: slow(99.0, 2.0, 4.0, 2.0), TORCH: slow(1.0, 3.0, 2.0, 8.0)}
    monkeypatch.setattr(training, "make_contenders", lambda *_: found)
    monkeypatch.setattr(training, "multiply_adds", lambda *_: 1)
    monkeypatch.setattr(training, "where_time_goes", lambda *_: {})
    figures = training.compare(workload(CAPTIONS, 4), False, 1e-6, str)["contenders"]
    assert figures[TORCH]["ours_is_times"] == 1.5  # of 3 / 2, 2 / 4 and 8 / 2
    assert figures[TORCH]["lowest_and_highest"] == [0.5, 4.0]
    assert figures[TORCH]["seconds"] == [3.0, 2.0, 8.0]
    assert figures[OURS]["tokens_per_second"] == round(11 / 2)
    # 2 seconds for the multiplications of the batch, beside a ceiling of 1,000 a second
    told = step_flops(CAPTIONS, TGT_TYPES, sentences=2, src_len=6, tgt_len=8) // 2
    assert figures[OURS]["share_of_ceiling"] == round(told / 2 / 1000, 3)


def test_bytes_that_are_kept_by_hand() -> None:
    first, second = nn.Linear(7, 5, bias=False), nn.Linear(5, 3, bias=False)
    model = nn.Sequential(first, nn.Sigmoid(), second)
    given = torch.randn(11, 7)
    # the first product keeps what it is given, the sigmoid what it gives, and so does the second
    # product, of which it is the same tensor; the weights are there anyway
    assert growth.bytes_kept(model, lambda: model(given)) == 4 * 11 * (7 + 5)


def test_growth_along_an_axis_is_told_as_multiples_of_its_first_point() -> None:
    points = [
        (value, {"length": value, "batch": 3, "vocabulary": 53, "depth": 1}) for value in (5, 7, 11)
    ]
    first, second, third = growth.along(points, str, "length")
    assert [row["value"] for row in (first, second, third)] == [5, 7, 11]
    assert first["times_the_first"] == first["multiplications_times_the_first"] == 1
    assert 7 / 5 < second["multiplications_times_the_first"] < (7 / 5) ** 2
    for row in (first, second):
        assert row["straight_line_bytes"] == row["kept_bytes"] > 0
    step = (second["kept_bytes"] - first["kept_bytes"]) / 2
    assert third["straight_line_bytes"] == round(first["kept_bytes"] + 6 * step)
    low, high = third["lowest_and_highest"]
    assert 0 < low <= third["seconds"] <= high
    for axis, values in growth.AXES.items():
        assert growth.MIDDLE[axis] in values
