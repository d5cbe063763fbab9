"""Records of texts and of figures counted in several ways: traceable, and made again."""

import dataclasses
import math
import shutil
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from experiments import texts
from experiments.texts import LOSS_WAYS, loss_two_ways, random_split, record_two_ways
from transformer.data import corpora
from transformer.data.batches import collate, encode_pairs
from transformer.data.parallel import Pair, ParallelText
from transformer.evaluation import evaluate
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import find_model, read_json

TOKENS, BATCHES = LOSS_WAYS
TRAIN: list[Pair] = [
    ("Go!", "Va !"),
    ("I sleep.", "Je dors."),
    ("The cat sleeps.", "Le chat dort."),
    ("The dog sleeps.", "Le chien dort."),
    ("A bird sings.", "Un oiseau chante."),
]


def test_a_random_split_keeps_every_pair_once() -> None:
    train, test = random_split(TRAIN, test_pairs=2)
    assert len(test) == 2
    assert sorted(train + test) == sorted(TRAIN)
    assert random_split(TRAIN, 2) == (train, test)


def test_a_sentence_of_the_test_set_may_be_answered_by_any_of_its_translations() -> None:
    train = [("Stop it right now!", "Arrête !")] * 3 + [("Go away from here!", "Va !")]
    answers = [("Leave us alone at once!", "Va !"), ("Go away from here!", "Va !")]
    figures = texts.measure_pairs(train, answers)
    assert figures["test"] == 2
    assert figures["bleu"]["score"] == pytest.approx(100)


@pytest.mark.slow
def test_ways_are_recorded_with_their_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "pick_device", lambda: torch.device("cpu", 0))
    texts.record_five_ways("early-fr-en", tmp_path / "five.json", beam=1)
    record_two_ways("early-fr-en", tmp_path / "two.json")
    two, five = read_json(tmp_path / "two.json"), read_json(tmp_path / "five.json")
    for made, split in ((five, "test"), (two, "validation")):
        assert made["sentences"] == len(corpora.load("embedded", split, "fr", "en"))
        assert made["split"] == split
        assert {"command", "commit", "hardware", "date"} <= set(made["evaluation"])
    for way in LOSS_WAYS:
        assert two["perplexity"][way] == pytest.approx(math.exp(two["loss"][way]))
    assert all(0 <= points <= 100 for points in five["points"].values())
    low, high = five["interval"]
    assert low <= five["points"]["sacreBLEU 13a"] <= high
    assert five["training"]["steps"] == 150


def test_what_cannot_be_recorded_is_refused(
    tmp_path: Path, shipped: Translator, long_text: ParallelText, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = dataclasses.replace(long_text, src=["the dog " * 300], tgt=["le chien"])
    with pytest.raises(UserError, match="give shorter sentences"):
        loss_two_ways(shipped, endless)
    monkeypatch.setattr(Translator, "load", lambda *_: pytest.fail("the model was loaded"))
    folder = shutil.copytree(find_model("demo-en-fr"), tmp_path / "model")
    (folder / "run.json").unlink()
    with pytest.raises(UserError, match=r"run\.json"):
        texts.record_five_ways(str(folder), tmp_path / "ways.json", beam=1)
    assert not (tmp_path / "ways.json").exists()


# --- the loss ---


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
    shipped: Translator, long_text: ParallelText
) -> None:
    losses = token_losses(shipped, long_text)
    cut = [losses[first : first + 5] for first in range(0, 23, 5)]
    flat = [[loss for sentence in batch for loss in sentence] for batch in cut]
    every = [loss for batch in flat for loss in batch]
    found = loss_two_ways(shipped, long_text, batch_sentences=5)
    assert found[TOKENS] == pytest.approx(sum(every) / len(every), rel=1e-4)
    means = [sum(batch) / len(batch) for batch in flat]
    assert found[BATCHES] == pytest.approx(sum(means) / 5, rel=1e-4)
    assert abs(found[TOKENS] - found[BATCHES]) > 0.001  # on these sentences they do differ
