"""The corpora by name: the registry, wrong names, and what loading gives of each."""

import gzip
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from transformer.data import corpora, download
from transformer.data.corpora import CORPORA
from transformer.data.parallel import ParallelText, key
from transformer.support.errors import UserError


@pytest.fixture(scope="module")
def real(shared_data: Path) -> Path:
    """The publishers' own files, which are read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSFORMER_DATA", str(shared_data))
        yield shared_data


def test_every_entry_is_complete() -> None:
    assert list(CORPORA) == ["embedded", "parses", "multi30k", "tatoeba", "iwslt"]
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        assert corpus.about
        assert corpus.licence
        assert corpus.citation
        assert {"train", "validation"} < set(corpus.splits)
        assert corpora.default_split(name).startswith("test")
        assert bool(corpus.files) == bool(corpus.mirrors)
        for mirror in corpus.mirrors:
            assert re.fullmatch(r"https://.*/", mirror)
        for file in corpus.files:
            assert file.name.startswith(f"{name}/")
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)


def test_multi30k_has_each_split_in_each_language() -> None:
    names = {file.name for file in CORPORA["multi30k"].files}
    stems = [split.replace("validation", "val") for split in CORPORA["multi30k"].splits]
    assert names == {f"multi30k/{s}.{lang}.gz" for s in stems for lang in ("de", "en", "fr")}


def test_sums_are_the_publishers(shared_data: Path) -> None:
    for corpus in CORPORA.values():
        for file in corpus.files:
            if (path := shared_data / file.name).exists():
                assert hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256


def test_importing_it_is_light() -> None:
    code = (
        "import json, sys; import transformer.data.corpora; "
        "print(json.dumps(sorted({n.partition('.')[0] for n in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert not {"torch", "numpy", "pooch", "requests", "tqdm"} & set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("multi30", "train", "de", "en"), "unknown corpus 'multi30': did you mean 'multi30k'?"),
        (
            ("multi30k", "test_2016", "de", "en"),
            "unknown split of multi30k 'test_2016': did you mean 'test_2016_flickr'?",
        ),
        (("iwslt", "train", "de", "fr"), "iwslt has no de-fr: give one of de-en, en-de, en-fr"),
        (("embedded", "train", "en", "en"), "embedded has no en-en: give one of de-en"),
        (("parses", "test", "tree", "en"), "parses has no tree-en: give one of en-tree"),
    ],
)
def test_wrong_names(arguments: tuple[str, str, str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        corpora.load(*arguments)


def test_wrong_corpus_to_fetch_or_verify() -> None:
    for function in (corpora.fetch, corpora.verify, corpora.default_split):
        with pytest.raises(UserError, match=r"did you mean 'tatoeba'\?"):
            function("tatoba")


def test_the_embedded_corpus_needs_no_file() -> None:
    assert corpora.fetch("embedded") == []
    assert corpora.verify("embedded") == []


# --- Multi30k -----------------------------------------------------------------------------


@pytest.mark.parametrize(("split", "count"), [("validation", 1014), ("test_2016_flickr", 1000)])
def test_multi30k_sizes_in_every_direction(real: Path, split: str, count: int) -> None:
    for src_lang, tgt_lang in CORPORA["multi30k"].pairs:
        text = corpora.load("multi30k", split, src_lang, tgt_lang)
        back = corpora.load("multi30k", split, tgt_lang, src_lang)
        assert (len(text), text.src_lang, text.tgt_lang) == (count, src_lang, tgt_lang)
        assert (text.src, text.tgt) == (back.tgt, back.src)


def test_multi30k_train_survives_its_quirks(real: Path) -> None:
    text = corpora.load("multi30k", "train", "de", "fr")
    assert len(text) == len(text.tgt) == 29_000
    for side in (text.src, text.tgt):
        assert all(line == " ".join(line.split()) for line in side)
    raw = gzip.decompress((real / "multi30k" / "train.de.gz").read_bytes()).decode()
    assert "\t" in raw.split("\n")[7365]
    assert text.src[7365] == " ".join(raw.split("\n")[7365].split())
    assert text.src[0] == "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche."
    assert text.tgt[0] == "Deux jeunes hommes blancs sont dehors près de buissons."


# --- Tatoeba ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def splits(real: Path) -> dict[str, ParallelText]:
    return {
        split: corpora.load("tatoeba", split, "en", "fr") for split in CORPORA["tatoeba"].splits
    }


def all_pairs(text: ParallelText) -> list[tuple[str, str]]:
    if text.references is None:
        return list(zip(text.src, text.tgt, strict=True))
    return [(s, r) for s, refs in zip(text.src, text.references, strict=True) for r in refs]


def test_no_side_of_tatoeba_stands_in_two_splits(splits: dict[str, ParallelText]) -> None:
    for side in (0, 1):
        keys = [{key(pair[side]) for pair in all_pairs(text)} for text in splits.values()]
        assert len(set.union(*keys)) == sum(len(each) for each in keys)


def test_tatoebas_splits_hold_every_pair_once(splits: dict[str, ParallelText]) -> None:
    held = Counter(pair for text in splits.values() for pair in all_pairs(text))
    assert held == Counter(corpora.all_tatoeba_pairs())
    sizes = {split: (len(text), len(all_pairs(text))) for split, text in splits.items()}
    assert sizes == {
        "train": (132_266, 132_266),
        "validation": (1_163, 1_685),
        "test": (1_153, 1_712),
    }


def test_each_source_of_tatoeba_stands_once_with_all_its_references(
    splits: dict[str, ParallelText],
) -> None:
    assert splits["train"].references is None
    lengths = [len(sentence) for sentence in splits["train"].src]  # shuffled: the file is by length
    half = len(lengths) // 2
    assert sum(lengths[:half]) == pytest.approx(sum(lengths[half:]), rel=0.02)
    for split in ("validation", "test"):
        text = splits[split]
        back = corpora.load("tatoeba", split, "fr", "en")
        assert Counter((en, fr) for fr, en in all_pairs(back)) == Counter(all_pairs(text))
        for each in (text, back):
            assert each.references is not None
            assert len(set(each.src)) == len(each)
            assert list(each.tgt) == [references[0] for references in each.references]


# --- IWSLT --------------------------------------------------------------------------------


@pytest.fixture
def iwslt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of IWSLT, to be filled."""
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path))
    monkeypatch.setattr(download, "cache_folder", lambda: tmp_path / "cache")
    (tmp_path / "iwslt" / "texts" / "de-en").mkdir(parents=True)
    return tmp_path / "iwslt"


def test_iwslt_is_found_at_any_depth_and_read_both_ways(iwslt: Path) -> None:
    for lang, line in (("de", "Danke."), ("en", "Thank you.")):
        (iwslt / f"texts/de-en/train.tags.de-en.{lang}").write_text(f"<doc>\n {line} \n</doc>\n")
        (iwslt / f"texts/de-en/IWSLT16.TED.tst2014.de-en.{lang}.xml").write_text(
            f"<mteval><seg> {line} </seg></mteval>"
        )
    for split in ("train", "test"):
        there, back = (corpora.load("iwslt", split, *pair) for pair in (("de", "en"), ("en", "de")))
        assert (there.src, there.tgt) == (back.tgt, back.src) == (["Danke."], ["Thank you."])
    assert len(corpora.fetch("iwslt")) == 4
    assert corpora.verify("iwslt") == []
    (iwslt / "train.tags.en-de.en").write_text("From English.\n")
    (iwslt / "train.tags.en-de.de").write_text("Aus Englisch.\n")
    assert corpora.load("iwslt", "train", "en", "de").src == ["From English."]  # its own come first


def test_without_iwslts_files_it_is_said_what_to_put_where(iwslt: Path) -> None:
    said = f"cannot be downloaded: put what your archive .* into {iwslt}"
    for call in (lambda: corpora.fetch("iwslt"), lambda: corpora.load("iwslt", "test", "de", "en")):
        with pytest.raises(UserError, match=said):
            call()
    (iwslt / "train.tags.fr-en.fr").write_text("Un.\n")  # one side alone
    with pytest.raises(UserError, match="put the two files of train, fr-en into"):
        corpora.load("iwslt", "train", "fr", "en")
