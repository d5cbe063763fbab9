"""Specimens are trained, measured and recorded; what is recorded is not made again."""

from pathlib import Path

import pytest

from experiments import museum_training as train
from tests.helpers import TINY
from transformer.data import corpora, tokenizers
from transformer.data.batches import encode_pairs
from transformer.data.parallel import ParallelText
from transformer.recipes.named import find_recipe
from transformer.support.errors import UserError
from transformer.support.files import read_json


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few sentences, a tiny network, four steps."""
    recipe = find_recipe("demo").override(TINY)
    text = corpora.load("embedded", "train", "en", "fr")
    few = ParallelText(src_lang="en", tgt_lang="fr", src=text.src[:80], tgt=text.tgt[:80])
    held_out = ParallelText(src_lang="en", tgt_lang="fr", src=text.src[80:87], tgt=text.tgt[80:87])
    sides = tokenizers.train(recipe.data, few.src, few.tgt)
    examples = [encode_pairs(*sides, each, 60) for each in (few, held_out)]
    made = train.Text(recipe, sides[1], examples[0], held_out, examples[1])
    monkeypatch.setattr(train, "text", lambda: made)
    monkeypatch.setattr(train, "STEPS", 4)
    monkeypatch.setattr(train, "REPORT_EVERY", 2)
    train._sound_weights.cache_clear()


def test_a_record_has_the_curve_and_the_figures(small: None, tmp_path: Path) -> None:
    lines: list[str] = []
    names = ["sound", "no_causal_mask"]
    train.train_museum(tmp_path, seeds=[1], only=names, on_line=lines.append)
    for name in names:
        record = read_json(tmp_path / f"{name}.json")
        assert record["specimen"] == name
        assert record["budget"]["steps"] == 4
        (run,) = record["runs"]
        assert [step for step, _ in run["curve"]] == [2, 4]
        assert all(4 < loss < 9 for _, loss in run["curve"])
        assert run["perplexity"] > 100
        assert 0 <= run["bleu"]["score"] < 20
        assert len(run["translations"]) == train.SHOWN
        assert run["provenance"]["commit"]
        assert "perplexity_reported" not in run
    assert [line.split(":")[1] for line in lines] == [" sound, seed 1", " no_causal_mask, seed 1"]


def test_what_is_recorded_is_not_made_again(small: None, tmp_path: Path) -> None:
    train.train_museum(tmp_path, seeds=[1], only=["sound"], on_line=lambda line: None)
    before = read_json(tmp_path / "sound.json")
    lines: list[str] = []
    train.train_museum(tmp_path, seeds=[1, 2], only=["sound"], on_line=lines.append)
    after = read_json(tmp_path / "sound.json")
    assert after["runs"][0] == before["runs"][0]
    assert [run["seed"] for run in after["runs"]] == [1, 2]
    assert len(lines) == 1


def test_a_fault_of_the_search_has_the_sound_weights(small: None, tmp_path: Path) -> None:
    names = ["sound", "inverted_in_translation", "loss_over_padding"]
    train.train_museum(tmp_path, seeds=[3], only=names, on_line=lambda line: None)
    sound, search, loss = (read_json(tmp_path / f"{name}.json")["runs"][0] for name in names)
    assert search["curve"] == sound["curve"] != loss["curve"]
    assert search["perplexity"] == sound["perplexity"]


def test_a_weight_that_is_no_number_is_measured_too(small: None) -> None:
    specimen = train.trained()["rate_too_high"]
    assert train.perplexity(float("nan")) is None
    assert train.perplexity(200.0) is None
    assert train.perplexity(0.0) == 1.0
    run = train.one_run(specimen, 1)
    assert len(run["curve"]) == 2


def test_what_does_not_train_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown specimen 'one_ahead'"):
        train.train_museum(tmp_path, seeds=[1], only=["one_ahead"])
    assert not list(tmp_path.iterdir())
