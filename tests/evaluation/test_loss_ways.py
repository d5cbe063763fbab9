"""The two means of one loss: by hand, against the package's own, and what tells them apart."""

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from transformer.data import corpora
from transformer.data.batches import collate, encode_pairs
from transformer.data.parallel import ParallelText
from transformer.evaluation import evaluate
from transformer.evaluation.evaluate import text_loss
from transformer.evaluation.loss_ways import WAYS, loss_two_ways, record_two_ways
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.trained.shipped import find_model
from transformer.trained.translator import Translator

TOKENS, BATCHES = WAYS


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(find_model("demo-en-fr"))


@pytest.fixture(scope="module")
def text() -> ParallelText:
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
    translator: Translator, text: ParallelText
) -> None:
    losses = token_losses(translator, text)
    cut = [losses[first : first + 5] for first in range(0, 23, 5)]
    flat = [[loss for sentence in batch for loss in sentence] for batch in cut]
    found = loss_two_ways(translator, text, batch_sentences=5)
    assert tuple(found) == WAYS
    every = [loss for batch in flat for loss in batch]
    assert found[TOKENS] == pytest.approx(sum(every) / len(every), rel=1e-4)
    means = [sum(batch) / len(batch) for batch in flat]
    assert found[BATCHES] == pytest.approx(sum(means) / 5, rel=1e-4)
    assert abs(found[TOKENS] - found[BATCHES]) > 0.001  # on these sentences they do differ


def test_the_mean_over_tokens_is_that_of_the_evaluation(
    translator: Translator, text: ParallelText
) -> None:
    for sentences in (1, 7, 100):
        found = loss_two_ways(translator, text, sentences)
        assert found[TOKENS] == pytest.approx(text_loss(translator, text), rel=1e-4)


def test_in_one_batch_both_are_the_same(translator: Translator, text: ParallelText) -> None:
    found = loss_two_ways(translator, text, batch_sentences=23)
    assert found[TOKENS] == pytest.approx(found[BATCHES])


def test_the_order_of_the_text_does_not_matter(translator: Translator, text: ParallelText) -> None:
    turned = dataclasses.replace(text, src=text.src[::-1], tgt=text.tgt[::-1])
    assert loss_two_ways(translator, turned, 5) == pytest.approx(loss_two_ways(translator, text, 5))


def test_a_record_has_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "pick_device", lambda: torch.device("cpu"))
    file = tmp_path / "ways.json"
    made = record_two_ways("demo-en-fr", file)
    record = read_json(file)
    assert record == made
    assert record["split"] == "validation"
    assert record["sentences"] == len(corpora.load("embedded", "validation", "en", "fr"))
    for way in WAYS:
        assert record["perplexity"][way] == pytest.approx(math.exp(record["loss"][way]))
    assert {"command", "commit", "hardware", "date"} <= set(record["evaluation"])


def test_errors(translator: Translator, text: ParallelText, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="batch_sentences is 0"):
        loss_two_ways(translator, text, 0)
    endless = dataclasses.replace(text, src=["the dog " * 300], tgt=["le chien"])
    with pytest.raises(UserError, match="give shorter sentences"):
        loss_two_ways(translator, endless)
    with pytest.raises(UserError, match="is a folder: give the name of a file"):
        record_two_ways("demo-en-fr", tmp_path)
