"""Questions about heads: heads made to look somewhere are found to look there; pairs by hand."""

from typing import Any

import pytest
import torch

from experiments.claims import read_prose
from lessonkit.analysis import roles
from lessonkit.analysis.alignment import word_attention
from lessonkit.analysis.heads import Head, all_heads, head_table
from lessonkit.analysis.roles import head_question_word_pairs, measure_roles
from tests.helpers import ROOT
from tests.helpers.habits import of_habits, one_piece_each
from transformer.data.embedded_corpus import TrilingualSentence, embedded
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SENTENCES = embedded.sentences("test")[:12]


def test_heads_of_known_habits(shipped: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one piece for each word the answers are 0 and 1."""
    short = one_piece_each(shipped, 9)
    maps = of_habits("itself", "before", "next", "even")
    monkeypatch.setattr(shipped.model, "attention_maps", maps)
    found = {(each.stack, each.question): each for each in measure_roles(shipped, short)}
    for question, habit in (
        (roles.SAME_WORD_QUESTION, 0),
        (roles.PREVIOUS_WORD_QUESTION, 1),
        (roles.NEXT_WORD_QUESTION, 2),
    ):
        shares = found["encoder", question].shares[0]
        assert shares[habit] == 1
        assert all(shares[head] < 0.25 for head in range(3) if head != habit)  # the first word
        assert float(shares[3]) == pytest.approx(found["encoder", question].even)
    assert found["decoder", roles.READ_TOKEN_QUESTION].shares[0].tolist()[:2] == [1, 0]
    assert found["decoder", roles.PREVIOUS_TOKEN_QUESTION].shares[0].tolist()[:2] == [0, 1]
    words = sum(len(one.en.split()) for one in short)
    assert found["encoder", roles.SAME_WORD_QUESTION].cases == words
    assert found["encoder", roles.NEXT_WORD_QUESTION].cases == words - len(short)


@pytest.mark.weekly  # 15 seconds: attention on 1,000 sentences
def test_lesson_13_says_the_shares_of_its_chart(shipped: Translator) -> None:
    (lesson,) = (ROOT / "notebooks").glob("13_*.ipynb")
    prose = read_prose(lesson)
    answers = measure_roles(shipped, embedded.sentences("test"))
    shares = {each.question: each.shares for each in answers if each.stack == "encoder"}
    layer, noun, antecedent = 1, 2, 1  # heads 2.3 and 2.2 in the lesson
    for question, head, words in (
        (roles.NOUN_QUESTION, noun, "Head 2.3 gives {} of a determiner's weight to its noun"),
        (roles.NOUN_PAST_ADJECTIVE_QUESTION, noun, "and {} when an adjective stands between"),
        (roles.OWNED_NOUN_QUESTION, noun, "to what is owned, with {}, and no head"),
        (roles.ANTECEDENT_QUESTION, antecedent, "head 2.2 gives {} to the person meant"),
        (roles.ANTECEDENT_CONTROL_QUESTION, antecedent, "and {} to another noun"),
        (roles.SUBJECT_QUESTION, antecedent, "to its subject the highest share is {}."),
    ):
        assert words.format(f"{shares[question][layer][head]:.2f}") in prose
    assert shares[roles.SUBJECT_QUESTION].max() == shares[roles.SUBJECT_QUESTION][layer][antecedent]


def test_the_word_being_said(shipped: Translator) -> None:
    """The oracle: word by word from `word_attention` and the gold links."""
    text = embedded.pairs("test", "en", "fr")
    found = {each.question: each for each in measure_roles(shipped, SENTENCES)}
    shares: dict[str, list[torch.Tensor]] = {
        roles.CURRENT_SOURCE_QUESTION: [],
        roles.PREVIOUS_SOURCE_QUESTION: [],
    }
    for row in range(len(SENTENCES)):
        weights = word_attention(shipped, text.src[row], text.tgt[row]).weights
        links: Any = text.alignments[row]  # type: ignore[index]
        for word in range(1, weights.shape[2]):
            now, last = ({s for s, t in links if t == at} for at in (word, word - 1))
            if now and last and not now & last:
                for question, named in (
                    (roles.CURRENT_SOURCE_QUESTION, now),
                    (roles.PREVIOUS_SOURCE_QUESTION, last),
                ):
                    shares[question].append(weights[:, :, word, sorted(named)].sum(-1))
    for question, values in shares.items():
        assert found[question].cases == len(values) > 50
        torch.testing.assert_close(found[question].shares, torch.stack(values).mean(0))


def test_trees_are_english(shipped: Translator) -> None:
    answers = measure_roles(Translator.load("demo-fr-en"), SENTENCES[:2])
    assert {each.stack for each in answers} == {"decoder", "cross"}


# --- which words belong together ---


def asked(en: str, parse: str) -> dict[str, set[tuple[str, str]]]:
    """Return the words of each question's pairs."""
    words, found = en.split(), dict[str, set[tuple[str, str]]]()
    for question, query, keys in head_question_word_pairs(
        TrilingualSentence(en, "", "", "", "", "", "", parse)
    ):
        named = " ".join(words[key] for key in keys)
        found.setdefault(question, set()).add((words[query], named))
    return found


def test_pronouns_and_owners() -> None:
    found = asked(
        "The rich man and the boy cannot wash his cat because they are tired .",
        "(S (NP (NP DT JJ NN )NP CC (NP DT NN )NP )NP (VP MD VB (NP DT NN )NP "
        "(SBAR IN (S (NP PRP )NP (VP AUX JJ )VP )S )SBAR )VP . )S",
    )
    assert found[roles.ANTECEDENT_QUESTION] == {("they", "man boy")}
    assert found[roles.ANTECEDENT_CONTROL_QUESTION] == {("they", "cat")}
    assert found[roles.OWNED_NOUN_QUESTION] == {("his", "cat")}
    assert found[roles.OWNER_QUESTION] == {("his", "man boy")}
    assert found[roles.NOUN_QUESTION] == {("The", "man"), ("the", "boy"), ("his", "cat")}
    assert found[roles.NOUN_PAST_ADJECTIVE_QUESTION] == {("The", "man")}
    assert found[roles.DETERMINER_TO_ADJECTIVE_CONTROL] == {("The", "rich")}
    assert not {roles.NEGATED_WORD_QUESTION, roles.SUBJECT_QUESTION} & set(found)


def test_a_verb_past_a_relative_clause() -> None:
    found = asked(
        "The lady who has a shirt is not asking the man in the house .",
        "(S (NP DT NN (SBAR WP (S (VP VB (NP DT NN )NP )VP )S )SBAR )NP "
        "(VP AUX RB VB (NP DT NN (PP IN (NP DT NN )NP )PP )NP )VP . )S",
    )
    assert found[roles.SUBJECT_QUESTION] == {("is", "lady")}
    assert found[roles.SUBJECT_CONTROL_QUESTION] == {("is", "shirt")}
    assert found[roles.NEGATED_WORD_QUESTION] == {("not", "asking")}
    assert found[roles.NOUN_QUESTION] >= {("the", "man"), ("the", "house"), ("The", "lady")}
    assert ("not", "asking") in found[roles.NEXT_WORD_QUESTION]
    assert ("not", "is") in found[roles.PREVIOUS_WORD_QUESTION]
    assert ("lady", "lady") in found[roles.SAME_WORD_QUESTION]


def test_every_head_is_named_once(model: Transformer) -> None:
    named = all_heads(model)
    assert len(named) == len(set(named)) == 3 * 3 * 2
    assert named[0] == Head("encoder", 1, 1)
    assert named[-1] == Head("cross", 3, 2)
    assert str(Head("cross", 2, 3)) == "cross 2.3"


def test_the_table_joins_roles_and_costs() -> None:
    one = {"role": "a", "score": 0.7, "even": 0.1, "cases": 90, "named": True}
    removed = {"beam": 93.0, "low": -4.0, "high": -2.5}
    removals = {
        "model": "m",
        "figures": {"whole": {"beam": 96.2}, "mean": {"heads": {"cross 1.1": removed}}},
    }
    (row,) = head_table({"model": "m", "figures": {"cross 1.1": one}}, removals)
    assert row == ("cross 1.1", "a", 0.7, 0.1, 90, True, 3.2, 2.5, 4.0)
    with pytest.raises(UserError, match="roles of 'other' beside removals of 'm'"):
        head_table({"model": "other", "figures": {}}, removals)
