"""Which corpora there are: where each comes from, its check sums, its licence (no torch here)."""

from dataclasses import dataclass
from pathlib import Path

from transformer.support.errors import UserError

ALL_SIX = tuple((a, b) for a in ("de", "en", "fr") for b in ("de", "en", "fr") if a != b)


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """One file of a publisher.

    Attributes:
        name: Path below the data folder, and below `TRANSFORMER_DATA`: "multi30k/val.de.gz".
        sha256: Of the whole file, in hexadecimal.
        size: Most bytes that a mirror may send; exact where the publisher's file was measured.
    """

    name: str
    sha256: str
    size: int = 10_000_000

    @property
    def remote_name(self) -> str:
        """What follows a mirror's address: the last part of the name."""
        return self.name.rpartition("/")[2]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A corpus, and where its text comes from.

    Attributes:
        name: As the recipes and the command line call it.
        about: One line for a list.
        pairs: Directions, (source language, target language).
        splits: What `load` gives, in the corpus's own order.
        licence: What its reader may do with it.
        citation: Whom to name.
        files: What `fetch` gets; empty for a corpus that is not downloaded.
        mirrors: Addresses of the folders that hold the files, the preferred first.
        cache: Folder of the downloads; None means `transformer.support.paths.cache_folder`.
        timeout: Seconds without a byte after which the next mirror is tried.
        deadline: Seconds for a whole file, after which a mirror is given up for good.
    """

    name: str
    about: str
    pairs: tuple[tuple[str, str], ...]
    splits: tuple[str, ...]
    licence: str
    citation: str
    files: tuple[DataFile, ...] = ()
    mirrors: tuple[str, ...] = ()
    cache: Path | None = None
    timeout: float = 30.0
    deadline: float = 600.0

    def file(self, name: str) -> DataFile:
        """Give the file of this name, as its reader asks for it.

        Raises:
            UserError: The corpus does not list it.
        """
        found = next((file for file in self.files if file.name == name), None)
        if found is None:
            raise UserError(f"{self.name} lists no file {name!r}: add it to the corpus's files")
        return found


_MULTI30K_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
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
_MULTI30K_SIZES = {  # bytes; the later test sets, a thousand lines each, were not measured
    "train.de": 637_044,
    "train.en": 568_929,
    "train.fr": 604_242,
    "val.de": 24_681,
    "val.en": 21_650,
    "val.fr": 23_001,
    "test_2016_flickr.de": 22_890,
    "test_2016_flickr.en": 21_077,
    "test_2016_flickr.fr": 22_310,
}

_EMBEDDED = Corpus(
    name="embedded",
    about="English, French and German sentences made by a grammar, with gold word alignments",
    pairs=ALL_SIX,
    splits=("train", "validation", "test", "test_combinations", "test_long"),
    licence="CC BY 4.0",
    citation="this course",
)

_PARSES = Corpus(
    name="parses",
    about="the English sentences of the embedded corpus, and their trees of phrases",
    pairs=(("en", "tree"),),
    splits=_EMBEDDED.splits,
    licence=_EMBEDDED.licence,
    citation=_EMBEDDED.citation,
)

_MULTI30K = Corpus(
    name="multi30k",
    about="captions of photographs in German, English and French, 29,000 in train",
    pairs=ALL_SIX,
    splits=(
        "train",
        "validation",
        "test_2016_flickr",
        "test_2017_flickr",
        "test_2017_mscoco",
        "test_2018_flickr",
    ),
    licence="no licence file; the terms of Flickr30K: non-commercial research and education",
    citation="Elliott et al. 2016 and 2017, Barrault et al. 2018 (github.com/multi30k/dataset)",
    files=tuple(
        DataFile(
            name=f"multi30k/{stem}.gz",
            sha256=sha,
            size=_MULTI30K_SIZES.get(stem, 1_000_000),
        )
        for stem, sha in _MULTI30K_SUMS.items()
    ),
    mirrors=(
        f"https://raw.githubusercontent.com/multi30k/dataset/{_MULTI30K_COMMIT}/data/task1/raw/",
        f"https://github.com/multi30k/dataset/raw/{_MULTI30K_COMMIT}/data/task1/raw/",
    ),
)

_TATOEBA = Corpus(
    name="tatoeba",
    about="short everyday sentences in English and French, 135,842 pairs",
    pairs=(("en", "fr"), ("fr", "en")),
    splits=("train", "validation", "test"),
    licence="CC BY 2.0 FR",
    citation="www.manythings.org/anki and tatoeba.org",
    files=(
        DataFile(
            name="tatoeba/data.zip",
            sha256="fb317e80248faeb62dc25ef3390ae24ca34b94e276bbc5141fd8862c2200bff5",
            size=2_882_130,
        ),
    ),
    mirrors=("https://download.pytorch.org/tutorial/",),
)

_IWSLT = Corpus(
    name="iwslt",
    about="talks of TED, as IWSLT 2016 laid them out; from an archive of your own",
    pairs=(("de", "en"), ("en", "de"), ("en", "fr"), ("fr", "en")),
    splits=("train", "validation", "test"),
    licence="CC BY-NC-ND 3.0 (4.0 for the later hub copy)",
    citation="Cettolo, Girardi and Federico 2012, WIT3: web inventory of transcribed talks",
)

CORPORA: dict[str, Corpus] = {
    corpus.name: corpus for corpus in (_EMBEDDED, _PARSES, _MULTI30K, _TATOEBA, _IWSLT)
}
