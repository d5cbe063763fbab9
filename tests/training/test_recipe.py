"""Recipes carried out: what a run writes, when, and how it goes on."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.helpers import TINY
from tests.helpers.corpus import small_corpus
from transformer.config import ModelConfig, Recipe, RecurrentConfig
from transformer.data import corpora
from transformer.data.batches import Example, encode_pairs
from transformer.data.parallel import ParallelText
from transformer.lstm import Recurrent
from transformer.model import Transformer, count_parameters
from transformer.models.folder import (
    ModelDescription,
    read_description,
    read_longest_source,
    read_model,
)
from transformer.models.translator import Translator
from transformer.models.weights import load_tensors
from transformer.parts import Parts
from transformer.recipes import find_recipe
from transformer.support import provenance
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json
from transformer.support.formats import FORMAT_VERSION
from transformer.training import begun_run, devices
from transformer.training import recipe as recipe_run
from transformer.training.devices import Precision
from transformer.training.recipe import train_recipe
from transformer.training.report import read_log
from transformer.training.result import TrainingResult

Patch = pytest.MonkeyPatch
RECIPE = find_recipe("demo").override(TINY | {"steps": "5", "dropout": "0.1"})


@pytest.fixture(autouse=True)
def quick(monkeypatch: Patch) -> None:
    monkeypatch.setattr(corpora, "load", small_corpus)


def train_silently(recipe: Recipe, out: Path, **options: Any) -> TrainingResult:
    """Train a recipe and print nothing."""
    quiet: dict[str, Any] = dict.fromkeys(("on_begin", "on_report"), lambda _: None)
    return train_recipe(recipe, out, device=torch.device("cpu"), **quiet | options)


def same_weights(one: Path, two: Path) -> bool:
    """Return whether two runs ended with the same weights."""
    first, second = (load_tensors(out / "model.safetensors")[0] for out in (one, two))
    return all(torch.equal(first[name], second[name]) for name in first)


def test_a_run_leaves_all_that_a_model_is(tmp_path: Path) -> None:
    begun: list[str] = []
    reports: list[object] = []
    out = tmp_path / "runs" / "tiny"
    result = train_silently(RECIPE, out, on_begin=begun.append, on_report=reports.append)
    assert not result.interrupted
    assert sorted(path.name for path in out.iterdir()) == [
        "checkpoints", "data.json", "log.jsonl", "manifest.json", "model.safetensors",
        "recipe.json", "run.json", "src_tokenizer.json", "tgt_tokenizer.json",
    ]  # fmt: skip
    assert len(read_log(out / "log.jsonl")) == len(reports) == 5 + 3
    description, model = read_model(out)
    assert description.recipe == RECIPE
    (said,) = begun
    assert "199 sentence pairs to learn from, 23 to validate with" in said
    assert f"{count_parameters(model):,} parameters, 5 steps" in said
    kept = read_json(out / "run.json")
    assert (kept["steps"], kept["seed"]) == (5, 1)
    assert kept["validation_loss"] == result.final_loss
    assert {"command", "commit", "hardware", "torch", "date", "minutes"} <= kept.keys()
    counts = {"used": 199, "too_long": 0, "empty": 0}
    assert kept["pairs"] == {"training": counts, "validation": counts | {"used": 23}}
    assert read_json(out / "data.json")["pairs"] == kept["pairs"]


def test_what_is_too_long_to_learn_from_is_said_and_recorded(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    def every_third_twice_as_long(*names: str) -> ParallelText:
        text = small_corpus(*names)
        src = [line if i % 3 else f"{line} {line}" for i, line in enumerate(text.src)]
        return replace(text, src=src)

    monkeypatch.setattr(corpora, "load", every_third_twice_as_long)
    begun: list[str] = []
    recipe = RECIPE.override({"max_train_tokens": "9", "steps": "1"})
    train_silently(recipe, tmp_path / "tiny", on_begin=begun.append)
    description, _ = read_model(tmp_path / "tiny")
    src, tgt = description.src_tokenizer, description.tgt_tokenizer
    text = every_third_twice_as_long("embedded", "train", "en", "fr")
    sides = zip(src.encode_all(text.src), tgt.encode_all(text.tgt), strict=True)
    fitting = [pair for pair in sides if max(map(len, pair)) <= 9]
    used, long = len(fitting), 199 - len(fitting)
    assert 0 < used < 199
    assert (
        f"{used} of 199 sentence pairs to learn from ({long} longer than 9 tokens), 23 to"
        in (begun[0])
    )
    record = read_json(tmp_path / "tiny" / "run.json")
    assert record["pairs"]["training"] == {"used": used, "too_long": long, "empty": 0}
    assert record["longest_source"] == max(len(source) for source, _ in fitting)
    assert read_longest_source(tmp_path / "tiny") == record["longest_source"]


def test_a_run_in_two_parts_ends_where_one_in_one_part_does_and_may_go_on(tmp_path: Path) -> None:
    one, two, longer = tmp_path / "one", tmp_path / "two", RECIPE.override({"steps": "7"})
    train_silently(RECIPE, one)
    stopped = train_silently(RECIPE, two, stop_after=3)
    assert stopped.interrupted
    assert not (two / "run.json").exists()
    assert train_silently(RECIPE, two, resume=True).step == 5
    assert same_weights(one, two)
    assert train_silently(longer, two, resume=True).step == 7
    assert read_json(two / "run.json")["steps"] == 7
    with pytest.raises(UserError, match="has done 7 steps already"):
        train_silently(RECIPE, two, resume=True)
    assert read_model(two)[0].recipe == longer


def test_other_data_is_refused(tmp_path: Path, monkeypatch: Patch) -> None:
    train_silently(RECIPE, tmp_path, stop_after=3)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}

    def changed(split: str, name: str, of: str, *langs: str) -> ParallelText:
        text = small_corpus(name, of, *langs)
        tgt = [text.tgt[5], *text.tgt[1:5], text.tgt[0], *text.tgt[6:]]  # two change places
        return replace(text, tgt=tgt) if of == split else text

    for split, part in (("train", "training"), ("validation", "validation")):
        with monkeypatch.context() as patch:
            patch.setattr(corpora, "load", partial(changed, split))
            with pytest.raises(UserError, match=rf"the {part} examples are not .*data\.json"):
                train_silently(RECIPE, tmp_path, resume=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before
    assert train_silently(RECIPE, tmp_path, resume=True).step == 5


def test_a_run_begun_by_an_earlier_version_has_the_sums_of_its_time(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    train_silently(RECIPE, tmp_path, stop_after=1)
    (tmp_path / "manifest.json").unlink(missing_ok=True)
    data = read_json(tmp_path / "data.json")
    description = read_description(tmp_path)
    for split, part in (("train", "training"), ("validation", "validation")):
        text = small_corpus("embedded", split, "en", "fr")
        examples = encode_pairs(description.src_tokenizer, description.tgt_tokenizer, text)
        listed = "".join(repr((src, tgt)) for src, tgt in examples)
        data[part] = hashlib.sha256(listed.encode()).hexdigest()
    write_json(tmp_path / "data.json", data)
    assert train_silently(RECIPE, tmp_path, resume=True, stop_after=2).step == 2
    write_json(tmp_path / "data.json", data | {"training": "0" * 64})
    with pytest.raises(UserError, match="the training examples are not"):
        train_silently(RECIPE, tmp_path, resume=True)


def test_another_number_of_threads_is_said(tmp_path: Path, monkeypatch: Patch) -> None:
    def resumed(stop_after: int) -> list[str]:
        said: list[str] = []
        train_silently(RECIPE, tmp_path, stop_after=stop_after, on_begin=said.append, resume=True)
        return said[:-1]  # without the summary

    train_silently(RECIPE, tmp_path, stop_after=1)
    assert resumed(2) == []
    with monkeypatch.context() as patch:
        patch.setattr(torch, "get_num_threads", lambda: 97)
        (line,) = resumed(3)
    assert line.startswith("begun with hardware ")
    assert "97 threads: the weights will differ from an uninterrupted run's" in line
    assert resumed(3) == []


def test_other_code_is_said_and_data_of_a_later_format_refused(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    train_silently(RECIPE, tmp_path, stop_after=1)
    data = read_json(tmp_path / "data.json")
    assert (data["format"], data["commit"]) == (FORMAT_VERSION, provenance.commit_or_version())
    said: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(begun_run, "code_sha256", lambda: "another")
        train_silently(RECIPE, tmp_path, stop_after=2, on_begin=said.append, resume=True)
    assert said[0].startswith(f"begun with the code of {data['commit']}, resumed with that of ")
    assert said[0].endswith("the weights may differ from an uninterrupted run's")
    (tmp_path / "manifest.json").unlink()  # The check sum would be seen first.
    write_json(tmp_path / "data.json", data | {"format": FORMAT_VERSION + 1})
    with pytest.raises(UserError, match=r"data\.json is of format .* install a later version"):
        train_silently(RECIPE, tmp_path, resume=True)


def test_the_codes_check_sum_changes_with_any_file_of_it(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    sums = []
    for name, text in (("a.py", "x = 1"), ("inner/b.py", ""), ("a.py", "x = 2"), ("c.txt", "no")):
        (tmp_path / name).write_text(text)
        sums.append(provenance.code_sha256(tmp_path))
    assert len({*sums[:3]}) == 3
    assert sums[3] == sums[2]


def test_a_run_that_began_while_the_text_was_read_is_not_overwritten(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    first, second = tmp_path / "alone", tmp_path / "shared"
    train_silently(RECIPE, first)
    calls: list[str] = []

    def beside(name: str, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
        calls.append(split)
        if len(calls) == 1:
            train_silently(RECIPE, second)
        return small_corpus(name, split, src_lang, tgt_lang)

    monkeypatch.setattr(corpora, "load", beside)
    with pytest.raises(UserError, match="holds a run already"):
        train_silently(RECIPE.override({"seed": "2"}), second)
    assert same_weights(first, second)


def test_damaged_data_json(tmp_path: Path) -> None:
    train_silently(RECIPE, tmp_path, stop_after=1)
    for content in (b"[1]", b'{"training": 1}', b"half", None):
        (tmp_path / "data.json").unlink()
        if content is not None:
            (tmp_path / "data.json").write_bytes(content)
        with pytest.raises(UserError, match=r"data\.json"):
            train_silently(RECIPE, tmp_path, resume=True)


def test_a_record_tells_of_how_the_run_began_and_is_left_alone_when_nothing_is_done(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    def someone_commits(*arguments: Any, **options: Any) -> TrainingResult:
        monkeypatch.setattr(provenance, "commit_or_version", lambda: "later")
        return train(*arguments, **options)

    train = recipe_run.train
    monkeypatch.setattr(provenance, "commit_or_version", lambda: "at the beginning")
    monkeypatch.setattr(recipe_run, "train", someone_commits)
    train_silently(RECIPE, tmp_path)
    train_silently(RECIPE, tmp_path, resume=True)
    assert read_json(tmp_path / "run.json")["commit"] == "at the beginning"
    (tmp_path / "run.json").unlink()
    train_silently(RECIPE, tmp_path, resume=True)
    assert read_json(tmp_path / "run.json")["commit"] == "later"


def test_held_out_sentences_longer_than_a_batch_are_left_out(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    def load(name: str, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
        text = small_corpus(name, split, src_lang, tgt_lang)
        long = ["and " * 150] * (split != "train")
        return replace(text, src=[*text.src, *long], tgt=[*text.tgt, *long])

    monkeypatch.setattr(corpora, "load", load)
    recipe = RECIPE.override({"batch_tokens": "100", "steps": "1"})
    assert train_silently(recipe, tmp_path).step == 1


def test_a_recurrent_recipe_becomes_a_translator(tmp_path: Path) -> None:
    network = RecurrentConfig(embedding_size=11, hidden_size=13, attention=True)
    training = replace(RECIPE.training, learning_rate=1e-3, batch_sentences=7)
    recipe = replace(RECIPE, model=network, training=training)
    assert train_silently(recipe, tmp_path / "run", stop_after=2).interrupted
    assert not train_silently(recipe, tmp_path / "run", resume=True).interrupted
    translator = Translator.load(tmp_path / "run")
    assert isinstance(translator.model, Recurrent)
    assert len(translator.translate(["word1 and word2", ""])) == 2


def test_a_run_keeps_the_precision_that_it_was_begun_in(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(
        devices, "_fastest_precision", lambda device: (Precision.BF16, "as measured")
    )
    begun: list[str] = []
    train_silently(RECIPE, tmp_path, stop_after=1, on_begin=begun.append)
    assert begun[0].endswith("bf16 (as measured)")
    with pytest.raises(UserError, match=r"begun with precision=bf16 .* go on with .*=float32"):
        train_silently(RECIPE, tmp_path, resume=True, precision=Precision.FLOAT32)
    monkeypatch.setattr(
        devices, "_fastest_precision", lambda device: (Precision.FLOAT32, "as measured")
    )
    train_silently(RECIPE, tmp_path, resume=True, on_begin=begun.append)
    assert begun[1].endswith("bf16 (as the run was begun)")
    assert read_json(tmp_path / "run.json")["precision"] == "bf16"


def test_the_memory_decides_how_much_is_computed_at_once(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    seen: list[int] = []
    forward = Transformer.forward

    def small_memory(self: Transformer, src: Tensor, tgt_in: Tensor) -> Tensor:
        if self.training and tgt_in.numel() > 100:
            raise torch.OutOfMemoryError("CUDA out of memory")
        seen.extend([tgt_in.numel()] if self.training else [])
        return forward(self, src, tgt_in)

    recipe = RECIPE.override({"batch_tokens": "200"})
    with monkeypatch.context() as patch:
        patch.setattr(Transformer, "forward", small_memory)
        with pytest.raises(torch.OutOfMemoryError):
            train_silently(recipe, tmp_path / "1")
        made, empty = list[Tensor](), torch.empty_like
        patch.setattr(torch, "empty_like", lambda t, **o: made.append(t) or empty(t, **o))
        train_silently(recipe, tmp_path / "1", resume=True, micro_tokens=0, stop_after=2)
    moments = [each for each in made if isinstance(each, torch.nn.Parameter)]
    assert len(moments) == 2 * len(set(map(id, moments))) > 40  # tried beside Adam's two
    assert seen[0] == seen[1] > 50 >= max(seen[2:])  # twice, and more than is then taken


def test_a_run_killed_before_its_first_checkpoint_begins_with_the_same_weights(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def start(model: nn.Module, examples: Sequence[Example]) -> None:
        nn.init.constant_(next(model.parameters()), len(examples) / 1000)

    train_silently(RECIPE, tmp_path / "one", initialize=start)
    with monkeypatch.context() as patch:
        patch.setattr(recipe_run, "train", die)
        with pytest.raises(KeyboardInterrupt):
            train_silently(RECIPE, tmp_path / "two", initialize=start)
    train_silently(RECIPE, tmp_path / "two", resume=True, initialize=start)
    train_silently(RECIPE, tmp_path / "plain")
    assert same_weights(tmp_path / "one", tmp_path / "two")
    assert not same_weights(tmp_path / "one", tmp_path / "plain")


def test_a_run_is_refused_before_its_first_file(tmp_path: Path, monkeypatch: Patch) -> None:
    with pytest.raises(UserError, match="has nothing to resume"):
        train_silently(RECIPE, tmp_path / "run", resume=True)
    monkeypatch.setattr(devices, "memory_bytes", lambda device: 1000)
    with pytest.raises(UserError, match="of memory at the least"):
        train_silently(RECIPE, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_memory_is_that_of_the_network_that_is_built(tmp_path: Path) -> None:
    def huge(config: ModelConfig) -> nn.Module:
        return nn.Linear(2**24, 2**24)

    build = partial(ModelDescription.build, parts=Parts(feed_forward=huge))
    with pytest.raises(UserError, match="of memory at the least"):
        train_silently(RECIPE, tmp_path / "run", build=build)
    assert not (tmp_path / "run").exists()
