"""The corpora by name: which there are, `load` a split, `fetch` the files, `verify` them.

Not in the paper, which trains on WMT 2014 (§5.1): these fit a course. No torch in here, and
nothing that is slow to import: the command line lists corpora with it.
"""

import gzip
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from transformer.data import embedded, parallel
from transformer.data.download import DataFile, FileReport, State, obtain, report, search_folders
from transformer.data.parallel import Pair, ParallelText
from transformer.support.errors import UserError, unknown_name

ALL_SIX = tuple((a, b) for a in ("de", "en", "fr") for b in ("de", "en", "fr") if a != b)
SHUFFLE_SEED = 2017  # Tatoeba's file is sorted by length


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A corpus, and where its text comes from.

    Attributes:
        name, about: As the recipes and the command line call it; one line for a list.
        pairs: Directions, (source language, target language).
        splits: What `load` gives, in the corpus's own order.
        licence, citation: What its reader may do with it, and whom to name.
        files, mirrors: What `fetch` gets, and the addresses of the folders that hold it, the
            preferred first; empty for a corpus that is not downloaded.
    """

    name: str
    about: str
    pairs: tuple[tuple[str, str], ...]
    splits: tuple[str, ...]
    licence: str
    citation: str
    files: tuple[DataFile, ...] = ()
    mirrors: tuple[str, ...] = ()


def load(corpus: str, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Load one split of a corpus in one direction, getting the files it needs.

    Sentences are stripped, and blanks of other kinds (tab, no-break, thin) become plain ones.
    A pair with an empty side is dropped, in every split, and their number is logged.

    Args:
        corpus: A name in `CORPORA`.
        split: One of the corpus's splits.
        src_lang, tgt_lang: One of its directions, as "de" and "en"; "tree" is a tree of phrases.

    Raises:
        UserError: A name is unknown, a file cannot be had or is corrupted, the sides have
            different numbers of lines, or no pair is left.
    """
    found = find_corpus(corpus)
    if split not in found.splits:
        raise unknown_name(f"split of {corpus}", split, found.splits)
    if (src_lang, tgt_lang) not in found.pairs:
        known = ", ".join("-".join(pair) for pair in found.pairs)
        raise UserError(f"{corpus} has no {src_lang}-{tgt_lang}: give one of {known}")
    return _READERS[corpus](split, src_lang, tgt_lang)


def find_corpus(name: str) -> Corpus:
    """Give the corpus of this name; a `UserError` gives the nearest one."""
    if name not in CORPORA:
        raise unknown_name("corpus", name, CORPORA)
    return CORPORA[name]


def fetch(name: str) -> list[Path]:
    """Make sure that every file of a corpus is there and right, downloading what is missing.

    Returns:
        The files' paths: none for the embedded corpus, the user's own for IWSLT.

    Raises:
        UserError: The name is unknown, or a file cannot be had or is corrupted.
    """
    corpus = find_corpus(name)
    if name == "iwslt":
        return _own_iwslt_files()
    return [obtain(file, corpus.mirrors) for file in corpus.files]


def verify(name: str) -> list[FileReport]:
    """Check the sums of a corpus's files again, without downloading.

    Returns:
        For each file its path and whether it is ok or missing. None for the embedded corpus,
        which is not downloaded, and for IWSLT, whose files have no known sums.

    Raises:
        UserError: The name is unknown, or files are corrupted (each is named).
    """
    reports = [report(file) for file in find_corpus(name).files]
    bad = [str(each.path) for each in reports if each.state == State.CORRUPTED]
    if bad:
        raise UserError(
            f"corrupted: {', '.join(bad)}; delete and fetch {name} again "
            f"({len(bad)} of {len(reports)} files)"
        )
    return reports


def default_split(corpus: str) -> str:
    """Name a corpus's first test set."""
    return next(split for split in find_corpus(corpus).splits if split.startswith("test"))


def _file(corpus: str, name: str) -> Path:
    """Give the path of a checked copy of one of a corpus's files."""
    (file,) = (file for file in CORPORA[corpus].files if file.name == f"{corpus}/{name}")
    return obtain(file, CORPORA[corpus].mirrors)


def _load_multi30k(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    stem = "val" if split == "validation" else split
    paths = [_file("multi30k", f"{stem}.{lang}.gz") for lang in (src_lang, tgt_lang)]
    texts = [gzip.decompress(path.read_bytes()).decode("utf-8") for path in paths]
    return parallel.side_by_side(src_lang, tgt_lang, *map(parallel.split_lines, texts))


def all_tatoeba_pairs() -> list[Pair]:
    """Give Tatoeba's pairs of every split, in the order of its file."""
    return parallel.tatoeba_pairs(_file("tatoeba", "data.zip"))


def _load_tatoeba(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """In train a sentence stands once with each of its translations, else once with all."""
    pairs = parallel.split_pairs(all_tatoeba_pairs())[split]
    random.Random(SHUFFLE_SEED).shuffle(pairs)
    if src_lang == "fr":
        pairs = [(french, english) for english, french in pairs]
    if split != "train":
        return parallel.with_references(src_lang, tgt_lang, pairs)
    src, tgt = zip(*pairs, strict=True)
    return ParallelText(src_lang=src_lang, tgt_lang=tgt_lang, src=src, tgt=tgt)


def _load_iwslt(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Read the user's own files; those of either direction will do."""
    known = {path.name: path for path in reversed(_own_iwslt_files())}  # the user's win
    for pair in (f"{src_lang}-{tgt_lang}", f"{tgt_lang}-{src_lang}"):
        names = [_IWSLT_FILES[split].format(pair=pair, lang=lang) for lang in (src_lang, tgt_lang)]
        if known.keys() >= set(names):
            sides = [parallel.iwslt_lines(known[name]) for name in names]
            return parallel.side_by_side(src_lang, tgt_lang, *sides)
    raise _no_iwslt(f"the two files of {split}, {src_lang}-{tgt_lang}")


def _own_iwslt_files() -> list[Path]:
    found = [
        path
        for folder in search_folders()
        for path in sorted((folder / "iwslt").rglob("*"))
        if path.name.startswith(("train.tags.", "IWSLT16.TED."))
    ]
    if not found:
        raise _no_iwslt("what your archive of IWSLT 2016 holds (tar xzf de-en.tgz)")
    return found


def _no_iwslt(wanted: str) -> UserError:
    return UserError(
        f"no such IWSLT text here, and it cannot be downloaded: put {wanted} into "
        f"{search_folders()[0] / 'iwslt'}, or take another corpus "
        "(train ... --set corpus=multi30k)"
    )


_READERS: dict[str, Callable[[str, str, str], ParallelText]] = {
    "embedded": embedded.pairs,
    "parses": lambda split, *_: embedded.parses(split),
    "multi30k": _load_multi30k,
    "tatoeba": _load_tatoeba,
    "iwslt": _load_iwslt,
}
_IWSLT_FILES = {  # the two sets of XML are those that torchtext validates and tests on
    "train": "train.tags.{pair}.{lang}",
    "validation": "IWSLT16.TED.tst2013.{pair}.{lang}.xml",
    "test": "IWSLT16.TED.tst2014.{pair}.{lang}.xml",
}

_TATOEBA_SUM = "fb317e80248faeb62dc25ef3390ae24ca34b94e276bbc5141fd8862c2200bff5"
_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
_MULTI30K_SUMS = {
    "train.de": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.fr": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.de": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.fr": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.de": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.fr": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "test_2017_flickr.de": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_flickr.en": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    "test_2017_flickr.fr": "3ba671ceb2299f3304ffafefea7a833d08632fbaf0ba18546f8a2ec2391af496",
    "test_2017_mscoco.de": "799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338",
    "test_2017_mscoco.en": "aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58",
    "test_2017_mscoco.fr": "754f3072ba9f124569ba5258b32730fc1d214bbf8e0c6dfb2b74401676220db0",
    "test_2018_flickr.de": "ddd0130c7d97482dc5197a02141dae8dd79f20f03586c480d675c09a32daf608",
    "test_2018_flickr.en": "ef4f4844037d4c5dea75c9a8ed5fd78905967a26f67c255e230cc9780032654d",
    "test_2018_flickr.fr": "fb2b83fcceb937a4f7e3e93c1c51c22aba92f1e342391e6b5ba392b16a920501",
}
_CORPORA = (
    Corpus(
        name="embedded",
        about="English, French and German sentences made by a grammar, with gold word alignments",
        pairs=ALL_SIX,
        splits=tuple(embedded.SIZES),
        licence="CC BY 4.0",
        citation="this course",
    ),
    Corpus(
        name="parses",
        about="the English sentences of the embedded corpus, and their trees of phrases",
        pairs=(("en", "tree"),),
        splits=tuple(embedded.SIZES),
        licence="CC BY 4.0",
        citation="this course",
    ),
    Corpus(
        name="multi30k",
        about="captions of photographs in German, English and French, 29,000 in train",
        pairs=ALL_SIX,
        splits=(
            *("train", "validation", "test_2016_flickr", "test_2017_flickr"),
            *("test_2017_mscoco", "test_2018_flickr"),
        ),
        licence="no licence file; the terms of Flickr30K: non-commercial research and education",
        citation="Elliott et al. 2016 and 2017, Barrault et al. 2018 (github.com/multi30k/dataset)",
        files=tuple(DataFile(f"multi30k/{stem}.gz", sha) for stem, sha in _MULTI30K_SUMS.items()),
        mirrors=(
            f"https://raw.githubusercontent.com/multi30k/dataset/{_COMMIT}/data/task1/raw/",
            f"https://github.com/multi30k/dataset/raw/{_COMMIT}/data/task1/raw/",
        ),
    ),
    Corpus(
        name="tatoeba",
        about="short everyday sentences in English and French, 135,842 pairs",
        pairs=(("en", "fr"), ("fr", "en")),
        splits=("train", "validation", "test"),
        licence="CC BY 2.0 FR",
        citation="www.manythings.org/anki and tatoeba.org",
        files=(DataFile("tatoeba/data.zip", _TATOEBA_SUM, most_bytes=3_000_000),),
        mirrors=("https://download.pytorch.org/tutorial/",),
    ),
    Corpus(
        name="iwslt",
        about="talks of TED, as IWSLT 2016 laid them out; from an archive of your own",
        pairs=(("de", "en"), ("en", "de"), ("en", "fr"), ("fr", "en")),
        splits=("train", "validation", "test"),
        licence="CC BY-NC-ND 3.0 (4.0 for the later hub copy)",
        citation="Cettolo, Girardi and Federico 2012, WIT3: web inventory of transcribed talks",
    ),
)
CORPORA: dict[str, Corpus] = {corpus.name: corpus for corpus in _CORPORA}
