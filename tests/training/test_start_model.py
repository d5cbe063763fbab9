"""A run that begins with a trained model has its weights and vocabularies, and nothing else."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.helpers import TINY
from tests.helpers.corpus import small_corpus
from transformer.config import ModelConfig, Recipe, RecurrentConfig
from transformer.data import corpora
from transformer.data.batches import encode_pairs
from transformer.data.token_budget import TokenBudgetBatches
from transformer.data.tokenizers import BPETokenizer
from transformer.models.folder import read_description, read_model
from transformer.models.weights import load_tensors
from transformer.recipes import find_recipe
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.training.devices import Precision
from transformer.training.model_loss import validation_loss
from transformer.training.recipe import train_recipe
from transformer.training.result import TrainingResult
from transformer.training.start_model import require_same_network, with_network_of

Patch = pytest.MonkeyPatch
RECIPE = find_recipe("demo").override(TINY | {"steps": "5", "dropout": "0.1"})
OTHER = RECIPE.override({"seed": "7", "steps": "4", "vocab_size": "307", "dropout": "0.3"})


@pytest.fixture(autouse=True)
def quick(monkeypatch: Patch) -> None:
    monkeypatch.setattr(corpora, "load", small_corpus)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained model, English to French."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "load", small_corpus)
        return run(RECIPE, tmp_path_factory.mktemp("first") / "model").out


def run(recipe: Recipe, out: Path, **options: Any) -> TrainingResult:
    """Train a recipe and print nothing."""
    quiet: dict[str, Any] = dict.fromkeys(("on_begin", "on_report"), lambda _: None)
    return train_recipe(recipe, out, device=torch.device("cpu"), **quiet | options)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_tensors(folder / "model.safetensors")[0]


def same(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    assert one.keys() == two.keys()
    return all(torch.equal(one[name], two[name]) for name in one)


def test_it_begins_with_the_models_weights_vocabularies_and_loss(
    first: Path, tmp_path: Path
) -> None:
    said: list[str] = []
    run(OTHER, tmp_path / "run", start_from=first, on_begin=said.append)
    description, model = read_model(first)
    held_out = encode_pairs(
        *description[1:], small_corpus("", "validation", "en", "fr"), RECIPE.model.max_len - 1
    )
    batches = TokenBudgetBatches(held_out, RECIPE.training.batch_tokens)
    precision = Precision(read_json(tmp_path / "run" / "data.json")["precision"])
    loss = validation_loss(model, list(batches.epoch(0)), precision=precision)
    for name in ("data.json", "run.json"):
        record = read_json(tmp_path / "run" / name)["start_from"]
        assert record["validation_loss"] == pytest.approx(loss, rel=1e-6)
        assert (record["model"], record["languages"]) == (str(first), "en-fr")
    assert f"{loss:.3f} before the first step" in said[0]
    kept = read_description(tmp_path / "run")
    assert [side.to_dict() for side in kept[1:]] == [side.to_dict() for side in description[1:]]
    assert kept.recipe.data.vocab_size == RECIPE.data.vocab_size  # as the vocabularies have it
    assert not same(weights(tmp_path / "run"), weights(first))
    # With a rate of almost nothing its weights stay.
    still = OTHER.override({"learning_rate": "1e-30", "steps": "1"})
    run(still, tmp_path / "still", start_from=first)
    assert same(weights(tmp_path / "still"), weights(first))
    run(still, tmp_path / "without")
    assert not same(weights(tmp_path / "without"), weights(first))


def test_stopped_and_resumed_equals_straight_through(
    first: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    run(OTHER, tmp_path / "straight", start_from=first)
    part = tmp_path / "part"
    run(OTHER, part, start_from=first, stop_after=2)
    second = run(RECIPE.override({"seed": "3"}), tmp_path / "second").out
    for start, says in (
        (None, "was begun with --start-from"),
        (second, "begun with the weights of"),
    ):
        with pytest.raises(UserError, match=says):
            run(OTHER, part, start_from=start, resume=True)
    # A copy elsewhere is the same model.
    shutil.copytree(first, tmp_path / "copy")
    run(OTHER, part, start_from=tmp_path / "copy", resume=True)
    assert same(weights(tmp_path / "straight"), weights(part))
    records = [read_json(tmp_path / name / "run.json") for name in ("straight", "part")]
    assert records[0]["start_from"] == records[1]["start_from"]
    run(RECIPE, tmp_path / "plain", stop_after=2)
    with pytest.raises(UserError, match="begun without --start-from: leave it out"):
        run(RECIPE, tmp_path / "plain", start_from=first, resume=True)


def test_what_does_not_fit_is_refused_before_a_line_is_read(
    first: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the text was read")

    monkeypatch.setattr(corpora, "load", fail)
    for settings, says in (
        ({"d_model": "26"}, "d_model 16 and not 26: give --set d_model=16"),
        ({"num_layers": "3"}, "num_layers 1 and not 3: give --set num_layers=1"),
        ({"d_model": "26", "d_ff": "31"}, "d_model 16 and not 26, d_ff 17 and not 31: give --set"),
        ({"pre_norm": str(not RECIPE.model.pre_norm)}, "pre_norm"),  # type: ignore[union-attr]
        ({"num_heads": "4"}, "num_heads 2 and not 4: give --set num_heads=2"),
    ):
        with pytest.raises(UserError, match=says) as caught:
            run(OTHER.override(settings), tmp_path / "run", start_from=first)
        assert "\n" not in str(caught.value)
    lstm = replace(OTHER, model=RecurrentConfig())
    with pytest.raises(UserError, match="is a Transformer, and this recipe trains an LSTM"):
        run(lstm, tmp_path / "run", start_from=first)
    with pytest.raises(UserError, match="no model folder 'nothing'"):
        run(OTHER, tmp_path / "run", start_from="nothing")
    with pytest.raises(UserError, match="give one of them"):
        run(OTHER, tmp_path / "run", start_from=first, initialize=lambda model, examples: None)
    assert not (tmp_path / "run").exists()


def test_networks_are_the_same_if_their_weights_mean_the_same() -> None:
    base = ModelConfig(d_model=22, num_heads=2, d_ff=31, num_layers=1)
    alike: list[dict[str, Any]] = [{"dropout": 0.9}, {"d_k": 11, "d_v": 11}, {"max_len": 37}]
    for change in alike:
        require_same_network("it", base, replace(base, **change))
    for change in ({"d_k": 7}, {"output_bias": True}, {"positions": "learned"}):
        with pytest.raises(UserError, match="does not fit"):
            require_same_network("it", base, replace(base, **change))
    learned = replace(base, positions="learned")
    with pytest.raises(UserError, match="max_len 256 and not 37"):
        require_same_network("it", learned, replace(learned, max_len=37))
    start = replace(RECIPE, parts="rotary")
    adopted = with_network_of(replace(RECIPE, model=replace(base, dropout=0.37)), start)
    assert adopted.model == replace(RECIPE.model, dropout=0.37)
    assert adopted.parts == "rotary"


def test_the_other_direction_and_another_pair_normalize_as_their_languages_do(
    first: Path, tmp_path: Path
) -> None:
    for src, tgt, names in (
        ("fr", "en", ["french", "english"]),
        ("fr", "uk", ["french", "composed"]),
    ):
        recipe = OTHER.override({"src_lang": src, "tgt_lang": tgt})
        said: list[str] = []
        out = tmp_path / f"{src}-{tgt}"
        run(recipe, out, start_from=first, on_begin=said.append)
        _, *sides = read_description(out)
        assert [side.normalizer for side in sides] == names
        for theirs, ours in zip(read_description(first)[1:], sides, strict=True):
            assert isinstance(theirs, BPETokenizer)
            assert isinstance(ours, BPETokenizer)
            assert ours.merges == theirs.merges
        assert f"embedded {src}-{tgt}" in said[0]
        assert "for en-fr" in said[0]


def test_words_of_another_language_are_refused(tmp_path: Path) -> None:
    words = {"tokenizer": "words", "vocab_size": "40", "min_frequency": "1"}
    model = run(RECIPE.override(words), tmp_path / "words").out
    back = run(RECIPE.override({"src_lang": "fr", "tgt_lang": "en"}), tmp_path / "back",
               start_from=model)  # fmt: skip
    assert [side.to_dict()["lang"] for side in read_description(back.out)[1:]] == ["fr", "en"]
    with pytest.raises(UserError, match="vocabulary of words of en and fr, and src_lang is de"):
        run(RECIPE.override({"src_lang": "de"}), tmp_path / "no", start_from=model)


def test_weights_without_a_runs_state_are_begun_with_not_resumed(
    first: Path, tmp_path: Path
) -> None:
    shutil.copytree(first, tmp_path / "model")
    (tmp_path / "model" / "checkpoints" / "last.safetensors").unlink()
    with pytest.raises(UserError, match=r"--start-from") as caught:
        run(RECIPE, tmp_path / "model", resume=True)
    assert "--resume" not in str(caught.value)
