"""Contrasts: a table as README says, a model whose probabilities are written down, records."""

import math
import re
from itertools import permutations
from pathlib import Path

import pytest

from experiments import contrasts
from lessonkit.analysis.lexicon import read_embedded_corpus_tsv
from tests.helpers import ROOT
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.support.folders import shipped_model_names

RECORDS = sorted((ROOT / "data" / "results" / "contrasts").glob("*.json"))
CONTRASTS = contrasts.load_contrast_pairs()


def test_a_cell_by_hand() -> None:
    text, not_no = (
        "A man is {/*not} here. | {Mike is/No *man's} {in./*out.}",
        frozenset({"not", "no"}),
    )
    alike = {("en", "not"): not_no, ("en", "man's"): frozenset({"man", "man's"})}
    assert contrasts.parse_contrast_sentence_wordings(
        "en", text, 0, alike
    ) == contrasts.SentenceWordingsAndCues(("A man is here.", "Mike is in."), ((), ()))
    second = contrasts.parse_contrast_sentence_wordings("en", text, 1, alike)
    assert second.accepted == ("A man is not here.", "No man's out.")
    assert second.cues == ((not_no,), (alike["en", "man's"], frozenset({"out"})))
    first, second = (
        contrasts.parse_contrast_sentence_wordings("fr", "{l'*homme/*n'a  pas} ?", option, alike)
        for option in (0, 1)
    )
    assert (first.accepted, second.accepted) == (("l'homme ?",), ("n'a pas ?",))
    assert (first.cues, second.cues) == (((frozenset({"homme"}),),), ((frozenset({"n'"}),),))


def test_the_table_is_written_as_readme_says() -> None:
    cues = read_embedded_corpus_tsv("contrast_cues.tsv")
    words = [(row["language"], word) for row in cues for word in row["words"].split()]
    assert len(words) == len(set(words)), "a word belongs to one line of cues"
    for row in read_embedded_corpus_tsv("contrasts.tsv"):
        for lang in contrasts.LANGUAGES:
            assert all(each.count("/") == 1 for each in re.findall(r"\{([^}]*)\}", row[lang]))
            assert not re.search(r"\*(?!\w)", row[lang]), "no word after *"
    for lang, (first, second) in (pair for each in CONTRASTS for pair in each.sides.items()):
        assert all(a or b for a, b in zip(first.cues, second.cues, strict=True)), first
        assert not set(first.accepted) & set(second.accepted), first
        for own, other in ((first, second), (second, first)):
            assert all(own.cues) or not any(own.cues), own
            for sentence in own.accepted:  # it passes on its side alone
                assert contrasts.has_own_cues_only(lang, sentence, own, other), sentence
                assert not contrasts.has_own_cues_only(lang, sentence, other, own), sentence


def test_a_model_says_what_is_recorded_of_it(shipped: Translator) -> None:
    some = [each for each in CONTRASTS if each.corpus == "embedded" and each.phenomenon == "gender"]
    recorded = read_json(ROOT / "data" / "results" / "contrasts" / "demo-en-fr.json")
    rows = [row for row in recorded["sentences"] if row["phenomenon"] == "gender"]
    found = contrasts.measure_contrasts(shipped, some)
    for row, told in zip(found["sentences"], rows, strict=True):
        assert row.items() <= told.items()
    counts = recorded["phenomena"]["gender"]["says"]
    assert found["phenomena"]["gender"]["says"].items() <= counts.items()


NOT = frozenset({"not", "no"})
THERE, NOT_THERE = (
    contrasts.SentenceWordingsAndCues(("It is.",), ((),)),
    contrasts.SentenceWordingsAndCues(("It is not.",), ((NOT,),)),
)
DOG, CAT = frozenset({"dog", "puppy"}), frozenset({"cat"})
DOG_CAT, CAT_DOG = (
    contrasts.SentenceWordingsAndCues(("",), ((DOG, CAT),)),
    contrasts.SentenceWordingsAndCues(("",), ((CAT, DOG),)),
)


def test_what_is_kept_by_hand() -> None:
    """Cues stand in their order; a side without cues wants the other's absent."""
    for said, own, other, first, second in (
        ("It is.", THERE, NOT_THERE, True, False),
        ("It is NOT so.", THERE, NOT_THERE, False, True),
        ("It is nothing, not known.", THERE, NOT_THERE, False, True),
        ("It is nothing.", THERE, NOT_THERE, True, False),
        ("", THERE, NOT_THERE, True, False),
        ("The puppy bit a cat.", DOG_CAT, CAT_DOG, True, False),
        ("A cat bit the dog.", DOG_CAT, CAT_DOG, False, True),
        ("The dog bit the dog.", DOG_CAT, CAT_DOG, False, False),
        ("The dog and the cat and the dog.", DOG_CAT, CAT_DOG, False, False),  # one and other
        ("The dogs bit the cat.", DOG_CAT, CAT_DOG, False, False),
    ):
        assert contrasts.has_own_cues_only("en", said, own, other) is first, said
        assert contrasts.has_own_cues_only("en", said, other, own) is second, said


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"add some to contrasts.tsv"):
        contrasts.measure_contrasts(Translator.load("demo-en-fr"), [])
    with pytest.raises(UserError, match="this model has tree, and the pairs are in de, en, fr"):
        contrasts.record_contrasts("demo-parser", tmp_path / "record.json")
    assert not list(tmp_path.iterdir())


def test_every_translation_model_has_a_record_of_today_s_table() -> None:
    assert {file.stem for file in RECORDS} == set(shipped_model_names()) - {"demo-parser"}
    for file in RECORDS:
        record = read_json(file)
        src, tgt = record["src_lang"], record["tgt_lang"]
        some = [contrast for contrast in CONTRASTS if contrast.corpus == record["corpus"]]
        sources = [side.accepted[0] for contrast in some for side in contrast.sides[src]]
        assert [row["source"] for row in record["sentences"]] == sources
        assert tuple(record["phenomena"]) == contrasts.PHENOMENA
        command = f"record contrasts {file.stem} --record data/results/contrasts/{file.name}"
        assert record["evaluation"]["command"] == f"python -m transformer {command}"
        assert re.fullmatch("[0-9a-f]{40}", record["evaluation"]["commit"])
        sides = [each for contrast in some for each in permutations(contrast.sides[tgt])]
        for row, (own, other) in zip(record["sentences"], sides, strict=True):
            assert row["kept"] == contrasts.has_own_cues_only(tgt, row["said"], own, other)


def test_a_share_s_interval_by_hand() -> None:
    # Wilson's ends are the shares from which what was seen is 1.96 standard errors away.
    for hits, trials in ((3, 4), (9, 24), (1, 20), (500, 997)):
        for end in contrasts.wilson_interval(hits, trials):
            error = math.sqrt(end * (1 - end) / trials)
            assert abs(hits / trials - end) == pytest.approx(1.96 * error, rel=1e-4)
    # None of n: from 0 to 1.96^2 / (n + 1.96^2).
    assert contrasts.wilson_interval(0, 24) == pytest.approx((0.0, 3.8415 / 27.8415), abs=1e-5)
    assert contrasts.wilson_interval(24, 24) == pytest.approx((1 - 3.8415 / 27.8415, 1.0), abs=1e-5)
