"""A model measured on a text: its loss against torch's, and its figures."""

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from torch import nn

from transformer.config import BOS_ID, EOS_ID
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.evaluation import evaluate, scores
from transformer.evaluation.baselines import measure_baselines
from transformer.evaluation.evaluate import text_loss
from transformer.model import count_parameters
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import read_json


def few(text: ParallelText, count: int) -> ParallelText:
    return ParallelText(text.src_lang, text.tgt_lang, text.src[:count], text.tgt[:count])


@pytest.fixture(scope="module")
def text() -> ParallelText:
    return few(corpora.load("embedded", "test", "en", "fr"), 7)


def test_loss_is_torchs_sentence_by_sentence(tiny: Translator, text: ParallelText) -> None:
    criterion = nn.CrossEntropyLoss(reduction="sum")
    total, tokens = 0.0, 0
    for src, tgt in zip(text.src, text.tgt, strict=True):
        source = [*tiny.src_tokenizer.encode(src), EOS_ID]
        target = tiny.tgt_tokenizer.encode(tgt)
        with torch.no_grad():
            logits = tiny.model(torch.tensor([source]), torch.tensor([[BOS_ID, *target]]))
        total += criterion(logits[0], torch.tensor([*target, EOS_ID])).item()
        tokens += len(target) + 1
    assert text_loss(tiny, text) == pytest.approx(total / tokens, rel=1e-5)


def test_loss_takes_every_sentence_that_the_model_takes_and_leaves_out_the_others(
    tiny_folder: Path, tiny: Translator, text: ParallelText
) -> None:
    too_long = dataclasses.replace(text, src=[*text.src, "word " * 300], tgt=[*text.tgt, "mot"])
    assert text_loss(tiny, too_long) == pytest.approx(text_loss(tiny, text))
    other = Translator.load(tiny_folder)
    other.recipe = other.recipe.override({"batch_tokens": "24"})
    long = ParallelText("en", "fr", [text.src[0] * 3], [text.tgt[0] * 3])
    assert math.isfinite(text_loss(other, long))  # longer than a batch


@pytest.mark.slow
def test_evaluate_translator_returns_all_figures(tiny: Translator, text: ParallelText) -> None:
    hypotheses = tiny.translate(text.src, beam_size=1)
    both = [[theirs, ours] for theirs, ours in zip(text.tgt, hypotheses, strict=True)]
    loss = text_loss(tiny, text)
    for references, measured in (
        ([[sentence] for sentence in text.tgt], text),
        (both, dataclasses.replace(text, references=both)),
    ):
        figures = evaluate.evaluate_translator(tiny, measured, beam_size=1)
        assert figures.pop("sentences_per_second") > 0
        assert figures == {
            "bleu": scores.bleu(hypotheses, references),
            "chrf++": scores.chrf_plus_plus(hypotheses, references),
            "bleu_tokenised_lowercased": scores.bleu_tokenised_lowercased(
                hypotheses, references, "fr"
            ),
            "perplexity": round(math.exp(loss), 3),
            "loss": round(loss, 4),
            "perplexity_pairs": 7,
            "sentences": 7,
            "run_on": scores.count_run_on_translations(hypotheses, references),
            "beam_size": 1,
            "alpha": 0.6,
            "parameters": count_parameters(tiny.model),
        }


@pytest.mark.slow
def test_evaluate_translator_takes_another_length_penalty(text: ParallelText) -> None:
    translator = Translator.load("demo-en-fr")
    with torch.no_grad():  # sure of nothing, so that short translations are as likely as long ones
        translator.model.output.weight.mul_(0.2)
    three = few(text, 3)
    translations = {alpha: translator.translate(three.src, 3, alpha) for alpha in (0.0, 5.0)}
    assert translations[0.0] != translations[5.0]
    for alpha, hypotheses in translations.items():
        figures = evaluate.evaluate_translator(translator, three, beam_size=3, alpha=alpha)
        assert figures["alpha"] == alpha
        assert figures["chrf++"] == scores.chrf_plus_plus(hypotheses, three.accepted_translations)


@pytest.mark.slow
def test_a_folder_is_measured_on_its_own_corpus_unless_told(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda *names: few(load(*names), 7))
    train = few(load("embedded", "train", "en", "fr"), 20)
    monkeypatch.setattr(corpora, "load_without_download", lambda *_: train)
    figures = evaluate.evaluate_saved_model(tiny_folder, beam_size=1)
    text = few(load("embedded", "test", "en", "fr"), 7)
    assert figures["baselines"] == measure_baselines(text, train)
    assert (figures["corpus"], figures["split"]) == ("embedded", "test")
    assert (figures["src_lang"], figures["tgt_lang"]) == ("en", "fr")
    assert figures["trained_in"] == read_json(tiny_folder / "run.json")["precision"]
    figures = evaluate.evaluate_saved_model(tiny_folder, split="validation", beam_size=1)
    assert figures["split"] == "validation"
    with pytest.raises(UserError, match="did you mean 'test_long'"):
        evaluate.evaluate_saved_model(tiny_folder, split="test_lang")


def test_trees_are_scored_by_their_phrases(tiny: Translator) -> None:
    src = ["A cat.", "The dog."]
    hypotheses = tiny.translate(src, beam_size=1)
    text = ParallelText("en", "tree", src, ["(S NN . )S", "(S NN )S"])
    figures = evaluate.evaluate_translator(tiny, text, beam_size=1)
    assert figures["parse_f1"] == round(scores.parse_f1(hypotheses, text.tgt), 2)
    words = dataclasses.replace(text, tgt_lang="en")
    assert "parse_f1" not in evaluate.evaluate_translator(tiny, words, beam_size=1)


def test_a_language_without_rules_for_words_lacks_one_figure(
    tiny: Translator, text: ParallelText
) -> None:
    klingon = dataclasses.replace(few(text, 2), tgt_lang="tlh")
    with_rules = evaluate.evaluate_translator(tiny, few(text, 2), beam_size=1)
    without = evaluate.evaluate_translator(tiny, klingon, beam_size=1)
    assert with_rules.keys() - without.keys() == {"bleu_tokenised_lowercased"}
    assert without["bleu"] == with_rules["bleu"]


def test_what_is_too_long_for_the_perplexity_is_counted_and_placeholders_where_there_are_any(
    tiny: Translator, text: ParallelText
) -> None:
    longer = dataclasses.replace(
        few(text, 3),
        src=[*text.src[:2], "open %s"],
        tgt=[text.tgt[0], "mot " * 300, "ouvrez %s"],
    )
    figures = evaluate.evaluate_translator(tiny, longer, beam_size=1)
    assert (figures["sentences"], figures["perplexity_pairs"]) == (3, 2)
    assert figures["placeholders"]["sentences"] == 1
    assert "placeholders" not in evaluate.evaluate_translator(tiny, few(text, 2), beam_size=1)


def test_bleu_that_says_little_is_warned_of_once(
    tiny: Translator, text: ParallelText, recwarn: pytest.WarningsRecorder
) -> None:
    short = dataclasses.replace(few(text, 3), tgt=["Oui", "Non", "Un chat dort ici."])
    evaluate.evaluate_translator(tiny, short, beam_size=1)
    [warning] = recwarn
    assert "2 of 3 references are one token" in str(warning.message)
    assert "chrF++" in str(warning.message)
    recwarn.clear()
    half = dataclasses.replace(few(text, 2), tgt=["Oui", "Un chat dort ici."])
    evaluate.evaluate_translator(tiny, half, beam_size=1)
    assert not recwarn.list
