"""Records of texts and of figures counted in several ways: traceable, and made again."""

import shutil
from pathlib import Path

import pytest
import torch

from experiments import model_records
from experiments.split_leaks import measure_split, random_split
from transformer.data import corpora
from transformer.evaluation import evaluate
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.support.folders import find_model_folder


def test_a_random_split_keeps_every_pair_once() -> None:
    pairs = [(f"word {number}", f"mot {number}") for number in range(5)]
    train, test = random_split(pairs, test_pairs=2)
    assert len(test) == 2
    assert sorted(train + test) == pairs
    assert random_split(pairs, 2) == (train, test)


def test_a_sentence_of_the_test_set_may_be_answered_by_any_of_its_translations() -> None:
    train = [("Stop it right now!", "Arrête !")] * 3 + [("Go away from here!", "Va !")]
    answers = [("Leave us alone at once!", "Va !"), ("Go away from here!", "Va !")]
    figures = measure_split(train, answers)
    assert figures["test"] == 2
    assert figures["bleu"]["score"] == pytest.approx(100)


@pytest.mark.slow
def test_ways_are_recorded_with_their_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "pick_device", lambda: torch.device("cpu", 0))
    model_records.record_bleu_five_ways("early-fr-en", tmp_path / "five.json", beam=1)
    five = read_json(tmp_path / "five.json")
    assert five["sentences"] == len(corpora.load("embedded", "test", "fr", "en"))
    assert five["split"] == "test"
    assert {"command", "commit", "hardware", "date"} <= set(five["evaluation"])
    assert all(0 <= points <= 100 for points in five["points"].values())
    low, high = five["interval"]
    assert low <= five["points"]["sacreBLEU 13a"] <= high
    assert five["training"]["steps"] == 150


def test_what_cannot_be_recorded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Translator, "load", lambda *_: pytest.fail("the model was loaded"))
    folder = shutil.copytree(find_model_folder("demo-en-fr"), tmp_path / "model")
    (folder / "run.json").unlink()
    with pytest.raises(UserError, match=r"run\.json"):
        model_records.record_bleu_five_ways(str(folder), tmp_path / "ways.json", beam=1)
    assert not (tmp_path / "ways.json").exists()
