"""The five counts of BLEU: each by another road, and what each hides."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from sacrebleu import corpus_bleu, sentence_bleu
from torchtext.data.metrics import bleu_score

from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.data.words import split_words
from transformer.evaluation import bleu_ways, evaluate
from transformer.recipes.named import RECIPES
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.trained.translator import Translator
from transformer.training.runner import train_recipe

HYPOTHESES = ["The dog sees a cat.", "A small house is there.", "Yes."]
REFERENCES = ["The dog sees the cat.", "A small house stands there.", "Yes."]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder after a few steps: its output is bad, but it is output."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    settings = {"steps": "30", "d_model": "32", "d_ff": "64", "warmup_steps": "20"}
    settings |= {"src_lang": "fr", "tgt_lang": "en", "validate_every": "30"}
    train_recipe(
        RECIPES["demo"].override(settings), out, on_begin=lambda _: None, on_report=lambda _: None
    )
    return out


@pytest.fixture(scope="module")
def text() -> ParallelText:
    whole = corpora.load("embedded", "test", "fr", "en")
    return dataclasses.replace(whole, src=whole.src[:23], tgt=whole.tgt[:23], alignments=None)


def test_begin_and_end_tokens_are_counted_like_words() -> None:
    def marked(texts: list[str]) -> list[list[str]]:
        return [["<bos>", *split_words("en", text), "<eos>"] for text in texts]

    ours = bleu_ways.with_begin_and_end(HYPOTHESES, REFERENCES, "en")
    theirs = bleu_score(marked(HYPOTHESES), [[words] for words in marked(REFERENCES)])
    assert ours == pytest.approx(100 * theirs, abs=0.01)
    plain = bleu_score(
        [split_words("en", text) for text in HYPOTHESES],
        [[split_words("en", text)] for text in REFERENCES],
    )
    assert theirs > plain  # two tokens of each sentence are right for nothing


def test_the_mean_of_sentences_is_the_mean_of_sentences() -> None:
    scores = [sentence_bleu(h, [r]).score for h, r in zip(HYPOTHESES, REFERENCES, strict=True)]
    mean = bleu_ways.mean_of_sentences(HYPOTHESES, REFERENCES)
    assert mean == pytest.approx(sum(scores) / 3, abs=0.01)
    assert mean != pytest.approx(corpus_bleu(HYPOTHESES, [REFERENCES]).score, abs=1)


def test_a_teacher_forced_output_has_seen_the_reference(run: Path, text: ParallelText) -> None:
    translator = Translator.load(run)
    guesses, references = bleu_ways.teacher_forced(translator, text)
    assert sorted(references) == sorted(text.tgt)
    assert len(guesses) == len(references)
    # The same by hand for one sentence, one token at a time.
    source = dict(zip(text.tgt, text.src, strict=True))[references[0]]
    one = ParallelText(src_lang="fr", tgt_lang="en", src=[source], tgt=[references[0]])
    assert bleu_ways.teacher_forced(translator, one) == ([guesses[0]], [references[0]])


def test_five_ways_are_recorded_with_their_origin(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picked = torch.device("cpu", 0)  # a device that works anywhere and is not the default
    monkeypatch.setattr(evaluate, "pick_device", lambda: picked)
    load, devices = Translator.load, []

    def noted(folder: Path, device: object = None) -> Translator:
        devices.append(device)
        return load(folder, picked)

    monkeypatch.setattr(Translator, "load", noted)
    file = tmp_path / "ways.json"
    made = bleu_ways.record_five_ways(str(run), file, beam_size=1)
    record = read_json(file)
    assert record == made
    assert tuple(record["points"]) == bleu_ways.WAYS
    assert all(0 <= points <= 100 for points in record["points"].values())
    low, high = record["interval"]
    assert low <= record["points"]["sacreBLEU 13a"] <= high
    assert record["signature"].startswith("nrefs:1|")
    assert record["sentences"] == len(corpora.load("embedded", "test", "fr", "en"))
    assert {"command", "commit", "hardware", "date"} <= set(record["evaluation"])
    assert record["training"]["steps"] == 30
    assert devices == [picked]


def test_what_cannot_be_recorded_is_refused_before_the_work(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> Translator:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(Translator, "load", never)
    with pytest.raises(UserError, match="is a folder: give the name of a file"):
        bleu_ways.record_five_ways(str(run), tmp_path, beam_size=1)
    folder = shutil.copytree(run, tmp_path / "model")
    (folder / "run.json").unlink()
    with pytest.raises(UserError, match=r"run\.json"):
        bleu_ways.record_five_ways(str(folder), tmp_path / "ways.json", beam_size=1)
    assert not (tmp_path / "ways.json").exists()
