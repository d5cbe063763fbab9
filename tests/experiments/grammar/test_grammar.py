"""The embedded corpus: what the grammar draws, held to rules written apart from it."""

import gzip
import re
from itertools import islice, pairwise, permutations
from pathlib import Path
from zlib import crc32

import pytest

from experiments.grammar import build as building
from experiments.grammar.build import SIZES, build, line
from experiments.grammar.lexicon import lexicon
from transformer.data.corpora import FILE, embedded
from transformer.data.parallel import aligned_tokens
from transformer.support.files import corpus_folder

LANGUAGES, split_of = ("en", "fr", "de"), embedded.sentences


@pytest.mark.slow
def test_the_shipped_file_is_what_the_grammar_draws() -> None:
    shipped = gzip.decompress((corpus_folder() / FILE).read_bytes()).decode().splitlines(True)
    assert len(shipped) == sum(SIZES.values())
    drawn = [line(split, sentence) for split, sentence in islice(build(), 2500)]
    assert drawn == shipped[:2500], "run: python -m experiments corpus"


def test_the_file_holds_what_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = list(islice(build(), 3))
    monkeypatch.setattr(building, "build", lambda: iter(drawn))
    building.write(tmp_path / FILE)
    written = (tmp_path / FILE).read_bytes()
    assert gzip.decompress(written).decode().splitlines(True) == [line(*each) for each in drawn]


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
        for each in sentences:
            mark = "?" if "QUESTION" in each.shown else "."
            for lang in LANGUAGES:
                text = each.text(lang)
                assert low <= len(text.split()) <= high, text
                assert re.fullmatch(rf"[^\W\d_][^ ]*( [^ ]+)* \{mark}", text), text
                assert text[0].isupper(), text
                assert not re.search(r"\w[.,?]", text), text
                assert not any(re.search(never, text, re.I) for never in NEVER[lang]), text
                assert text not in seen[lang]
                seen[lang].add(text)
            denied = len(re.findall(r"\bn(?:e |')", each.fr, re.I))
            assert denied == each.fr.split().count("pas"), each.fr
            assert bool(denied) == ("NEGATION" in each.shown), each.fr


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
            words, others = aligned_tokens(src), aligned_tokens(tgt)
            assert all(a in range(len(words)) and b in range(len(others)) for a, b in links)
            assert {(b, a) for a, b in links} == reverse
            alone = {word.lower() for i, word in enumerate(words) if i not in {a for a, _ in links}}
            assert alone <= unlinked, src


def test_the_learner_meets_every_word_of_the_hard_tests_in_training() -> None:
    known = {word for each in split_of("train") for word in each.en.split()}
    hard = (*split_of("test_combinations"), *split_of("test_long"))
    assert {word for each in hard for word in each.en.split()} <= known


def test_held_out_combinations_are_only_in_their_own_test() -> None:
    """An adjective and a noun side by side in English, by rules of this test's own."""
    nouns = {form: each.en for each in lexicon().nouns for form in (each.en, each.en_plural)}
    adjectives = {each.en for each in lexicon().adjectives}
    found = {
        split: sum(
            crc32(f"{first} {nouns[last]}".encode()) % 12 == 0
            for sentence in split_of(split)
            for first, last in pairwise(sentence.en.split())
            if first in adjectives and last in nouns
        )
        for split in SIZES
    }
    assert found.pop("test_combinations") > 50
    assert set(found.values()) == {0}
