"""Which word tells an article its gender, and which place carries it: counts made by hand."""

from typing import Any

import pytest

from lessonkit.analysis import articles
from lessonkit.analysis.activations import next_token_probabilities, record_activations
from lessonkit.analysis.gender_patching import count_patched_articles, gender_pairs
from lessonkit.analysis.heads import Head
from lessonkit.analysis.interventions import patch_memory
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.models.translator import Translator
from transformer.support.errors import UserError

CARRIERS = [Head("encoder", 1, 4), Head("encoder", 2, 3)]
FIT = (
    ("The saleswoman is reading a novel.", "La vendeuse lit un roman."),
    ("The black cat is sleeping.", "Le chat noir dort."),
)
OTHER = (
    ("My sister sees the cat.", "Ma sœur voit le chat."),
    ("The women are reading.", "Les femmes lisent."),
    ("The uncle who sings sees Paul.", "L'oncle qui chante voit Paul."),
)


@pytest.fixture(scope="module")
def held_out() -> ParallelText:
    return corpora.load("embedded", "test", "en", "fr")


def text(*pairs: tuple[str, str]) -> ParallelText:
    src, tgt = zip(*pairs, strict=True)
    return ParallelText(src_lang="en", tgt_lang="fr", src=src, tgt=tgt)


def test_cases_and_their_positions(shipped: Translator, held_out: ParallelText) -> None:
    one, other = articles.find_article_cases(shipped, text(*FIT, *OTHER))
    assert (one.sentence, one.article) == (FIT[0][0], "La")
    for case, noun, last in ((one, "▁saleswoman", "▁novel."), (other, "▁cat", "▁sleeping.")):
        pieces = shipped.src_tokenizer.ids_to_pieces(shipped.src_tokenizer.encode(case.sentence))
        assert "".join(pieces[place] for place in case.noun) == noun
        assert "".join(pieces[place] for place in case.last) == last
        assert case.length == len(pieces) + 1
    said = [case.article for case in articles.find_article_cases(shipped, held_out)]
    assert [said.count(each) for each in articles.FRENCH_ARTICLES] == [120, 121]


def test_pairs_by_hand_and_errors(shipped: Translator) -> None:
    clever, sad, women = (
        ("The clever saleswoman is reading.", "La vendeuse intelligente lit."),
        ("The saleswoman is reading because she is sad.", "La vendeuse lit parce que."),
        ("The women are reading.", "Les femmes lisent."),
    )
    (pair,) = gender_pairs(shipped, text(clever, sad, women))
    assert pair.subject.sentence == "The clever saleswoman is reading."
    assert pair.other == "The clever salesman is reading."
    assert pair.same == "The clever woman is reading."
    german = corpora.load("embedded", "test", "en", "de")
    for count in (articles.count_correct_articles, gender_pairs):
        with pytest.raises(UserError, match="en-de: give a text from en to fr"):
            count(shipped, german)


@pytest.mark.slow
def test_patched_counts_by_hand(shipped: Translator, held_out: ParallelText) -> None:
    model: Any = shipped.model
    pairs = gender_pairs(shipped, held_out)[:30]
    rows = count_patched_articles(shipped, pairs, CARRIERS)
    found = without_the_noun = 0
    for pair in pairs:
        run, subject = record_activations(shipped, pair.other, []), pair.subject
        with patch_memory(model, {at: run.memory[at] for at in subject.noun}):
            said = int(next_token_probabilities(shipped, subject.sentence).argmax())
        (other,) = (article for article in articles.FRENCH_ARTICLES if article != subject.article)
        found += said == shipped.tgt_tokenizer.encode(other)[0]
        left = set(range(subject.length)).difference(subject.noun)
        with patch_memory(model, {at: run.memory[at] for at in left}):
            chances = next_token_probabilities(shipped, subject.sentence, after=subject.noun)
        without_the_noun += int(chances.argmax()) == shipped.tgt_tokenizer.encode(other)[0]
    the, noun, last, at_the_alone, at_all_seen, only_the, two, _ = rows
    assert noun.other == found >= 27
    assert (the.other, last.other) == (0, 0)
    assert at_all_seen.other == without_the_noun
    assert 0 < at_the_alone.other < min(at_all_seen.other, only_the.other)
    assert two.put == "heads 1.4 and 2.3 at The"
