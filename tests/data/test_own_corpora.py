"""Corpora of a user's own text: written whole, split without leaks, read in both directions."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from transformer.data import corpora, downloads, own_corpora
from transformer.data.cleaning import HELD_OUT_SIDE_REASON
from transformer.data.grouping import Pair, grouping_key
from transformer.data.own_corpora import (
    AddedCorpus,
    add_own_corpus,
    check_corpus_name,
    parse_languages,
    remove_own_corpus,
)
from transformer.data.parallel import ParallelText
from transformer.data.source_text import PairsWithOrigin
from transformer.support import folders
from transformer.support.errors import UserError

Patch = pytest.MonkeyPatch
LANGUAGES = ("xq", "zz_QQ")
# Every seventh source has two translations, and every eleventh translation two sources.
PAIRS = list(
    dict.fromkeys((f"word {i - (i % 7 == 0)}", f"mot {i + (i % 11 == 0)}") for i in range(1, 1009))
)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: Patch) -> Path:
    """The user's folder of corpora, empty."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("TRANSFORMER_DATA", str(folder))
    return folder


def add(name: str = "mine", pairs: Sequence[Pair] = PAIRS, **splits: Sequence[Pair]) -> AddedCorpus:
    return add_own_corpus(name, LANGUAGES, PairsWithOrigin(pairs=pairs, files=["my.tsv"]), splits)


def pairs_of(text: ParallelText) -> list[Pair]:
    references = text.accepted_translations
    return [(s, r) for s, refs in zip(text.src, references, strict=True) for r in refs]


def test_what_is_added_is_loaded_in_both_directions(data: Path) -> None:
    added = add()
    assert (added.num_read, added.dropped) == (len(PAIRS), {})
    assert sum(added.num_kept.values()) == len(PAIRS)
    assert set(added.sample) <= set(PAIRS)
    assert len(set(added.sample)) == own_corpora.NUM_SAMPLED_PAIRS
    loaded = []
    for split in corpora.find_corpus("mine").splits:
        there = pairs_of(corpora.load("mine", split, *LANGUAGES))
        back = pairs_of(corpora.load("mine", split, *LANGUAGES[::-1]))
        assert sorted(there) == sorted(pair[::-1] for pair in back)
        assert len(there) == added.num_kept[split]
        loaded.append(there)
    assert sorted(pair for split in loaded for pair in split) == sorted(PAIRS)
    for side in (0, 1):
        keys = [{grouping_key(pair[side]) for pair in split} for split in loaded]
        assert len(set.union(*keys)) == sum(map(len, keys))
    for held_out in loaded[1:]:
        assert 50 < len(held_out) < 160


def test_the_languages_in_the_other_order_give_the_same_split(data: Path) -> None:
    add()
    turned = PairsWithOrigin(pairs=[pair[::-1] for pair in PAIRS], files=["my.tsv"])
    add_own_corpus("turned", LANGUAGES[::-1], turned)
    for split in own_corpora.SPLITS:
        texts = [corpora.load(name, split, *LANGUAGES) for name in ("mine", "turned")]
        assert sorted(pairs_of(texts[0])) == sorted(pairs_of(texts[1]))


def test_a_large_group_is_learned_from(data: Path) -> None:
    same = [("the same", f"autre {i}") for i in range(own_corpora.MAX_HELD_OUT_GROUP + 1)]
    for number in range(5):
        named = [(f"{first} {number}", second) for first, second in same]
        add(f"mine{number}", [*PAIRS, *named])
        assert set(named) <= set(pairs_of(corpora.load(f"mine{number}", "train", *LANGUAGES)))


def test_the_users_own_test_set_stays_whole_and_out_of_training(data: Path) -> None:
    test = [("Word 20!", "autre"), ("new", "mot 30"), ("", "empty"), ("new", "nouveau")]
    validation = [("NEW", "neuf"), ("fresh", "frais")]
    added = add(test=test, validation=validation)
    text = corpora.load("mine", "test", *LANGUAGES)
    assert list(text.src) == ["Word 20!", "new"]
    assert text.references == [["autre"], ["mot 30", "nouveau"]]
    assert pairs_of(corpora.load("mine", "validation", *LANGUAGES)) == [("fresh", "frais")]
    train = pairs_of(corpora.load("mine", "train", *LANGUAGES))
    left_out = [pair for pair in PAIRS if pair[0] == "word 20" or pair[1] == "mot 30"]
    assert left_out
    assert sorted(train) == sorted(set(PAIRS) - set(left_out))
    assert added.dropped == {"an empty side": 1, HELD_OUT_SIDE_REASON: len(left_out) + 1}


def test_nothing_is_left_of_what_fails(data: Path, monkeypatch: Patch) -> None:
    for pairs, message in (
        ([("a", "a")], r"of 1 pairs none is left for train \(1 both sides equal\)"),
        ([("a", "b")] * 3, r"none is left for validation .*validation files of your own"),
    ):
        with pytest.raises(UserError, match=message):
            add(pairs=pairs)

    turned = PairsWithOrigin(pairs=[("слово", f"word {i}") for i in range(9)], files=[])
    with pytest.raises(UserError, match=r"in another script\): the first side is to be in en"):
        add_own_corpus("mine", ("en", "uk"), turned)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with Patch.context() as patch:
        patch.setattr(own_corpora, "write_json", fail)
        with pytest.raises(OSError, match="No space"):
            add()
    assert list(data.iterdir()) == []


def test_names_and_languages(data: Path) -> None:
    assert parse_languages("en-zh_CN") == ("en", "zh_CN")
    for text in ("en", "en-en", "en-uk-de", "tree-en", "en-", "e-uk", "../x-en"):
        with pytest.raises(UserError, match="give the codes of two"):
            parse_languages(text)
    check_corpus_name("my-text.2", taken=["demo"])
    for name in ("", ".hidden", "../x", "a/b", "x" * 65, "two words"):
        with pytest.raises(UserError, match="is no name for a corpus"):
            check_corpus_name(name, taken=[])
    with pytest.raises(UserError, match="of the course"):
        check_corpus_name("demo", taken=["demo"])
    add()
    with pytest.raises(UserError, match="mine exists"):
        check_corpus_name("mine", taken=[])


def test_removed_it_is_gone_and_others_stay(data: Path) -> None:
    folder = add().folder
    add("other")
    assert [corpus.name for corpus in corpora.all_corpora()][-2:] == ["mine", "other"]
    assert remove_own_corpus("mine") == folder
    assert [path.name for path in data.iterdir()] == ["other"]
    for name in ("mine", "multi30k", "../other"):
        with pytest.raises(UserError, match=r"is no corpus of your own: .*there: other"):
            remove_own_corpus(name)
    with pytest.raises(UserError, match="unknown corpus 'mine'"):
        corpora.find_corpus("mine")
    (data / "other" / "notes.txt").write_text("the user's")
    shutil.copytree(data / "other", data / "two words")  # no name for a corpus
    assert own_corpora.own_corpus_names() == ["other"]
    remove_own_corpus("other")
    assert [path.name for path in (data / "other").iterdir()] == ["notes.txt"]
    assert corpora.corpus_licence("mine") == "not known"


def test_a_damaged_one_is_refused_by_its_file(data: Path) -> None:
    folder = add().folder
    path = folder / "train.tsv"
    path.write_text(path.read_text()[:-5])
    with pytest.raises(UserError, match=r"train\.tsv is missing or damaged"):
        corpora.load("mine", "train", *LANGUAGES)
    for content in ('{"languages": ["en", "uk"]}', '{"languages": 3}', "[]", "{"):
        (folder / "corpus.json").write_text(content)
        with pytest.raises(UserError, match=r"corpus\.json"):
            corpora.find_corpus("mine")


def test_without_a_folder_of_the_users_they_lie_outside_the_cache(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.delenv("TRANSFORMER_DATA", raising=False)
    monkeypatch.setattr(downloads, "users_own_data_folder", lambda: tmp_path / "own")
    assert own_corpora.own_corpus_names() == []
    folder = add().folder
    assert folder == tmp_path / "own" / "mine"
    assert set(corpora.fetch("mine")) == {folder / f"{split}.tsv" for split in own_corpora.SPLITS}
    assert all(corpora.is_intact_by_file("mine").values())
    monkeypatch.setattr(folders, "checkout_root", lambda: None)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert folders.users_own_data_folder() == tmp_path / "share" / "attention-course"
    assert folders.cache_folder() != folders.users_own_data_folder()
