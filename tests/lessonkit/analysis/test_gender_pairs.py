"""Minimal pairs of gender: one word differs, and counts are of what comes out."""

import pytest

from lessonkit.analysis.articles import ARTICLES
from lessonkit.analysis.gender_pairs import carried_articles, gender_pairs
from lessonkit.analysis.heads import Head
from lessonkit.analysis.interventions import next_token
from lessonkit.analysis.lexicon_tables import lexicon
from lessonkit.analysis.patching import patched, run_of
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.models.translator import Translator
from transformer.support.errors import UserError

CARRIERS = [Head("encoder", 1, 4), Head("encoder", 2, 3)]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo-en-fr")


def text(*pairs: tuple[str, str]) -> ParallelText:
    src, tgt = zip(*pairs, strict=True)
    return ParallelText(src_lang="en", tgt_lang="fr", src=src, tgt=tgt)


def test_pairs_by_hand(translator: Translator) -> None:
    (pair,) = gender_pairs(
        translator,
        text(
            ("The clever saleswoman is reading.", "La vendeuse intelligente lit."),
            ("The saleswoman is reading because she is sad.", "La vendeuse lit parce que."),
            ("The women are reading.", "Les femmes lisent."),
        ),
    )
    assert pair.subject.sentence == "The clever saleswoman is reading."
    assert pair.other == "The clever salesman is reading."
    assert pair.same == "The clever woman is reading."


def test_pairs_of_the_test_set_differ_in_one_noun_of_the_gender_said(
    translator: Translator,
) -> None:
    pairs = gender_pairs(translator, corpora.load("embedded", "test", "en", "fr"))
    genders = {noun.en: noun.fr_gender for noun in lexicon().nouns}
    assert len(pairs) == 211
    for pair in pairs:
        first = pair.subject.sentence.rstrip(".?").split()
        wanted = {"Le": "m", "La": "f"}[pair.subject.article]
        for sentence, same in ((pair.other, False), (pair.same, True)):
            words = sentence.rstrip(".?").split()
            (at,) = [i for i, word in enumerate(words) if word != first[i]]
            assert (genders[words[at]] == wanted) is same
            assert len(translator.src_tokenizer.encode(sentence)) + 1 == pair.subject.length


def test_counts_by_hand(translator: Translator) -> None:
    pairs = gender_pairs(translator, corpora.load("embedded", "test", "en", "fr"))[:7]
    counted = {(row.seen, row.put): row for row in carried_articles(translator, pairs, CARRIERS)}
    assert {row.of for row in counted.values()} == {7}
    found = 0
    for pair in pairs:
        run, subject = run_of(translator, pair.other, []), pair.subject
        with patched(translator.model, {at: run.memory[at] for at in subject.noun}):  # type: ignore[arg-type]
            said = int(next_token(translator, subject.sentence).argmax())
        (other,) = (article for article in ARTICLES if article != subject.article)
        found += said == translator.tgt_tokenizer.encode(other)[0]
    assert counted["everything", "the encoder's output at the noun"].other == found
    assert found >= 5


def test_what_the_lesson_says(translator: Translator) -> None:
    pairs = gender_pairs(translator, corpora.load("embedded", "test", "en", "fr"))[:30]
    the, noun, last, alone, two, six = carried_articles(translator, pairs, CARRIERS)
    assert (the.other, last.other) == (0, 0)
    assert noun.other >= 27
    assert alone.other >= 24 > two.other > 2 * six.other
    for row in (the, noun, last, alone, two, six):
        assert row.same <= 5
    assert two.put == "heads 1.4 and 2.3 at The"


def test_errors(translator: Translator) -> None:
    with pytest.raises(UserError, match="give at least one"):
        carried_articles(translator, [], CARRIERS)
    with pytest.raises(UserError, match="give a text from en to fr"):
        gender_pairs(translator, corpora.load("embedded", "test", "en", "de"))
