"""Words by the rules of their language, and languages that have none."""

import pytest

from transformer.data.word_splitting import has_word_splitting_rules, split_words
from transformer.support.errors import UserError


def test_words_follow_the_rules_of_their_language() -> None:
    for lang, text, cut in (
        ("de", "Das gibt's z.B. hier.", "Das gibt's z.B. hier ."),
        ("en", "They don't, Mr. Ash.", "They do n't , Mr. Ash ."),
        ("fr", "L'homme n'est pas là.", "L' homme n' est pas là ."),
        ("tree", "(NP DT NN )NP", "(NP DT NN )NP"),
    ):
        assert split_words(lang, text) == cut.split()
        assert split_words(lang, text, lowercase=True) == cut.lower().split()
        assert has_word_splitting_rules(lang)
    assert not has_word_splitting_rules("tlh")


def test_a_language_without_rules_is_refused() -> None:
    for lang in ("dee", "", "punctuation", "../de"):
        with pytest.raises(UserError, match=rf"language '{lang}': set tokenizer=bpe"):
            split_words(lang, "ciao")
