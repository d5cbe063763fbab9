"""Corpora of a user's own text: made of files, found among the user's data, removed again.

Not in the paper. A corpus is a folder in `own_corpora_folder()`:

    corpus.json                            languages, origin, what was dropped, sums; written last
    train.tsv, validation.tsv, test.tsv    pairs, one a line, with a tab between the two sides
    lengths.png                            a picture of the lengths in train
"""

import hashlib
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.data.cleaning import (
    HELD_OUT_SIDE_REASON,
    OTHER_SCRIPT_REASON,
    clean_pairs,
    nonempty_pairs,
    without_shared_sides,
)
from transformer.data.downloads import own_corpora_folder
from transformer.data.grouping import Pair, split_pairs
from transformer.data.readers import Corpus
from transformer.data.source_text import UNKNOWN_LICENCE, PairsWithOrigin
from transformer.data.text_files import pairs_to_tab_separated_text
from transformer.support.errors import UserError, require
from transformer.support.files import check_writable_folder, write_atomically, write_json
from transformer.support.folders import text_cache_files
from transformer.support.formats import FORMAT_KEY, FORMAT_VERSION, read_json_object

DESCRIPTION_FILE_NAME = "corpus.json"
PICTURE_FILE_NAME = "lengths.png"  # which commands draw
SPLITS = ("train", "validation", "test")
SAMPLE_SEED = 2017
NUM_SAMPLED_PAIRS = 10
# Of the pairs about so many are held out for validation, and as many for test, but never more than
# a tenth for each.
HELD_OUT_PAIRS = 1000
MAX_HELD_OUT_PER_MILLE = 100
# Pairs of a larger group of shared sides are learned from: held out, it would be most of a split.
MAX_HELD_OUT_GROUP = 50
NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
LANGUAGE_PATTERN = r"[A-Za-z]{2,3}(_[A-Za-z0-9]{2,8})*"


@dataclass(frozen=True, kw_only=True)
class AddedCorpus:
    """What was made of a user's text."""

    corpus: Corpus
    folder: Path
    text: PairsWithOrigin  # that it was made of
    num_read: int  # pairs, before any was dropped
    dropped: Mapping[str, int]  # pairs by reason
    num_kept: Mapping[str, int]  # pairs by split
    lengths: Sequence[tuple[int, int]]  # of both sides of each pair of train, in bytes
    sample: Sequence[Pair]  # drawn from train by a seeded chance


def parse_languages(text: str) -> tuple[str, str]:
    """Return the two languages of "en-uk"; a UserError where they are no two codes."""
    codes = text.split("-")
    are_codes = all(re.fullmatch(LANGUAGE_PATTERN, code) for code in codes)
    require(
        len(codes) == 2 and are_codes and codes[0] != codes[1],
        f"languages {text!r}: give the codes of two, the source's first, as en-uk or en-zh_CN",
    )
    return codes[0], codes[1]


def check_corpus_name(name: str, taken: Iterable[str]) -> None:
    """Raise unless a corpus of the user's own may have this name."""
    message = f"{name!r} is no name for a corpus: give up to 64 letters, digits, - . _"
    require(re.fullmatch(NAME_PATTERN, name) is not None, message)
    require(
        name not in taken, f"{name} is the name of a corpus or recipe of the course: give another"
    )
    folder = own_corpora_folder() / name
    message = f"{folder} exists: give another name, or remove it first (corpora remove {name})"
    require(not folder.exists(), message)


def add_own_corpus(
    name: str,
    languages: tuple[str, str],
    text: PairsWithOrigin,
    held_out: Mapping[str, Sequence[Pair]] | None = None,
) -> AddedCorpus:
    """Clean, split and write a user's text; nothing is left of it if that fails.

    Args:
        name: One that `check_corpus_name` takes.
        languages: Those of the two sides.
        text: What is cleaned and split.
        held_out: The pairs of "validation" and "test" that are the user's own, which lose empty
            sides alone; those that are not there are drawn from the text.

    Raises:
        UserError: a split would be empty, or the folder cannot be written.
    """
    held_out = held_out or {}
    splits, dropped = _clean_and_split(languages, text.pairs, held_out)
    dropped = Counter(text.left_out) + dropped
    num_read = sum(map(len, (text.pairs, *held_out.values()))) + sum(text.left_out.values())
    _require_no_empty_split(splits, languages, num_read, dropped)
    num_kept = {split: len(splits[split]) for split in SPLITS}
    folder = own_corpora_folder() / name
    description = {
        "languages": list(languages),
        "licence": text.licence,
        "text_files": list(text.files),
        "packages": list(text.packages),
        "pairs_read": num_read,
        "pairs_dropped": dict(dropped),
        "pairs": num_kept,
    }
    _write_corpus(folder, splits, description)
    drawn = random.Random(SAMPLE_SEED).sample(
        splits["train"], min(NUM_SAMPLED_PAIRS, num_kept["train"])
    )
    return AddedCorpus(
        corpus=_read_corpus_description(folder),
        folder=folder,
        text=text,
        num_read=num_read,
        dropped=dropped,
        num_kept=num_kept,
        lengths=[(len(first.encode()), len(second.encode())) for first, second in splits["train"]],
        sample=drawn,
    )


def _require_no_empty_split(
    splits: Mapping[str, Sequence[Pair]],
    languages: tuple[str, str],
    num_read: int,
    dropped: Counter[str],
) -> None:
    """Raise a UserError if no pair is left for a split; it says where the pairs went."""
    reasons = f" ({drop_reasons_in_words(dropped)})" if dropped else ""
    for split in SPLITS:
        message = f"of {num_read:,} pairs none is left for {split}{reasons}"
        remedy = "give more text"
        if 2 * dropped[OTHER_SCRIPT_REASON] > num_read:
            remedy = f"the first side is to be in {languages[0]}, the second in {languages[1]}"
        elif split != "train":
            remedy += f", or {split} files of your own"
        require(bool(splits[split]), f"{message}: {remedy}")


def _write_corpus(
    folder: Path, splits: Mapping[str, Sequence[Pair]], description: dict[str, Any]
) -> None:
    """Write a corpus's folder, which gets its name once it is whole."""
    check_writable_folder(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as temporary:
        new = Path(temporary) / "corpus"
        sums = {}
        for split in SPLITS:
            content = pairs_to_tab_separated_text(splits[split]).encode()
            write_atomically(new / f"{split}.tsv", content)
            sums[f"{split}.tsv"] = hashlib.sha256(content).hexdigest()
        values = {FORMAT_KEY: FORMAT_VERSION} | description | {"sha256": sums}
        write_json(new / DESCRIPTION_FILE_NAME, values)
        new.rename(folder)


def _clean_and_split(
    languages: tuple[str, str], pairs: Sequence[Pair], held_out: Mapping[str, Sequence[Pair]]
) -> tuple[dict[str, list[Pair]], Counter[str]]:
    """Return the pairs of each split, none of which shares a side with another, and the dropped."""
    own: dict[str, list[Pair]] = {}
    dropped: Counter[str] = Counter()
    for split in ("validation", "test"):
        if split in held_out:
            own[split], counts = nonempty_pairs(held_out[split])
            dropped += counts
    train, counts = clean_pairs(pairs, languages)
    dropped += counts
    # What is measured last decides: test stays whole, then validation.
    if {"validation", "test"} <= own.keys():
        before = len(own["validation"])
        own["validation"] = without_shared_sides(own["validation"], own["test"])
        dropped[HELD_OUT_SIDE_REASON] += before - len(own["validation"])
    before = len(train)
    train = without_shared_sides(train, [pair for split in own.values() for pair in split])
    dropped[HELD_OUT_SIDE_REASON] += before - len(train)
    drawn = split_pairs(
        train,
        # The same side, whichever language is given first.
        naming_side=languages.index(min(languages)),
        held_out_per_mille=max(
            1, min(MAX_HELD_OUT_PER_MILLE, 1000 * HELD_OUT_PAIRS // max(len(train), 1))
        ),
        max_held_out_group=MAX_HELD_OUT_GROUP,
    )
    for split in own:
        drawn["train"] += drawn[split]
        drawn[split] = own[split]
    return drawn, +dropped


def drop_reasons_in_words(dropped: Mapping[str, int]) -> str:
    """Return "3 an empty side, 2 there already": the pairs dropped by reason."""
    return ", ".join(f"{count:,} {reason}" for reason, count in dropped.items())


def own_corpus_names() -> list[str]:
    """Return the names of the user's own corpora."""
    folders = [path.parent for path in own_corpora_folder().glob(f"*/{DESCRIPTION_FILE_NAME}")]
    return sorted(path.name for path in folders if re.fullmatch(NAME_PATTERN, path.name))


def find_own_corpus(name: str) -> Corpus | None:
    """Return the user's own corpus of this name; None where there is none."""
    if re.fullmatch(NAME_PATTERN, name) is None:
        return None
    folder = own_corpora_folder() / name
    return _read_corpus_description(folder) if (folder / DESCRIPTION_FILE_NAME).is_file() else None


def num_train_text_bytes(name: str) -> int:
    """Return how many bytes of UTF-8 the sides of train of an own corpus have, without reading it.

    A UserError where the file is missing or its lines are not counted.
    """
    folder = own_corpora_folder() / name
    path = folder / "train.tsv"
    num_pairs = _num_kept(read_json_object(folder / DESCRIPTION_FILE_NAME))["train"]
    message = f"{path} is missing: copy it again, or remove {name} and add it anew"
    require(path.is_file(), message)
    return path.stat().st_size - len("\t\n") * num_pairs


def _num_kept(values: dict[str, Any]) -> dict[str, int]:
    """Return the number of pairs of each split that a corpus's description names."""
    return {split: int(values["pairs"][split]) for split in SPLITS}


def _read_corpus_description(folder: Path) -> Corpus:
    """Return the corpus in a folder; a UserError where its description is damaged."""
    path = folder / DESCRIPTION_FILE_NAME
    values: dict[str, Any] = read_json_object(path)
    try:
        src_lang, tgt_lang = parse_languages("-".join(values["languages"]))
        num_kept = _num_kept(values)
        files = {f"{split}.tsv": str(values["sha256"][f"{split}.tsv"]) for split in SPLITS}
    except (KeyError, TypeError, ValueError) as error:
        remedy = f"copy it again, or remove the corpus ({folder}) and add it anew"
        raise UserError(f"{path} is damaged ({_error_in_words(error)}): {remedy}") from error
    return Corpus(
        name=folder.name,
        about=f"your own text in {src_lang} and {tgt_lang}, {num_kept['train']:,} pairs in train",
        directions=[f"{src_lang}-{tgt_lang}", f"{tgt_lang}-{src_lang}"],
        splits=SPLITS,
        # Own corpora of the first version say nothing of it.
        licence=str(values.get("licence", UNKNOWN_LICENCE)),
        citation="not known",
        format="split pairs",
        options={"file": "{split}.tsv", "languages": f"{src_lang}-{tgt_lang}"},
        files=files,
        folder=folder,
    )


def _error_in_words(error: Exception) -> str:
    """Return what is wrong, in a few words."""
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def remove_own_corpus(name: str) -> Path:
    """Delete the user's own corpus of this name, and return the folder that it was in.

    What runs keep of its text, encoded, is deleted too. The folder stays if there are other files
    in it.
    """
    names = own_corpus_names()
    known = ", ".join(names) or "none"
    require(name in names, f"{name!r} is no corpus of your own: give one of them (there: {known})")
    folder = own_corpora_folder() / name
    # Without its description it is no corpus any more, even if the rest cannot be deleted.
    (folder / DESCRIPTION_FILE_NAME).unlink()
    split_files = [f"{split}.tsv" for split in SPLITS]
    for file_name in [*split_files, PICTURE_FILE_NAME]:
        (folder / file_name).unlink(missing_ok=True)
    for split in SPLITS:
        for path in text_cache_files(f"{name}.{split}."):
            path.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()
    return folder
