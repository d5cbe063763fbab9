"""Tatoeba: connected groups, no leak, every reference; measured on the publisher's file."""

import dataclasses
import hashlib
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data import corpora, tatoeba
from transformer.data.parallel import ParallelText
from transformer.data.registry import CORPORA, DataFile
from transformer.data.tatoeba import group_pairs, key, read_pairs, split_of
from transformer.support.errors import UserError

SPLITS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def splits(shared_data: Path) -> dict[str, ParallelText]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSFORMER_DATA", str(shared_data))
        return {split: corpora.load("tatoeba", split, "en", "fr") for split in SPLITS}


@pytest.fixture(scope="module")
def pairs(shared_data: Path) -> list[tatoeba.Pair]:
    with zipfile.ZipFile(shared_data / "tatoeba" / "data.zip") as archive:
        return read_pairs(archive.read(tatoeba.MEMBER).decode())


def all_pairs(text: ParallelText) -> list[tuple[str, str]]:
    if text.references is None:
        return list(zip(text.src, text.tgt, strict=True))
    return [(s, r) for s, refs in zip(text.src, text.references, strict=True) for r in refs]


def test_the_groups_of_the_real_file(pairs: list[tatoeba.Pair]) -> None:
    groups = group_pairs(pairs)
    assert len(pairs) == 135_663
    assert len(groups) == 87_919
    assert max(len(group) for group in groups) == 72


def test_no_side_stands_in_two_splits(splits: dict[str, ParallelText]) -> None:
    for side in (0, 1):
        keys = [{key(pair[side]) for pair in all_pairs(splits[split])} for split in SPLITS]
        assert len(set.union(*keys)) == sum(len(k) for k in keys)


def test_the_splits_hold_every_pair_once(
    splits: dict[str, ParallelText], pairs: list[tatoeba.Pair]
) -> None:
    held = Counter(pair for text in splits.values() for pair in all_pairs(text))
    assert held == Counter(pairs)
    sizes = {split: (len(text), len(all_pairs(text))) for split, text in splits.items()}
    assert sizes == {
        "train": (132_266, 132_266),
        "validation": (1_163, 1_685),
        "test": (1_153, 1_712),
    }


def test_each_source_stands_once_with_all_its_references(
    splits: dict[str, ParallelText], pairs: list[tatoeba.Pair]
) -> None:
    known: dict[str, set[str]] = {}
    for english, french in pairs:
        known.setdefault(english, set()).add(french)
    assert splits["train"].references is None
    for split in ("validation", "test"):
        text = splits[split]
        assert text.references is not None
        assert len(set(text.src)) == len(text)
        for source, target, references in zip(text.src, text.tgt, text.references, strict=True):
            assert set(references) == known[source]
            assert len(set(references)) == len(references)
            assert target == references[0]


def test_the_other_direction_has_the_same_pairs(
    shared_data: Path, splits: dict[str, ParallelText], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", str(shared_data))
    back = corpora.load("tatoeba", "test", "fr", "en")
    assert Counter((en, fr) for fr, en in all_pairs(back)) == Counter(all_pairs(splits["test"]))
    assert len(set(back.src)) == len(back)


def test_the_order_is_not_by_length(splits: dict[str, ParallelText]) -> None:
    lengths = [len(sentence) for sentence in splits["train"].src]
    half = len(lengths) // 2
    assert sum(lengths[:half]) == pytest.approx(sum(lengths[half:]), rel=0.02)


def test_nothing_strange_is_left(splits: dict[str, ParallelText]) -> None:
    text = "".join(splits["train"].tgt)
    assert not set(text) & set("\u00a0\u2009\u202f\u2019\t")


def test_groups_by_hand() -> None:
    a, b, c = ("Go.", "Va !"), ("go!", "Pars."), ("Leave.", "pars !")
    d, e = ("Hi.", "Salut."), ("Pars.", "Hi.")  # e shares words with c and d, in the other language
    assert group_pairs([a, d, b, e, c]) == [[a, b, c], [d], [e]]


WORDS = st.sampled_from(["p", "q", "r", "s", "t"])


@given(st.lists(st.tuples(WORDS, WORDS), max_size=23))
def test_groups_are_the_connected_ones(pairs: list[tatoeba.Pair]) -> None:
    groups = group_pairs(pairs)
    assert Counter(pair for group in groups for pair in group) == Counter(pairs)
    for side in (0, 1):  # apart
        sides = [{pair[side] for pair in group} for group in groups]
        assert sum(map(len, sides)) == len(set().union(*sides))
    for group in groups:  # together: from the first pair every other can be reached
        reached, waiting = [group[0]], list(group[1:])
        while near := [p for p in waiting if any(p[0] == r[0] or p[1] == r[1] for r in reached)]:
            reached += near
            waiting = [p for p in waiting if p not in near]
        assert not waiting


def test_the_split_of_a_group_depends_on_its_words_alone() -> None:
    group = [("Run!", "Cours !"), ("Go.", "Cours.")]
    assert split_of(group) == split_of(group[::-1]) == split_of([("GO", "x"), ("run", "y")])
    counts = Counter(split_of([(f"sentence {i}", "phrase")]) for i in range(10_007))
    assert 80 < counts["test"] < 160
    assert 80 < counts["validation"] < 160
    assert counts.total() == 10_007


@pytest.mark.parametrize("line", ["only English", "one\ttwo\tthree", "Go.\t ", "", "\tVa !"])
def test_a_line_without_two_columns(line: str) -> None:
    with pytest.raises(UserError, match="tatoeba, line 2 is"):
        read_pairs(f"Go.\tVa !\n{line}\nRun!\tCours !\n")


def test_a_file_too_small_for_a_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRANSFORMER_DATA", raising=False)
    path = tmp_path / "tatoeba" / "data.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(tatoeba.MEMBER, "Go.\tVa !\n")
    file = DataFile(name="tatoeba/data.zip", sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    corpus = dataclasses.replace(CORPORA["tatoeba"], files=(file,), cache=tmp_path)
    assert corpora.load(corpus, "train", "fr", "en").src == ("Va !",)
    with pytest.raises(UserError, match="tatoeba has no pair in test"):
        corpora.load(corpus, "test", "fr", "en")
