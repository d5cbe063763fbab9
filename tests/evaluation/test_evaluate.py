"""Scores against sacreBLEU, torchtext and paper and pencil; the loss against torch's own."""

import dataclasses
import json
import logging
import math
import shutil
from pathlib import Path

import pytest
import sacrebleu
import torch
from torch import nn
from torchtext.data.metrics import bleu_score

from transformer.config import BOS_ID, EOS_ID
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.data.words import split_words
from transformer.evaluation import evaluate
from transformer.evaluation.evaluate import bleu, bleu_tokenised_lowercased, chrf, text_loss, thin
from transformer.evaluation.parse_f1 import parse_f1
from transformer.model import count_parameters
from transformer.support.errors import UserError
from transformer.trained.log import read_log
from transformer.trained.translator import Translator

REFERENCES = [
    ["The old man is reading a book.", "An old man reads a book."],
    ["A dog runs through the high grass."],
    ["Two children are playing in the snow.", "Two kids play in the snow.", "Kids in the snow."],
    ["The woman with the red hat sings."],
    ["Nobody knows where the cat sleeps at night."],
]
HYPOTHESES = [
    "The old man is reading the book.",
    "A dog runs through high grass.",
    "Two kids are playing in the snow.",
    "The woman sings.",
    "Where does the cat sleep?",
]


def test_one_reference_each_scores_as_sacrebleu_does() -> None:
    first = [group[0] for group in REFERENCES]
    single = [[sentence] for sentence in first]
    assert bleu(HYPOTHESES, single)["score"] == pytest.approx(
        sacrebleu.corpus_bleu(HYPOTHESES, [first]).score, abs=0.005
    )
    assert chrf(HYPOTHESES, single)["score"] == pytest.approx(
        sacrebleu.corpus_chrf(HYPOTHESES, [first]).score, abs=0.005
    )


def test_one_sentence_with_several_references_scores_as_sacrebleu_does() -> None:
    hypothesis, group = HYPOTHESES[2], REFERENCES[2]
    assert bleu([hypothesis], [group])["score"] == pytest.approx(
        sacrebleu.sentence_bleu(hypothesis, group, use_effective_order=False).score, abs=0.005
    )


def test_sentences_may_have_different_numbers_of_references() -> None:
    """The counts of BLEU are sums over sentences, so each sentence can be counted alone."""
    metric = sacrebleu.BLEU(effective_order=True)
    alone = [metric.sentence_score(h, g) for h, g in zip(HYPOTHESES, REFERENCES, strict=True)]
    summed = sacrebleu.BLEU.compute_bleu(
        correct=[sum(score.counts[n] for score in alone) for n in range(4)],
        total=[sum(score.totals[n] for score in alone) for n in range(4)],
        sys_len=sum(score.sys_len for score in alone),
        ref_len=sum(score.ref_len for score in alone),
        smooth_method="exp",
    )
    assert bleu(HYPOTHESES, REFERENCES)["score"] == pytest.approx(summed.score, abs=0.005)


def test_nearly_nothing_right_is_measured_too() -> None:
    """Some samples hold the one right sentence and some do not: the range begins at 0."""
    hypotheses = ["xx", "abcdefg", "zz"]
    references = [["1234567"], ["abcdefg"], ["8901234"]]
    assert chrf(hypotheses, references)["interval"][0] == 0


def test_a_missing_reference_is_not_an_empty_one() -> None:
    """A translation of one word is penalised for shortness, whatever its neighbour has."""
    references = [["one two three four five six seven"], ["a b c d e", "f g h i j"]]
    hypotheses = ["one", "a b c d e"]
    ratio = (7 + 5) / (1 + 5)
    precisions = (6 / 6, 4 / 4, 3 / 3, 2 / 2)
    expected = 100 * math.exp(1 - ratio) * math.prod(precisions) ** 0.25
    assert bleu(hypotheses, references)["score"] == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("score", [bleu, chrf])
def test_perfect_translations_score_100_with_no_doubt(score) -> None:  # type: ignore[no-untyped-def]
    figures = score([group[-1] for group in REFERENCES], REFERENCES)
    assert figures["score"] == 100
    assert figures["interval"] == [100, 100]


@pytest.mark.parametrize("score", [bleu, chrf])
def test_interval_contains_the_score_and_comes_out_the_same_again(score) -> None:  # type: ignore[no-untyped-def]
    figures = score(HYPOTHESES, REFERENCES)
    low, high = figures["interval"]
    assert 0 < low < figures["score"] < high < 100
    assert figures == score(HYPOTHESES, REFERENCES)


@pytest.mark.parametrize("score", [bleu, chrf])
def test_interval_stays_within_0_and_100(score) -> None:  # type: ignore[no-untyped-def]
    references = [[group[0]] for group in REFERENCES]
    low, high = score([*[r[0] for r in references[:4]], HYPOTHESES[4]], references)["interval"]
    assert low < high == 100


def test_figures_are_plain_numbers_for_json() -> None:
    for figures in (bleu(HYPOTHESES, REFERENCES), chrf(HYPOTHESES, REFERENCES)):
        assert json.loads(json.dumps(figures)) == figures


def test_signatures_say_how_it_was_counted() -> None:
    assert "tok:13a" in bleu(HYPOTHESES, REFERENCES)["signature"]
    assert "nrefs:var" in bleu(HYPOTHESES, REFERENCES)["signature"]
    assert "bs:1000" in bleu(HYPOTHESES, REFERENCES)["signature"]
    assert "nw:0" in chrf(HYPOTHESES, REFERENCES)["signature"]


def test_nothing_right_scores_0() -> None:
    figures = bleu(["x y z", "q r"], [["a b c"], ["d e"]])
    assert figures["score"] == 0
    assert figures["interval"] == [0, 0]


def test_13a_cuts_word_models_blanks_and_sacrebleu_stays_silent(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    plain = ["A dog runs, a cat sleeps."] * 101
    spaced = ["A dog runs , a cat sleeps ."] * 101
    with caplog.at_level(logging.WARNING):
        assert bleu(spaced, [[sentence] for sentence in plain])["score"] == 100
        chrf(spaced, [[sentence] for sentence in plain])
        bleu_tokenised_lowercased(spaced, [[sentence] for sentence in plain], "en")
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_tokenised_bleu_by_hand() -> None:
    """6 of 7 words, 4 of 6 pairs, 2 of 5 threes, 1 of 4 fours; 7 words for 8."""
    hypothesis = "A Dog runs through the grass."  # a dog runs through the grass .
    reference = "a dog runs through high green grass."  # a dog runs through high green grass .
    precisions = (6 / 7, 4 / 6, 2 / 5, 1 / 4)
    expected = 100 * math.exp(1 - 8 / 7) * math.prod(precisions) ** 0.25
    score = bleu_tokenised_lowercased([hypothesis], [[reference]], "en")
    assert score == pytest.approx(expected, abs=0.005)


def test_tokenised_bleu_is_that_of_system_4s_torchtext() -> None:
    def words(text: str) -> list[str]:
        return split_words("en", text, lowercase=True)

    theirs = bleu_score(
        [words(text) for text in HYPOTHESES], [[words(r) for r in group] for group in REFERENCES]
    )
    ours = bleu_tokenised_lowercased(HYPOTHESES, REFERENCES, "en")
    assert ours == pytest.approx(100 * theirs, abs=0.005)
    assert 0 < ours < 100


def test_tokenised_bleu_is_not_smoothed() -> None:
    assert bleu_tokenised_lowercased(["a b c d e"], [["a b x d e"]], "en") == 0


def score_english(hypotheses: list[str], references: list[list[str]]) -> float:
    return bleu_tokenised_lowercased(hypotheses, references, "en")


@pytest.mark.parametrize("score", [bleu, chrf, score_english])
@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        ([], [], "no translations to score: give at least one"),
        (["a"], [["a"], ["b"]], "1 translations and 2 lists of references"),
        (["a", "b"], [["a"], []], r"translation 2 has \[\] for references: give a list"),
        (["a"], ["a"], "translation 1 has 'a' for references: give a list"),
    ],
)
def test_what_cannot_be_scored(score, hypotheses, references, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match=message):
        score(hypotheses, references)


def test_tokenised_bleu_needs_a_known_language() -> None:
    with pytest.raises(UserError, match="unknown language 'fa'"):
        bleu_tokenised_lowercased(["a"], [["a"]], "fa")


@pytest.fixture(scope="module")
def translator(tiny_folder: Path) -> Translator:
    return Translator.load(tiny_folder)


def few(text: ParallelText, count: int) -> ParallelText:
    return ParallelText(
        src_lang=text.src_lang, tgt_lang=text.tgt_lang, src=text.src[:count], tgt=text.tgt[:count]
    )


@pytest.fixture(scope="module")
def text() -> ParallelText:
    return few(corpora.load("embedded", "test", "en", "fr"), 7)


def test_loss_is_torchs_sentence_by_sentence(translator: Translator, text: ParallelText) -> None:
    criterion = nn.CrossEntropyLoss(reduction="sum")
    total, tokens = 0.0, 0
    for src, tgt in zip(text.src, text.tgt, strict=True):
        source = [*translator.src_tokenizer.encode(src), EOS_ID]
        target = translator.tgt_tokenizer.encode(tgt)
        with torch.no_grad():
            logits = translator.model(torch.tensor([source]), torch.tensor([[BOS_ID, *target]]))
        total += criterion(logits[0], torch.tensor([*target, EOS_ID])).item()
        tokens += len(target) + 1
    assert text_loss(translator, text) == pytest.approx(total / tokens, rel=1e-5)


def test_loss_leaves_out_what_the_model_cannot_take(
    translator: Translator, text: ParallelText
) -> None:
    endless = ParallelText(
        src_lang="en", tgt_lang="fr", src=[*text.src, "word " * 300], tgt=[*text.tgt, "mot"]
    )
    assert text_loss(translator, endless) == pytest.approx(text_loss(translator, text))


def test_loss_takes_every_sentence_that_the_model_takes(
    tiny_folder: Path, tmp_path: Path, text: ParallelText
) -> None:
    """Also one that is longer than a batch of its training."""
    folder = shutil.copytree(tiny_folder, tmp_path / "model")
    recipe = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    recipe["training"]["batch_tokens"] = 24
    (folder / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
    long = ParallelText(src_lang="en", tgt_lang="fr", src=[text.src[0] * 3], tgt=[text.tgt[0] * 3])
    assert math.isfinite(text_loss(Translator.load(folder), long))


def test_evaluate_translator_gives_all_figures(translator: Translator, text: ParallelText) -> None:
    figures = evaluate.evaluate_translator(translator, text, beam_size=1)
    hypotheses = translator.translate(text.src, beam_size=1)
    references = [[sentence] for sentence in text.tgt]
    loss = text_loss(translator, text)
    assert figures.pop("sentences_per_second") > 0
    assert figures == {
        "bleu": bleu(hypotheses, references),
        "chrf": chrf(hypotheses, references),
        "bleu_tokenised_lowercased": bleu_tokenised_lowercased(hypotheses, references, "fr"),
        "perplexity": round(math.exp(loss), 3),
        "loss": round(loss, 4),
        "sentences": 7,
        "beam_size": 1,
        "alpha": 0.6,
        "parameters": count_parameters(translator.model),
    }


def test_evaluate_translator_takes_another_length_penalty(
    text: ParallelText,
) -> None:
    translator = Translator.load("demo-en-fr")
    with torch.no_grad():  # sure of nothing, so that short translations are as likely as long ones
        translator.model.output.weight.mul_(0.2)
    said = {alpha: translator.translate(text.src, beam_size=3, alpha=alpha) for alpha in (0.0, 5.0)}
    assert said[0.0] != said[5.0]
    for alpha, hypotheses in said.items():
        figures = evaluate.evaluate_translator(translator, text, beam_size=3, alpha=alpha)
        assert figures["alpha"] == alpha
        assert figures["chrf"] == chrf(hypotheses, [[sentence] for sentence in text.tgt])


def test_evaluate_translator_counts_every_accepted_translation(
    translator: Translator, text: ParallelText
) -> None:
    said = translator.translate(text.src, beam_size=1)
    both = [[theirs, ours] for theirs, ours in zip(text.tgt, said, strict=True)]
    generous = ParallelText(
        src_lang="en", tgt_lang="fr", src=text.src, tgt=text.tgt, references=both
    )
    figures = evaluate.evaluate_translator(translator, generous, beam_size=1)
    assert figures["chrf"] == chrf(said, both)
    assert figures["chrf"]["score"] > chrf(said, [[t] for t in text.tgt])["score"]


@pytest.fixture
def seven_sentences(monkeypatch: pytest.MonkeyPatch, text: ParallelText) -> None:
    whole = corpora.load
    monkeypatch.setattr(corpora, "load", lambda *names: few(whole(*names), 7))


@pytest.mark.usefixtures("seven_sentences")
def test_evaluate_folder_records_where_the_figures_come_from(
    tiny_folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "record.json"
    figures = evaluate.evaluate_folder(tiny_folder, beam_size=1, record=file)
    record = json.loads(file.read_text(encoding="utf-8"))
    assert list(record) == ["recipe", "training", "evaluation", "log", "figures"]
    assert record["figures"] == figures
    assert figures["corpus"] == "embedded"
    assert figures["split"] == "test"
    assert (figures["src_lang"], figures["tgt_lang"]) == ("en", "fr")
    assert record["recipe"] == json.loads((tiny_folder / "recipe.json").read_text())
    assert record["training"] == json.loads((tiny_folder / "run.json").read_text())
    assert record["log"] == read_log(tiny_folder / "log.jsonl")
    assert {"command", "commit", "hardware", "date"} <= record["evaluation"].keys()


@pytest.mark.usefixtures("seven_sentences")
def test_evaluate_folder_on_another_split(tiny_folder: Path) -> None:
    figures = evaluate.evaluate_folder(tiny_folder, split="validation", beam_size=1)
    assert figures["split"] == "validation"


def test_a_folder_without_its_origin_is_not_recorded(tiny_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_folder, tmp_path / "model")
    (folder / "run.json").unlink()
    with pytest.raises(UserError, match=r"run\.json"):
        evaluate.evaluate_folder(folder, record=tmp_path / "record.json")
    assert not (tmp_path / "record.json").exists()


@pytest.mark.parametrize(
    ("corpus", "split"),
    [("embedded", "test"), ("multi30k", "test_2016_flickr"), ("tatoeba", "test")],
)
def test_default_split(corpus: str, split: str) -> None:
    assert evaluate.default_split(corpus) == split


def test_unknown_corpus_and_split(tiny_folder: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'embedded'"):
        evaluate.evaluate_folder(tiny_folder, "embeded")
    with pytest.raises(UserError, match="did you mean 'test_long'"):
        evaluate.evaluate_folder(tiny_folder, split="test_lang")


def test_thin_keeps_validations_and_the_last_report() -> None:
    log = [
        {"kind": "validation" if step % 10 == 0 else "training", "step": step}
        for step in range(1, 200)
    ]
    kept = thin(log, 17)
    steps = [report["step"] for report in kept]
    training = [report["step"] for report in kept if report["kind"] == "training"]
    assert steps == sorted(set(steps))
    assert [r for r in kept if r["kind"] == "validation"] == [
        r for r in log if r["kind"] == "validation"
    ]
    assert 10 <= len(training) <= 17
    assert training[-1] == 199


def test_thin_leaves_a_short_log_as_it_is() -> None:
    log = [{"kind": "training", "step": step} for step in range(1, 18)]
    assert thin(log, 17) == log
    assert thin([]) == []


def test_trees_are_scored_by_their_phrases(translator: Translator) -> None:
    src = ["A cat.", "The dog."]
    said = translator.translate(src, beam_size=1)
    text = ParallelText(src_lang="en", tgt_lang="tree", src=src, tgt=["(S NN . )S", "(S NN )S"])
    figures = evaluate.evaluate_translator(translator, text, beam_size=1)
    assert figures["parse_f1"] == round(parse_f1(said, text.tgt), 2)
    words = dataclasses.replace(text, tgt_lang="en")
    assert "parse_f1" not in evaluate.evaluate_translator(translator, words, beam_size=1)
