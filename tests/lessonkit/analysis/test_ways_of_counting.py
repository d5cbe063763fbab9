"""Five counts of BLEU, two of a loss: each by another road, and what tells them apart."""

import dataclasses
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from sacrebleu import corpus_bleu, sentence_bleu
from torch.nn.functional import cross_entropy
from torchtext.data.metrics import bleu_score

from lessonkit.analysis import ways_of_counting
from lessonkit.analysis.ways_of_counting import (
    BLEU_WAYS,
    LOSS_WAYS,
    loss_two_ways,
    record_two_ways,
)
from transformer.data import corpora
from transformer.data.batches import collate, encode_pairs
from transformer.data.parallel import ParallelText
from transformer.data.words import split_words
from transformer.evaluation import evaluate
from transformer.evaluation.evaluate import text_loss
from transformer.models.shipped import find_model
from transformer.models.translator import Translator
from transformer.recipes.named import RECIPES
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.training.runner import train_recipe

HYPOTHESES = ["The dog sees a cat.", "A small house is there.", "Yes."]
REFERENCES = ["The dog sees the cat.", "A small house stands there.", "Yes."]
TOKENS, BATCHES = LOSS_WAYS


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

    ours = ways_of_counting.with_begin_and_end(HYPOTHESES, REFERENCES, "en")
    theirs = bleu_score(marked(HYPOTHESES), [[words] for words in marked(REFERENCES)])
    assert ours == pytest.approx(100 * theirs, abs=0.01)
    plain = bleu_score(
        [split_words("en", text) for text in HYPOTHESES],
        [[split_words("en", text)] for text in REFERENCES],
    )
    assert theirs > plain  # two tokens of each sentence are right for nothing


def test_the_mean_of_sentences_is_the_mean_of_sentences() -> None:
    scores = [sentence_bleu(h, [r]).score for h, r in zip(HYPOTHESES, REFERENCES, strict=True)]
    mean = ways_of_counting.mean_of_sentences(HYPOTHESES, REFERENCES)
    assert mean == pytest.approx(sum(scores) / 3, abs=0.01)
    assert mean != pytest.approx(corpus_bleu(HYPOTHESES, [REFERENCES]).score, abs=1)


@pytest.mark.slow
def test_a_teacher_forced_output_has_seen_the_reference(run: Path, text: ParallelText) -> None:
    translator = Translator.load(run)
    guesses, references = ways_of_counting.teacher_forced(translator, text)
    assert sorted(references) == sorted(text.tgt)
    assert len(guesses) == len(references)
    # The same by hand for one sentence, one token at a time.
    source = dict(zip(text.tgt, text.src, strict=True))[references[0]]
    one = ParallelText(src_lang="fr", tgt_lang="en", src=[source], tgt=[references[0]])
    assert ways_of_counting.teacher_forced(translator, one) == ([guesses[0]], [references[0]])


@pytest.mark.slow
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
    made = ways_of_counting.record_five_ways(str(run), file, beam_size=1)
    record = read_json(file)
    assert record == made
    assert tuple(record["points"]) == BLEU_WAYS
    assert all(0 <= points <= 100 for points in record["points"].values())
    low, high = record["interval"]
    assert low <= record["points"]["sacreBLEU 13a"] <= high
    assert record["signature"].startswith("nrefs:1|")
    assert record["sentences"] == len(corpora.load("embedded", "test", "fr", "en"))
    assert {"command", "commit", "hardware", "date"} <= set(record["evaluation"])
    assert record["training"]["steps"] == 30
    assert devices == [picked]


@pytest.mark.slow
def test_what_cannot_be_recorded_is_refused_before_the_work(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> Translator:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(Translator, "load", never)
    with pytest.raises(UserError, match="is a folder: give the name of a file"):
        ways_of_counting.record_five_ways(str(run), tmp_path, beam_size=1)
    folder = shutil.copytree(run, tmp_path / "model")
    (folder / "run.json").unlink()
    with pytest.raises(UserError, match=r"run\.json"):
        ways_of_counting.record_five_ways(str(folder), tmp_path / "ways.json", beam_size=1)
    assert not (tmp_path / "ways.json").exists()


# --- the loss --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(find_model("demo-en-fr"))


@pytest.fixture(scope="module")
def long_text() -> ParallelText:
    whole = corpora.load("embedded", "test_long", "en", "fr")
    return dataclasses.replace(whole, src=whole.src[:23], tgt=whole.tgt[:23], alignments=None)


def token_losses(translator: Translator, text: ParallelText) -> list[list[float]]:
    """Each sentence's own losses, sentence by sentence, the shortest first."""
    pairs = encode_pairs(translator.src_tokenizer, translator.tgt_tokenizer, text, 255)
    losses = []
    for pair in sorted(pairs, key=lambda pair: (len(pair.src), len(pair.tgt))):
        batch = collate([pair])
        with torch.no_grad():
            logits = translator.model.eval()(batch.src, batch.tgt_in)[0]
        losses.append(cross_entropy(logits, batch.tgt_out[0], reduction="none").tolist())
    return losses


def test_both_means_are_those_of_the_single_tokens(
    translator: Translator, long_text: ParallelText
) -> None:
    losses = token_losses(translator, long_text)
    cut = [losses[first : first + 5] for first in range(0, 23, 5)]
    flat = [[loss for sentence in batch for loss in sentence] for batch in cut]
    found = loss_two_ways(translator, long_text, batch_sentences=5)
    assert tuple(found) == LOSS_WAYS
    every = [loss for batch in flat for loss in batch]
    assert found[TOKENS] == pytest.approx(sum(every) / len(every), rel=1e-4)
    means = [sum(batch) / len(batch) for batch in flat]
    assert found[BATCHES] == pytest.approx(sum(means) / 5, rel=1e-4)
    assert abs(found[TOKENS] - found[BATCHES]) > 0.001  # on these sentences they do differ


def test_the_mean_over_tokens_is_that_of_the_evaluation(
    translator: Translator, long_text: ParallelText
) -> None:
    for sentences in (1, 7, 100):
        found = loss_two_ways(translator, long_text, sentences)
        assert found[TOKENS] == pytest.approx(text_loss(translator, long_text), rel=1e-4)


def test_in_one_batch_both_are_the_same(translator: Translator, long_text: ParallelText) -> None:
    found = loss_two_ways(translator, long_text, batch_sentences=23)
    assert found[TOKENS] == pytest.approx(found[BATCHES])


def test_the_order_of_the_text_does_not_matter(
    translator: Translator, long_text: ParallelText
) -> None:
    turned = dataclasses.replace(long_text, src=long_text.src[::-1], tgt=long_text.tgt[::-1])
    assert loss_two_ways(translator, turned, 5) == pytest.approx(
        loss_two_ways(translator, long_text, 5)
    )


def test_two_ways_are_recorded_with_their_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "pick_device", lambda: torch.device("cpu"))
    file = tmp_path / "ways.json"
    made = record_two_ways("demo-en-fr", file)
    record = read_json(file)
    assert record == made
    assert record["split"] == "validation"
    assert record["sentences"] == len(corpora.load("embedded", "validation", "en", "fr"))
    for way in LOSS_WAYS:
        assert record["perplexity"][way] == pytest.approx(math.exp(record["loss"][way]))
    assert {"command", "commit", "hardware", "date"} <= set(record["evaluation"])


def test_losses_that_cannot_be_measured(
    translator: Translator, long_text: ParallelText, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="batch_sentences is 0"):
        loss_two_ways(translator, long_text, 0)
    endless = dataclasses.replace(long_text, src=["the dog " * 300], tgt=["le chien"])
    with pytest.raises(UserError, match="give shorter sentences"):
        loss_two_ways(translator, endless)
    with pytest.raises(UserError, match="is a folder: give the name of a file"):
        record_two_ways("demo-en-fr", tmp_path)
