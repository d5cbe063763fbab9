"""BLEU counted in several ways, each by another road."""

import dataclasses

import pytest
from sacrebleu import corpus_bleu, sentence_bleu
from torchtext.data.metrics import bleu_score

from lessonkit.analysis import bleu_variants
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.data.word_splitting import split_words
from transformer.models.translator import Translator

HYPOTHESES = ["The dog sees a cat.", "A small house is there.", "Yes."]
REFERENCES = ["The dog sees the cat.", "A small house stands there.", "Yes."]


@pytest.mark.slow  # loads spaCy
def test_begin_and_end_tokens_are_counted_like_words() -> None:
    hypotheses, references = ([split_words("en", t) for t in s] for s in (HYPOTHESES, REFERENCES))
    plain = bleu_score(hypotheses, [[words] for words in references])
    theirs = bleu_score(
        [["<bos>", *words, "<eos>"] for words in hypotheses],
        [[["<bos>", *words, "<eos>"]] for words in references],
    )
    assert bleu_variants.bleu_with_begin_and_end_tokens(
        HYPOTHESES, REFERENCES, "en"
    ) == pytest.approx(100 * theirs, abs=0.01)
    assert theirs > plain  # two tokens of each sentence are right for nothing


def test_the_mean_of_sentences_is_the_mean_of_sentences() -> None:
    alone = [sentence_bleu(h, [r]).score for h, r in zip(HYPOTHESES, REFERENCES, strict=True)]
    mean = bleu_variants.mean_sentence_bleu(HYPOTHESES, REFERENCES)
    assert mean == pytest.approx(sum(alone) / 3, abs=0.01)
    assert mean != pytest.approx(corpus_bleu(HYPOTHESES, [REFERENCES]).score, abs=1)


def test_a_teacher_forced_output_has_seen_the_reference(shipped: Translator) -> None:
    text = corpora.load("embedded", "test", "en", "fr")
    text = dataclasses.replace(text, src=text.src[:23], tgt=text.tgt[:23], alignments=None)
    guesses, references = bleu_variants.teacher_forced_translations(shipped, text)
    assert sorted(references) == sorted(text.tgt)
    assert len(guesses) == len(references)
    # The same by hand for one sentence, one token at a time.
    source = dict(zip(text.tgt, text.src, strict=True))[references[0]]
    one = ParallelText(src_lang="en", tgt_lang="fr", src=[source], tgt=[references[0]])
    assert bleu_variants.teacher_forced_translations(shipped, one) == (
        [guesses[0]],
        [references[0]],
    )


def test_a_language_without_rules_for_words_has_the_other_ways(shipped: Translator) -> None:
    text = corpora.load("embedded", "test", "en", "fr")
    text = dataclasses.replace(text, src=text.src[:7], tgt=text.tgt[:7], alignments=None)
    french = bleu_variants.score_five_ways(shipped, text, beam_size=1)["points"]
    klingon = dataclasses.replace(text, tgt_lang="tlh")
    without = bleu_variants.score_five_ways(shipped, klingon, beam_size=1)["points"]
    assert french.keys() - without.keys() == {"begin and end tokens", "lower-cased tokens"}
    assert without == {way: french[way] for way in without}
    khmer = bleu_variants.score_five_ways(
        shipped, dataclasses.replace(text, tgt_lang="km"), beam_size=1
    )
    assert "tok:char" in khmer["signature"]
    assert "sacreBLEU char" in khmer["points"]
