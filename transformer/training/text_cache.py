"""Text as runs learn from it, kept for the next run: vocabularies, and ids in flat arrays.

Not in the paper. A second run, a resumed one and the other processes of torchrun map the arrays
into memory, and read no text but for its check sum. A file here is used only if its key, which
holds all that it was made of, and its check sum are right; else it is named in a line, and made
anew. What another text or version made is removed once no run has used it for `MAX_UNUSED_DAYS`:
another checkout of the course may share the folder. A file that cannot be written is left out. All
of them may be removed at any time.
"""

import hashlib
import json
import logging
import os
import time
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from transformer.config import DataConfig
from transformer.data import corpora, tokenizers
from transformer.data.batches import LeftOut, encode_and_count_pairs
from transformer.data.examples import ExampleArrays
from transformer.data.parallel import ParallelText
from transformer.data.token_arrays import TokenArrays
from transformer.data.tokenizers import BPETokenizer, Tokenizer, WordTokenizer
from transformer.support.array_files import (
    UnusableFileError,
    read_array_file,
    require_same_key,
    write_array_file,
)
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json
from transformer.support.folders import PACKAGE_FOLDER, text_cache_files, text_cache_folder
from transformer.support.provenance import code_sha256

ResultT = TypeVar("ResultT")
KEY = "key"  # in a file of vocabularies
SIDES = ("src", "tgt")
MAX_UNUSED_DAYS = 30  # of a file of another text or version: the time of a file is its last use
SECONDS_PER_DAY = 24 * 60 * 60

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SplitText:
    """A split of a corpus in one direction, which is loaded when it is needed."""

    corpus: str
    split: str
    src_lang: str
    tgt_lang: str

    @cached_property
    def text(self) -> ParallelText:
        """Return the sentence pairs."""
        return corpora.load(self.corpus, self.split, self.src_lang, self.tgt_lang)

    @cached_property
    def key(self) -> dict[str, Any]:
        """Return what tells this text from any other: the sums of its files, or of the text."""
        corpus = corpora.find_corpus(self.corpus)
        if corpus.files:
            text: Any = [corpus.format, dict(corpus.options), dict(corpus.files)]
        else:
            lines = json.dumps([list(self.text.src), list(self.text.tgt)])
            text = hashlib.sha256(lines.encode()).hexdigest()
        direction = [self.corpus, self.split, self.src_lang, self.tgt_lang]
        return {"split": direction, "text": text} | _versions()

    @cached_property
    def has_right_files(self) -> bool:
        """Whether the files are here, with the sums in the key, or are not needed any more.

        That is found out once: loading the text does it too, where a file that is missing is
        downloaded, and one that was changed refused.
        """
        if "text" in vars(self):
            return True
        corpus = corpora.find_corpus(self.corpus)
        return not corpus.files or corpus.has_intact_files(
            self.split, (self.src_lang, self.tgt_lang)
        )

    @property
    def file_prefix(self) -> str:
        """Return what the name of each file of this text begins with, of any version."""
        return f"{self.corpus}.{self.split}.{self.src_lang}-{self.tgt_lang}."


@cache
def _versions() -> dict[str, str]:
    """Return what decides, besides the text and the settings, which ids a text has."""
    return {
        "version of the code": code_sha256(PACKAGE_FOLDER / "data"),
        "version of tokenizers": version("tokenizers"),
        "version of spaCy": version("spacy"),
        "version of Unicode": unicodedata.unidata_version,
    }


# --- vocabularies ---------------------------------------------------------------------------


def learn_or_read_tokenizers(data: DataConfig, text: SplitText) -> tuple[Tokenizer, Tokenizer]:
    """Return what `tokenizers.train` learns of a text, learned before where it is kept."""
    settings = asdict(data)
    del settings["max_train_tokens"]  # vocabularies are learned from all pairs
    key = text.key | {"settings": settings}
    path = _path(text, "tokenizers.json", settings)

    def read() -> tuple[Tokenizer, Tokenizer]:
        if not path.is_file():
            raise FileNotFoundError
        try:
            values = read_json(path)
            if values.pop("sha256") != _json_sha256(values):
                raise UnusableFileError("is damaged")
            require_same_key(values[KEY], key)
            src, tgt = (tokenizers.from_dict(values[side], path) for side in SIDES)
        except (UserError, KeyError, TypeError, AttributeError) as error:
            raise UnusableFileError("is damaged") from error
        return src, tgt

    def write(made: tuple[Any, Any]) -> None:
        sides = {side: made[number].to_dict() for number, side in enumerate(SIDES)}
        values = {KEY: key} | sides
        write_json(path, values | {"sha256": _json_sha256(values)})

    return _read_or_make(
        text, path, read, lambda: tokenizers.train(data, text.text.src, text.text.tgt), write
    )


# --- examples -------------------------------------------------------------------------------


class MappedExamples(ExampleArrays):
    """Examples in a file that is mapped into memory, once for all processes of a machine."""

    def __init__(self, path: Path, key: dict[str, Any]) -> None:
        about, arrays = read_array_file(path, key)
        src, tgt = (TokenArrays(arrays[f"{side}_ids"], arrays[f"{side}_offsets"]) for side in SIDES)
        super().__init__(src, tgt)
        self.path, self.key = path, key
        try:
            self.left_out = LeftOut(*about["left_out"])
            self._checksum = str(about["checksum"])
        except (KeyError, TypeError) as error:
            raise UnusableFileError("is of another version") from error

    def checksum(self) -> str:
        """Return the sum of the examples, which the file holds, and the sum of the file covers."""
        return self._checksum

    def __reduce__(self) -> tuple[Any, ...]:
        # Another machine has other files.
        if os.environ.get("LOCAL_WORLD_SIZE") == os.environ.get("WORLD_SIZE"):
            return MappedExamples, (self.path, self.key)
        src, tgt = (
            TokenArrays(np.array(side.ids), np.array(side.offsets)) for side in (self.src, self.tgt)
        )
        return ExampleArrays, (src, tgt)


def encode_or_read_examples(
    src_tokenizer: Tokenizer, tgt_tokenizer: Tokenizer, text: SplitText, max_tokens: int
) -> tuple[ExampleArrays, LeftOut]:
    """Return what `encode_and_count_pairs` makes of a text, made before where it is kept.

    What a tokenizer of somebody's own makes is not kept: nothing tells two of them apart.
    """

    def make() -> tuple[ExampleArrays, LeftOut]:
        return encode_and_count_pairs(src_tokenizer, tgt_tokenizer, text.text, max_tokens)

    about_tokenizers = {}
    for side, tokenizer in zip(SIDES, (src_tokenizer, tgt_tokenizer), strict=True):
        if not isinstance(tokenizer, BPETokenizer | WordTokenizer):
            return make()
        about_tokenizers[f"{side} tokenizer"] = _json_sha256(tokenizer.to_dict())
    settings = about_tokenizers | {"max_tokens": max_tokens}
    key = text.key | settings
    path = _path(text, "arrays", settings)

    def read() -> tuple[ExampleArrays, LeftOut]:
        examples = MappedExamples(path, key)
        return examples, examples.left_out

    def write(made: tuple[ExampleArrays, LeftOut]) -> None:
        examples, left_out = made
        arrays = {}
        for side, sentences in zip(SIDES, (examples.src, examples.tgt), strict=True):
            arrays[f"{side}_ids"], arrays[f"{side}_offsets"] = sentences.ids, sentences.offsets
        about = {"left_out": list(left_out), "checksum": examples.checksum()}
        write_array_file(path, key, about, arrays)

    return _read_or_make(text, path, read, make, write)


# --- files ----------------------------------------------------------------------------------


def _path(text: SplitText, suffix: str, settings: dict[str, Any]) -> Path:
    """Return the file of some settings."""
    sums = f"{_json_sha256(text.key)[:16]}.{_json_sha256(settings)[:16]}"
    return text_cache_folder() / f"{text.file_prefix}{sums}.{suffix}"


def _json_sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _read_or_make(
    text: SplitText,
    path: Path,
    read: Callable[[], ResultT],
    make: Callable[[], ResultT],
    write: Callable[[ResultT], None],
) -> ResultT:
    """Return what a file holds; where it cannot be used, make it anew and write it.

    What was written is read again, so that memory holds it once.
    """
    try:
        # Where there is a file, nothing else will read the text.
        if path.is_file() and not text.has_right_files:
            _ = text.text
        result = read()
        with suppress(OSError):  # somebody else's, or in a folder that cannot be written
            os.utime(path)  # it was used
        return result
    except OSError:
        # It is missing, or out of reach; if it cannot be written either, a line below says so.
        pass
    except UnusableFileError as problem:
        log.warning(f"{path} {problem}: making it anew")
    made = make()
    try:
        write(made)
        _remove_unused_files_of_other_text_or_version(text)
        return read()
    except (UserError, OSError, UnusableFileError) as error:
        log.warning(f"the text is encoded, and not kept for the next run: {error}")
        return made


def _remove_unused_files_of_other_text_or_version(text: SplitText) -> None:
    """Delete files of a split's other texts, and of other versions, that are no longer used.

    Another checkout of the course may keep its text in the same folder, and its run be under way:
    what a run has used within `MAX_UNUSED_DAYS` stays.
    """
    current_prefix = f"{text.file_prefix}{_json_sha256(text.key)[:16]}."
    oldest = time.time() - MAX_UNUSED_DAYS * SECONDS_PER_DAY
    for path in text_cache_files(text.file_prefix):
        # One that cannot be deleted does no harm.
        with suppress(OSError):
            if not path.name.startswith(current_prefix) and path.stat().st_mtime < oldest:
                path.unlink()
                log.info(f"removed {path}, of another text or version, not used for long")
