"""The embedded corpus: read only if it is whole, its sentences by rules, its trees by hand."""

import re
import zlib
from itertools import permutations
from pathlib import Path

import pytest

from transformer.data import corpora, embedded_corpus
from transformer.data.corpora import CORPORA
from transformer.data.embedded_corpus import EMBEDDED_FILE_NAME, EmbeddedCorpus, embedded
from transformer.data.parallel import tokenize_for_alignment
from transformer.support.folders import embedded_corpus_folder

LANGUAGES, split_of = ("en", "fr", "de"), embedded.sentences
SIZES = {"train": 20_000, "validation": 500, "test": 1_000}
SIZES |= {"test_combinations": 500, "test_long": 300}
SENTENCES = [
    sentence for split in CORPORA["embedded"].splits for sentence in embedded.sentences(split)
]


def test_a_damaged_or_missing_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (embedded_corpus_folder() / EMBEDDED_FILE_NAME).read_bytes()
    monkeypatch.setattr(embedded_corpus, "embedded_corpus_folder", lambda: tmp_path)
    with pytest.raises(FileNotFoundError):
        EmbeddedCorpus().sentences_and_parses("test", "en", "tree")
    damaged = [content[:-5], b"", b"no gzip"]
    for place in (0, 1000, len(content) // 2, len(content) - 1):
        damaged.append(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    for bad in damaged:
        (tmp_path / EMBEDDED_FILE_NAME).write_bytes(bad)
        with pytest.raises((OSError, EOFError, TypeError, zlib.error)):
            EmbeddedCorpus().pairs("train", "de", "en")


def test_a_text_that_was_changed_is_loaded_as_it_was() -> None:
    first = corpora.load("embedded", "test", "en", "fr")
    src, links = first.src[0], first.alignments[0]
    for column in (first.src, first.tgt, first.alignments):
        column.clear()
    again = corpora.load("embedded", "test", "en", "fr")
    assert len(again) == SIZES["test"]
    assert (again.src[0], again.alignments[0]) == (src, links)


TREES = {
    "Who got up ?": "(S WP (VP VB RP )VP . )S",
    "How many bananas did Thomas buy ?": "(S (NP WP JJ NN )NP AUX (NP NN )NP (VP VB )VP . )S",
    "The actor believes that our grandmother ate a red tomato .": "(S (NP DT NN )NP (VP VB (SBAR "
    "IN (S (NP DT NN )NP (VP VB (NP DT JJ NN )NP )VP )S )SBAR )VP . )S",
    "The fisherman who forgot the bag is rich .": "(S (NP DT NN (SBAR WP (S (VP VB (NP DT NN )NP "
    ")VP )S )SBAR )NP (VP AUX JJ )VP . )S",
    "Can the fisherman give cheese and a banana to us ?": "(S MD (NP DT NN )NP (VP VB (NP (NP NN "
    ")NP CC (NP DT NN )NP )NP (PP IN (NP PRP )NP )PP )VP . )S",
}


def test_trees_by_hand() -> None:
    assert {sentence.en: sentence.parse for sentence in SENTENCES if sentence.en in TREES} == TREES
    text = corpora.load("parses", "test", "en", "tree")
    assert list(text.tgt) == [sentence.parse for sentence in embedded.sentences("test")]


# What no text of a language may hold, in any case of letters.
NEVER = {
    "en": [r"\ba [aeiou]|\ban [^aeiou]"],
    "fr": [
        r"\b(le|la|je|me|te|se|ne|de|que|ce|ma|ta|sa) (?!huit\b)[aeéêèiouhœ]",
        r"\b(à|de) les?\b(?! [aeéiouhœ])|\bsi ils?\b",
        r"\b[ljmtsndcqu]+'[bcdfgjklmnpqrstvwxz]",
        r"\bdes (beaux|belles|vieux|vieilles|petite?s|grande?s)\b",
        r"\b(beau|nouveau|vieux) (homme|arbre|ordinateur)\b",
    ],
    "de": [r"[^,d] (dass|weil|ob|während)\b", r", [,.?]"],
}


@pytest.mark.slow
def test_every_sentence_is_well_formed_and_stands_once() -> None:
    """No text twice in any language: so every translation is the only one."""
    seen: dict[str, set[str]] = {lang: set() for lang in LANGUAGES}
    for split, size in SIZES.items():
        sentences = split_of(split)
        assert len(sentences) == size
        low, high = (17, 25) if split == "test_long" else (4, 16)
        for sentence in sentences:
            mark = "?" if "QUESTION" in sentence.phenomena else "."
            for lang in LANGUAGES:
                text = sentence.text(lang)
                assert low <= len(text.split()) <= high, text
                assert re.fullmatch(rf"[^\W\d_][^ ]*( [^ ]+)* \{mark}", text), text
                assert text[0].isupper(), text
                assert not re.search(r"\w[.,?]", text), text
                assert not any(re.search(never, text, re.I) for never in NEVER[lang]), text
                assert text not in seen[lang]
                seen[lang].add(text)
            denied = len(re.findall(r"\bn(?:e |')", sentence.fr, re.I))
            assert denied == sentence.fr.split().count("pas"), sentence.fr
            assert bool(denied) == ("NEGATION" in sentence.phenomena), sentence.fr


def test_pairs_in_all_directions() -> None:
    for src_lang, tgt_lang in permutations(LANGUAGES, 2):
        text = embedded.pairs("test", src_lang, tgt_lang)
        back = embedded.pairs("test", tgt_lang, src_lang)
        assert len(text) == 1000
        assert text.src == back.tgt
        assert text.alignments is not None
        assert back.alignments is not None
        unlinked = {",", "est-ce", "que"} if {src_lang, tgt_lang} == {"fr", "de"} else {","}
        for src, tgt, links, reverse in zip(
            text.src, text.tgt, text.alignments, back.alignments, strict=True
        ):
            words, others = tokenize_for_alignment(src), tokenize_for_alignment(tgt)
            assert all(a in range(len(words)) and b in range(len(others)) for a, b in links)
            assert {(b, a) for a, b in links} == reverse
            alone = {word.lower() for i, word in enumerate(words) if i not in {a for a, _ in links}}
            assert alone <= unlinked, src


def test_the_learner_meets_every_word_of_the_hard_tests_in_training() -> None:
    known = {word for sentence in split_of("train") for word in sentence.en.split()}
    hard = (*split_of("test_combinations"), *split_of("test_long"))
    assert {word for sentence in hard for word in sentence.en.split()} <= known
