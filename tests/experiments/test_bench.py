"""Contenders do the same work, round by round; sections, engines, and their tables."""

import dataclasses
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from experiments.bench import decoding, peers, sections, training
from experiments.bench.peers import OURS, TORCH, TrainingWorkload
from lessonkit.analysis.flops import count_flops_of_call, training_step_flops
from lessonkit.analysis.timing import computing_on_single_thread
from transformer.config import ModelConfig, PositionKind, TrainingConfig
from transformer.data.batches import Batch, Example
from transformer.data.token_budget import TokenBudgetBatches
from transformer.model import count_parameters
from transformer.recipes import find_recipe
from transformer.support.files import read_json
from transformer.training.devices import Precision

Patch = pytest.MonkeyPatch
SRC_TYPES, TGT_TYPES = 61, 53
CAPTIONS = ModelConfig(d_model=12, d_ff=22, num_heads=3, num_layers=2, pre_norm=True)
SYSTEM_4 = dataclasses.replace(
    CAPTIONS, pre_norm=False, positions=PositionKind.LEARNED, attention_bias=True, output_bias=True,
    attention_dropout=0.1, feed_forward_dropout=0.1, tie_source_target=False, tie_softmax=False,
)  # fmt: skip


def workload(config: ModelConfig, count: int = 3) -> TrainingWorkload:
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
    return TrainingWorkload(recipe, batches, pipeline, TGT_TYPES if tied else SRC_TYPES, TGT_TYPES)


@pytest.fixture(autouse=True)
def on_one_thread() -> Iterator[None]:
    with computing_on_single_thread():
        yield


def forward_and_backward(model: nn.Module, batch: Batch) -> None:
    logits = model(batch.src, batch.tgt_in)
    nn.functional.cross_entropy(logits.transpose(1, 2), batch.tgt_out).backward()


@pytest.mark.slow
def test_contenders_do_the_same_work() -> None:
    """As many multiplications as PyTorch counts; PyTorch's own has as many parameters too."""
    for config in (CAPTIONS, SYSTEM_4):
        batch = workload(config).batches[0]
        assert (batch.src.shape, batch.tgt_in.shape) == ((2, 6), (2, 8))
        told = training_step_flops(config, TGT_TYPES, sentences=2, src_len=6, tgt_len=8)
        found = peers.make_contenders(workload(config), Precision.FLOAT32)
        for name, contender in found.items():
            flops, _ = count_flops_of_call(partial(forward_and_backward, contender.model, batch))
            assert flops == told, name
        assert count_parameters(found[OURS].model) == count_parameters(found[TORCH].model)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("peer", "precision"),
    [(OURS, Precision.FLOAT32), (OURS, Precision.BF16), (TORCH, Precision.FLOAT32)],
)
def test_a_contender_learns_a_batch(peer: str, precision: Precision) -> None:
    contender = peers.make_contenders(workload(CAPTIONS), precision)[peer]
    batch, losses = workload(CAPTIONS).batches[0], []
    for start in (3001, 3013):
        logits = contender.model.eval()(batch.src, batch.tgt_in)
        real = batch.tgt_out != 0
        losses.append(nn.functional.cross_entropy(logits[real], batch.tgt_out[real]).item())
        contender.model.train()
        for number in range(start, start + 12):
            contender.step(number, batch)
    assert losses[1] < losses[0] - 0.1


def test_a_recipe_s_first_batches(few_sentences: None) -> None:
    found = peers.load_training_workload("demo", 2)
    assert found.record_fields()["corpus"] == "embedded"
    assert found.record_fields()["batches"] == len(found.batches) == 2
    assert 0 < found.record_fields()["padding_share"] < 1


def test_the_first_batch_is_not_counted_and_ratios_are_of_a_round(monkeypatch: Patch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: clock[0])
    model = nn.Linear(1, 1)

    def slow(*seconds: float) -> peers.TrainingContender:
        def step(number: int, batch: Batch) -> None:
            clock[0] += seconds[number - 1]

        return peers.TrainingContender(model, step)

    found = {OURS: slow(99.0, 2.0, 4.0, 2.0), TORCH: slow(1.0, 3.0, 2.0, 8.0)}
    monkeypatch.setattr(training, "make_contenders", lambda *_: found)
    monkeypatch.setattr(training, "operation_time_shares", lambda _: {})
    monkeypatch.setattr(training, "peak_megabytes", lambda _: 7)
    figures = training.compare_contenders(workload(CAPTIONS, 4), Precision.FLOAT32, 1e-6)[
        "contenders"
    ]
    assert figures[TORCH]["ours_is_times"] == 1.5  # of 3 / 2, 2 / 4 and 8 / 2
    assert figures[TORCH]["lowest_and_highest"] == [0.5, 4.0]
    assert figures[TORCH]["seconds"] == [3.0, 2.0, 8.0]
    assert figures[OURS]["tokens_per_second"] == round(11 / 2)
    # 2 seconds for the multiplications of the batch, beside a ceiling of 1,000 a second
    told = training_step_flops(CAPTIONS, TGT_TYPES, sentences=2, src_len=6, tgt_len=8) // 2
    assert figures[OURS]["share_of_ceiling"] == round(told / 2 / 1000, 3)


def test_the_most_memory_of_a_step() -> None:
    def step() -> None:
        first = torch.ones(4_000_000)  # 16 MB
        second = first + 1
        del first
        second += torch.ones(1_000_000).repeat(2).sum()  # 4 and 8 beside 16

    assert training.peak_megabytes(step) == 32


def contender(tokens: int, times: float, parameters: int = 1234) -> dict[str, Any]:
    return {
        "tokens_per_second": tokens,
        "ours_is_times": times,
        "lowest_and_highest": [times - 0.1, times + 0.1],
        "share_of_ceiling": 0.456,
        "parameters": parameters,
        "peak_megabytes": 321,
        "seconds": [0.5, 0.4, 0.9],
    }


PEERS = {"ours": contender(12_345, 1.0), "torch.nn.Transformer": contender(9876, 1.25)}
PRECISIONS = {"float32": {"contenders": PEERS, "profile": {"products": 0.6, "rest": 0.4}}}
TRAINING = {"hardware": "a chip", "date": "2017-06-12"}
TRAINING |= {"recipes": {"demo": {"pipeline_seconds_a_batch": 0.01, "precisions": PRECISIONS}}}


def test_the_table_by_hand() -> None:
    whole = sections.training_steps_tables(TRAINING)
    peer = "| torch.nn.Transformer | 1,234 | 9,876 | 1.25 (1.15 to 1.35) | 46% | 321 |"
    assert f"| demo | float32 {peer}" in whole
    shares = ["products | 60%", "rest | 40%", "making the batch, over the step's time | 2.0%"]
    assert whole.splitlines()[-3:] == [f"| {share} |" for share in shares]


CLOCK = [0.0]


def slow(seconds: float, wrong: str = "") -> decoding.TranslateFunction:
    """Upper-case sentences, each in some seconds of a clock that nothing else moves."""

    def translate(sentences: list[str]) -> list[str]:
        CLOCK[0] += seconds * len(sentences)
        return ["?" if sentence == wrong else sentence.upper() for sentence in sentences]

    return translate


def test_speeds_and_equals_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "process_time", lambda: CLOCK[0])
    monkeypatch.setattr(decoding, "NUM_SENTENCES_ONE_BY_ONE", 2)
    engines = {"twice": slow(0.25), "half": slow(1.0, wrong="b")}
    text = ["a b c d", "b", "c d e f"]
    figures = decoding.compare_engines(slow(0.5), engines, text, [each.upper() for each in text])
    assert figures["twice"]["equal"] == figures["twice"]["sentences"] == 3
    assert figures["half"]["equal"] == 2
    assert figures["half"]["bleu"] < figures["half"]["our_bleu"] == figures["twice"]["bleu"] == 100
    assert figures["twice"]["together"] == {
        "times_our_speed": 2.0,
        "lowest_and_highest": [2.0, 2.0],
        "seconds": [0.75] * 5,
        "our_seconds": [1.5] * 5,
    }
    assert figures["half"]["one_by_one"]["times_our_speed"] == 0.5
    assert figures["half"]["one_by_one"]["our_seconds"] == [1.0] * 5


@pytest.mark.slow
def test_a_model_is_measured_in_every_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("ctranslate2", "onnx", "onnxruntime"):
        pytest.importorskip(package, reason="needs the extra [export]")
    monkeypatch.setattr(decoding, "NUM_TIMED_ROUNDS", 1)
    monkeypatch.setattr(decoding, "NUM_COMPARED_SENTENCES", 7)
    monkeypatch.setattr(decoding, "LONG_TARGET_TOKENS", 19)
    threads = torch.get_num_threads()
    decoding.record_decoding_speeds("demo-en-fr", tmp_path / "decoding.json")
    assert torch.get_num_threads() == threads
    made = read_json(tmp_path / "decoding.json")
    assert {"command", "commit", "hardware", "date"} < set(made)
    assert "1 thread" in made["hardware"]
    assert (made["model"], made["split"], made["rounds"]) == ("demo-en-fr", "test", 1)
    names = ("beam_search", "ctranslate2", "onnx")
    assert [made["figures"][name]["equal"] for name in names] == [7, 7, 7]
    assert "onnx" not in made["with_beams"]  # the ONNX graphs' script is greedy
    table = sections.decoding_speeds_table(made)
    assert f"| CTranslate2 {made['versions']['ctranslate2']} | " in table
    assert table.count(" | 7 of 7 | ") + table.count(" | 7 of 7 |\n") == 5
    assert [len(made["long"][beam]["milliseconds_a_token"]) for beam in ("1", "4")] == [2, 2]
