"""Which word tells an article its gender: the right words are hidden, and counted by hand."""

import pytest

from lessonkit.analysis.articles import first_articles, subjects
from lessonkit.analysis.interventions import next_token
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.models.translator import Translator
from transformer.support.errors import UserError


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo-en-fr")


def text(*pairs: tuple[str, str]) -> ParallelText:
    src, tgt = zip(*pairs, strict=True)
    return ParallelText(src_lang="en", tgt_lang="fr", src=src, tgt=tgt)


FIT = (
    ("The saleswoman is reading a novel.", "La vendeuse lit un roman."),
    ("The black cat is sleeping.", "Le chat noir dort."),
)
OTHER = (
    ("My sister sees the cat.", "Ma sœur voit le chat."),
    ("The women are reading.", "Les femmes lisent."),
    ("The uncle who sings sees Paul.", "L'oncle qui chante voit Paul."),
)


def test_subjects_and_their_places(translator: Translator) -> None:
    one, other = subjects(translator, text(*FIT, *OTHER))
    assert (one.sentence, one.article) == (FIT[0][0], "La")
    for case, noun, last in ((one, "▁saleswoman", "▁novel."), (other, "▁cat", "▁sleeping.")):
        pieces = translator.src_tokenizer.pieces(translator.src_tokenizer.encode(case.sentence))
        assert "".join(pieces[place] for place in case.noun) == noun
        assert "".join(pieces[place] for place in case.last) == last
        assert case.length == len(pieces) + 1


def test_counts_are_of_the_most_probable_token(translator: Translator) -> None:
    counted = first_articles(translator, text(*FIT))
    assert [of for _, _, of in counted] == [2] * 5
    article = {word: translator.tgt_tokenizer.encode(word)[0] for word in ("Le", "La")}
    by_hand = sum(
        int(next_token(translator, case.sentence, before=case.noun).argmax())
        == article[case.article]
        for case in subjects(translator, text(*FIT))
    )
    assert counted[3] == ("the noun hidden from the encoder too", by_hand, 2)
    assert counted[0] == ("nothing hidden", 2, 2)


def test_the_test_set_has_enough_of_both(translator: Translator) -> None:
    cases = subjects(translator, corpora.load("embedded", "test", "en", "fr"))
    of = {word: sum(case.article == word for case in cases) for word in ("Le", "La")}
    assert of == {"Le": 120, "La": 121}


def test_other_languages_are_refused(translator: Translator) -> None:
    german = corpora.load("embedded", "test", "en", "de")
    with pytest.raises(UserError, match="en-de: give a text from en to fr"):
        first_articles(translator, german)
