"""The table of contrasts: every row is read as README says, and its words are the corpus's own."""

from collections import Counter
from pathlib import Path

import pytest

from lessonkit.analysis.contrast_sets import (
    LANGUAGES,
    PHENOMENA,
    Side,
    load_contrasts,
    split_words,
)
from transformer.data import corpora
from transformer.data.parallel import key
from transformer.support.errors import UserError

CONTRASTS = load_contrasts()
RARE = {"keinen", "niemand", "nobody"}  # what captions hardly have is asked
PAIRS = {
    "multi30k": [("de", "en"), ("fr", "en")],
    "tatoeba": [("fr", "en")],
    "embedded": [("de", "en"), ("fr", "en")],
}
HEAD = "corpus\tphenomenon\tde\ten\tfr\n"
ROW = "multi30k\tnegation\tDa ist {ein/*kein} Hund.\tA dog is {/*not} there.\t{Le/*Ne}"


def write(folder: Path, table: str, cues: str = "") -> Path:
    """Write a table and its cues."""
    (folder / "contrast_cues.tsv").write_text(f"language\twords\n{cues}", encoding="utf-8")
    file = folder / "contrasts.tsv"
    file.write_text(table, encoding="utf-8")
    return file


def test_every_phenomenon_has_its_pairs_in_each_corpus() -> None:
    counted = Counter((contrast.corpus, contrast.phenomenon) for contrast in CONTRASTS)
    sizes = {"multi30k": 24, "tatoeba": 20, "embedded": 20}
    assert counted == {(name, what): sizes[name] for name in sizes for what in PHENOMENA}
    assert set(sizes) <= set(corpora.CORPORA)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_sentence_is_written_as_one_and_stands_once(lang: str) -> None:
    read: Counter[tuple[str, str]] = Counter()
    for contrast in CONTRASTS:
        for side in contrast.sides[lang]:
            read[contrast.corpus, side.accepted[0]] += 1
            for sentence in side.accepted:
                assert sentence[0].isupper(), sentence
                assert sentence.endswith((".", " ?") if lang == "fr" else (".", "?")), sentence
                assert " ." not in sentence, sentence
                assert not set("{}/|*\u2019") & set(sentence), sentence
    assert not [sentence for sentence, times in read.items() if times > 1]


@pytest.mark.slow
@pytest.mark.parametrize("corpus", PAIRS)
def test_the_words_are_the_corpus_s_and_the_sentences_are_not(
    corpus: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if corpus != "embedded":
        folder = request.getfixturevalue("shared_data")
        monkeypatch.setenv("TRANSFORMER_DATA", str(folder))
    for src_lang, tgt_lang in PAIRS[corpus]:
        text = corpora.load(corpus, "train", src_lang, tgt_lang)
        for lang, lines in ((src_lang, text.src), (tgt_lang, text.tgt)):
            times = Counter(word for line in lines for word in split_words(lang, line))
            seen = {key(line) for line in lines}
            for contrast in CONTRASTS:
                for side in contrast.sides[lang] if contrast.corpus == corpus else ():
                    for sentence in side.accepted:
                        assert key(sentence) not in seen, sentence
                        rare = {word for word in split_words(lang, sentence) if times[word] < 5}
                        assert rare <= RARE, sentence


def test_a_row_by_hand(tmp_path: Path) -> None:
    english = "A man is {/*not} here. | {Mike is/No *man's} {in./*out.}"
    row = f"tatoeba\tgender\tEin {{*Mann/*Kind}}.\t{english}\t{{l'*homme/*n'a  pas}} ?"
    file = write(tmp_path, f"# remark\n{HEAD}\n{row}\n", "# remark\nen\tnot no\nen\tman man's\n")
    (contrast,) = load_contrasts(file)
    assert contrast[:2] == ("tatoeba", "gender")
    assert contrast.sides["en"] == (
        Side(("A man is here.", "Mike is in."), ((), ())),
        Side(
            ("A man is not here.", "No man's out."),
            (
                (frozenset({"not", "no"}),),
                (frozenset({"man", "man's"}), frozenset({"out"})),
            ),
        ),
    )
    first, second = contrast.sides["fr"]
    assert (first.accepted, second.accepted) == (("l'homme ?",), ("n'a pas ?",))
    assert (first.cues, second.cues) == (((frozenset({"homme"}),),), ((frozenset({"n'"}),),))


def test_words_are_cut_language_by_language() -> None:
    assert split_words("en", "He isn\u2019t Tom's.") == ["he", "isn't", "tom's"]
    assert split_words("fr", "L'Été n\u2019est-il pas l\u00e0 ?") == [
        "l'", "été", "n'", "est", "il", "pas", "là",
    ]  # fmt: skip
    assert split_words("de", "Größe, 3 Bälle!") == ["größe", "3", "bälle"]


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("", "contrasts.tsv: 0 columns"),
        (ROW + "\n", "line 1: the first line must name the columns"),
        (HEAD + "multi30k\tnegation\tEin\n", "line 2: 3 columns, none empty"),
        (HEAD + ROW.replace("{/*not}", "").replace("A dog is  there.", "") + "\n", "none empty"),
        (HEAD + ROW.replace("negation", "tense") + "\n", "'tense' is none of negation, gender"),
        (HEAD + ROW.replace("{ein/*kein}", "{ein/kein}") + "\n", "no cue: put * before"),
        (HEAD + ROW.replace("{ein/*kein}", "*kein") + "\n", "says the same twice"),
        (HEAD + ROW.replace("{ein/*kein}", "{ein/*kein/zwei}") + "\n", "must have two parts"),
        (HEAD + ROW.replace("{ein/*kein}", "{*kein}") + "\n", "must have two parts"),
        (
            HEAD + ROW.replace("Hund.", "Hund. | {Ein *Hund/*Keiner} ist da.") + "\n",
            "has cues for some translations only",
        ),
        (HEAD + ROW.replace("*kein}", "*}") + "\n", "no word after *"),
    ],
)
def test_a_table_that_is_wrong(table: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        load_contrasts(write(tmp_path, table))
    assert told in str(refused.value)


def test_a_word_in_two_lines_of_cues(tmp_path: Path) -> None:
    file = write(tmp_path, HEAD + ROW, "en\tnot no\nfr\tno\nen\tno never\n")
    with pytest.raises(UserError, match=r"contrast_cues.tsv, line 4: 'no' stands twice"):
        load_contrasts(file)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="git checkout"):
        load_contrasts(tmp_path / "contrasts.tsv")


def test_negation_is_rare_in_captions_and_common_elsewhere(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", str(shared_data))
    negations = {lang: CONTRASTS[0].sides[lang][1].cues[0][0] for lang in LANGUAGES}

    def count(corpus: str, lang: str) -> tuple[int, int]:
        """Sentences of the training text with a word of negation, and all of them."""
        text = corpora.load(corpus, "train", lang, "en" if lang != "en" else "fr")
        return sum(
            not negations[lang].isdisjoint(split_words(lang, line)) for line in text.src
        ), len(text)

    # Lessons 07 and 08 say these figures.
    captions = {lang: count("multi30k", lang) for lang in LANGUAGES}
    assert captions == {"de": (131, 29_000), "en": (142, 29_000), "fr": (155, 29_000)}
    negated, sentences = count("tatoeba", "fr")
    assert negated / sentences == pytest.approx(0.21, abs=0.005)
    negated, sentences = count("embedded", "fr")
    assert negated / sentences == pytest.approx(0.17, abs=0.005)
