"""Questions about heads: heads made to look somewhere are found to look there."""

from pathlib import Path

import pytest
import torch

from lessonkit.analysis import roles
from lessonkit.analysis.alignment import word_attention
from lessonkit.analysis.roles import ask, word_pairs
from transformer.attention import AttentionMaps
from transformer.data import embedded
from transformer.data.embedded import Sentence
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SENTENCES = embedded.sentences("test")[:12]


def looking(kind: str, q_len: int, k_len: int) -> torch.Tensor:
    """Weights (q_len, k_len) of a head that always looks in the same way."""
    if kind == "even":
        return torch.full((q_len, k_len), 1 / k_len)
    shift = {"itself": 0, "before": -1, "next": 1}[kind]
    places = (torch.arange(q_len) + shift).clamp(0, k_len - 1)
    return torch.eye(k_len)[places]


def test_heads_of_known_habits(shipped: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokens of these sentences' words: with one piece each the answers are 0 and 1."""
    kinds = ("itself", "before", "next", "even")

    def maps(src: torch.Tensor, tgt_in: torch.Tensor) -> AttentionMaps:
        sizes = {
            "encoder": (src.shape[1], src.shape[1]),
            "decoder": (tgt_in.shape[1], tgt_in.shape[1]),
            "cross": (tgt_in.shape[1], src.shape[1]),
        }
        stacks = {
            name: torch.stack([looking(kind, *size) for kind in kinds])[None, None]
            for name, size in sizes.items()
        }
        return AttentionMaps(**stacks)

    tokenizer = shipped.src_tokenizer
    short = [s for s in embedded.sentences("test")[:300] if _one_piece_each(tokenizer, s.en)][:9]
    assert len(short) == 9
    monkeypatch.setattr(shipped.model, "attention_maps", maps)
    found = {(each.stack, each.question): each for each in ask(shipped, short)}
    for question, habit in ((roles.ITSELF, 0), (roles.BEFORE, 1), (roles.NEXT, 2)):
        shares = found["encoder", question].shares[0]
        assert shares[habit] == 1
        assert all(shares[head] < 0.25 for head in range(3) if head != habit)  # the first word
        assert float(shares[3]) == pytest.approx(found["encoder", question].even)
    assert found["decoder", roles.READ].shares[0].tolist()[:2] == [1, 0]
    assert found["decoder", roles.READ_BEFORE].shares[0].tolist()[:2] == [0, 1]
    words = sum(len(one.en.split()) for one in short)
    assert found["encoder", roles.ITSELF].cases == words
    assert found["encoder", roles.NEXT].cases == words - len(short)


def _one_piece_each(tokenizer: object, text: str) -> bool:
    ids = tokenizer.encode(embedded.as_written(text, "en"))  # type: ignore[attr-defined]
    return len(ids) == len(text.split())


def test_the_word_being_said(shipped: Translator) -> None:
    """The oracle: word by word from `word_attention` and the gold links."""
    text = embedded.pairs("test", "en", "fr")
    found = {each.question: each for each in ask(shipped, SENTENCES)}
    shares: dict[str, list[torch.Tensor]] = {roles.SAYING: [], roles.SAID: []}
    for row in range(len(SENTENCES)):
        weights = word_attention(shipped, text.src[row], text.tgt[row]).weights
        links = text.alignments[row]
        for word in range(1, weights.shape[2]):
            now, last = ({s for s, t in links if t == at} for at in (word, word - 1))
            if now and last and not now & last:
                for question, named in ((roles.SAYING, now), (roles.SAID, last)):
                    shares[question].append(weights[:, :, word, sorted(named)].sum(-1))
    for question, values in shares.items():
        assert found[question].cases == len(values) > 50
        torch.testing.assert_close(found[question].shares, torch.stack(values).mean(0))


def test_what_the_lesson_says_of_the_shipped_model(shipped: Translator) -> None:
    found = {each.question: each for each in ask(shipped, embedded.sentences("test")[:150])}
    to_noun = found[roles.PAST_ADJECTIVE]
    assert to_noun.shares[1, 2] > 0.6 > 5 * to_noun.even
    assert found[roles.ADJECTIVE].shares[1, 2] < 0.2
    assert found[roles.READ].shares[0, 2] > 0.6
    assert found[roles.SAYING].shares.min() > 0.5


def test_trees_are_english(tiny_folder: Path) -> None:
    with pytest.raises(UserError, match="give at least one"):
        ask(Translator.load(tiny_folder), [])
    answers = ask(Translator.load("demo-fr-en"), SENTENCES[:2])
    assert {each.stack for each in answers} == {"decoder", "cross"}


# --- which words belong together ---


def sentence(en: str, parse: str) -> Sentence:
    return Sentence(en, "", "", {}, frozenset(), parse)


def asked(one: Sentence) -> dict[str, set[tuple[str, str]]]:
    """Give the words of each question's pairs."""
    words, found = one.en.split(), dict[str, set[tuple[str, str]]]()
    for question, query, keys in word_pairs(one):
        named = " ".join(words[key] for key in keys)
        found.setdefault(question, set()).add((words[query], named))
    return found


BECAUSE = sentence(
    "The rich man and the boy cannot wash his cat because they are tired .",
    "(S (NP (NP DT JJ NN )NP CC (NP DT NN )NP )NP (VP MD VB (NP DT NN )NP "
    "(SBAR IN (S (NP PRP )NP (VP AUX JJ )VP )S )SBAR )VP . )S",
)
RELATIVE = sentence(
    "The lady who has a shirt is not asking the man in the house .",
    "(S (NP DT NN (SBAR WP (S (VP VB (NP DT NN )NP )VP )S )SBAR )NP "
    "(VP AUX RB VB (NP DT NN (PP IN (NP DT NN )NP )PP )NP )VP . )S",
)


def test_pronouns_and_owners() -> None:
    found = asked(BECAUSE)
    assert found[roles.MEANT] == {("they", "man boy")}
    assert found[roles.NOT_MEANT] == {("they", "cat")}
    assert found[roles.OWNED] == {("his", "cat")}
    assert found[roles.OWNER] == {("his", "man boy")}
    assert found[roles.NOUN] == {("The", "man"), ("the", "boy"), ("his", "cat")}
    assert found[roles.PAST_ADJECTIVE] == {("The", "man")}
    assert found[roles.ADJECTIVE] == {("The", "rich")}
    assert roles.NEGATED not in found
    assert roles.SUBJECT not in found


def test_a_verb_past_a_relative_clause() -> None:
    found = asked(RELATIVE)
    assert found[roles.SUBJECT] == {("is", "lady")}
    assert found[roles.NOT_SUBJECT] == {("is", "shirt")}
    assert found[roles.NEGATED] == {("not", "asking")}
    assert found[roles.NOUN] >= {("the", "man"), ("the", "house"), ("The", "lady")}
    assert ("not", "asking") in found[roles.NEXT]
    assert ("not", "is") in found[roles.BEFORE]
    assert ("lady", "lady") in found[roles.ITSELF]


@pytest.mark.parametrize("split", ["test", "test_long"])
def test_all_sentences(split: str) -> None:
    seen = set()
    for one in embedded.sentences(split):
        words = one.en.split()
        for question, query, keys in word_pairs(one):
            seen.add(question)
            assert 0 <= query < len(words)
            assert keys
            assert all(0 <= key < len(words) for key in keys)
            if question in (roles.NOUN, roles.OWNED):
                assert 1 <= keys[0] - query <= 4  # three adjectives or numbers between, at most
            if question in (roles.OWNER, roles.SUBJECT, roles.MEANT):
                assert all(key < query for key in keys)
    missing = set() if split == "test" else {roles.MEANT, roles.NOT_MEANT}
    assert seen == set(roles.QUESTIONS) - missing
