"""What the commands for a user's own corpora read and print."""

import argparse
import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from attention_course.length_histogram import format_byte_length_histogram
from transformer.data.catalogs import (
    CATALOG_SOURCE_LANG,
    CATALOGS_LICENCE,
    packages_hint,
    read_catalogs,
    usual_catalog_folders,
)
from transformer.data.corpora import CORPORA
from transformer.data.grouping import Pair
from transformer.data.own_corpora import (
    PICTURE_FILE_NAME,
    AddedCorpus,
    add_own_corpus,
    check_corpus_name,
    drop_reasons_in_words,
    parse_languages,
)
from transformer.data.scripts import expected_scripts
from transformer.data.source_text import PairsWithOrigin
from transformer.data.text_files import read_aligned_files, read_tab_separated_file, shown_text
from transformer.data.translation_files import READERS_BY_FORMAT as FORMATS
from transformer.data.translation_files import read_translation_files
from transformer.recipes import RECIPES
from transformer.support.errors import UserError, require
from transformer.support.files import write_atomically

# Below so many pairs, a corpus of catalogs comes with a word on where to get more.
FEW_CATALOG_PAIRS = 10_000


def add_corpus_from_options(options: argparse.Namespace) -> AddedCorpus:
    """Make a corpus of the text that the options after `corpora add` name."""
    check_corpus_name(options.name, {*CORPORA, *RECIPES})
    languages = _languages_of_options(options)
    text = _read_text_of_options(options, languages)
    held_out = {}
    for split, option in (("validation", "valid-"), ("test", "test-")):
        src, tgt = (getattr(options, f"{option[:-1]}_{side}") for side in ("src", "tgt"))
        pairs = _read_two_files(option, src, tgt)
        if pairs is not None:
            held_out[split] = pairs
    return add_own_corpus(options.name, languages, text, held_out)


def _languages_of_options(options: argparse.Namespace) -> tuple[str, str]:
    """Return the languages that were typed, or those of the catalogs."""
    if options.catalogs is None:
        require(options.languages is not None, "no languages: give --languages, as en-uk")
        return parse_languages(options.languages)
    # Serbian in Latin script is "sr@latin" there.
    catalog_lang = options.catalogs.replace("@", "_").replace("-", "_")
    own = parse_languages(f"{CATALOG_SOURCE_LANG}-{catalog_lang}")
    languages = parse_languages(options.languages) if options.languages else own
    message = f"--languages {options.languages}: the catalogs are in {own[0]} and {own[1]}"
    require(set(languages) == set(own), f"{message}, so give {'-'.join(own)} or the other way")
    return languages


def _read_text_of_options(
    options: argparse.Namespace, languages: tuple[str, str]
) -> PairsWithOrigin:
    """Return the text that the options name, source first; a UserError unless it is of one form."""
    two_files = options.src if options.src is not None else options.tgt
    forms = {"--src and --tgt": two_files}
    forms |= {f"--{form}": getattr(options, form) for form in ("tsv", *FORMATS, "catalogs")}
    given = [form for form, value in forms.items() if value is not None]
    require(bool(given), f"no text: give one of {', '.join(forms)}")
    require(len(given) == 1, f"{' and '.join(given)}: give one form of text, leave out the others")
    message = "--catalog-folder is where catalogs lie: give --catalogs LANGUAGE too"
    require(options.catalogs is not None or not options.catalog_folder, message)
    if options.tsv is not None:
        return PairsWithOrigin(pairs=read_tab_separated_file(options.tsv), files=[str(options.tsv)])
    for format in FORMATS:
        if getattr(options, format) is not None:
            return read_translation_files(format, getattr(options, format), languages)
    if options.catalogs is not None:
        text = read_catalogs(
            options.catalogs.replace("-", "_"), options.catalog_folder or usual_catalog_folders()
        )
        turned = languages[0] != CATALOG_SOURCE_LANG
        return replace(text, pairs=[pair[::-1] for pair in text.pairs]) if turned else text
    pairs = _read_two_files("", options.src, options.tgt)
    assert pairs is not None  # One of the two was given.
    return PairsWithOrigin(pairs=pairs, files=[str(options.src), str(options.tgt)])


def _read_two_files(option: str, src: Path | None, tgt: Path | None) -> list[Pair] | None:
    """Return the pairs of two files; None where neither was given."""
    if src is None and tgt is None:
        return None
    if src is None or tgt is None:
        given, missing = ("tgt", "src") if src is None else ("src", "tgt")
        raise UserError(
            f"--{option}{given} needs the other side: give --{option}{missing} FILE too"
        )
    return read_aligned_files(src, tgt)


def added_corpus_in_words(added: AddedCorpus) -> str:
    """Return what was read, dropped and kept of a user's text, with some pairs of it."""
    num_dropped = sum(added.dropped.values())
    reasons = drop_reasons_in_words(added.dropped)
    langs = added.corpus.options["languages"].split("-")
    without_script = [lang for lang in langs if not expected_scripts(lang)]
    lines = [
        f"{added.corpus.name}: {added.corpus.options['languages']}, in {added.folder}",
        f"  read:    {added.num_read:,} pairs{_files_in_words(added.text)}",
        f"  dropped: {num_dropped:,} pairs{f' ({reasons})' if reasons else ''}",
        f"  kept:    {_counts_in_words(added.num_kept)}",
        *(f"  script:  of {lang} not known, so not checked" for lang in without_script),
        "The lengths in train:",
        *format_byte_length_histogram(added.lengths, langs),
        f"{len(added.sample)} pairs of train, drawn by chance:",
    ]
    width = max(map(len, langs))
    for pair in added.sample:
        for lang, side in zip(langs, pair, strict=True):
            lines.append(f"  {lang:{width}}  {shown_text(side)}")
    if added.text.licence == CATALOGS_LICENCE and len(added.text.pairs) < FEW_CATALOG_PAIRS:
        lang = next(lang for lang in langs if lang != CATALOG_SOURCE_LANG)
        lines.append(f"These are few: {packages_hint(lang)}.")
    return "\n".join(lines)


def write_length_picture(added: AddedCorpus) -> Path | None:
    """Draw the lengths of a corpus into its folder, and return the file; None without matplotlib.

    That is no part of a plain installation.
    """
    if importlib.util.find_spec("matplotlib") is None:
        return None
    from lessonkit.charts.lengths import sentence_lengths_png

    first, second = added.corpus.options["languages"].split("-")
    path = added.folder / PICTURE_FILE_NAME
    write_atomically(path, sentence_lengths_png(added.corpus.name, added.lengths, (first, second)))
    return path


def _files_in_words(text: PairsWithOrigin) -> str:
    """Return " in 92 files of 53 packages"; nothing of a file or two, which the user has typed."""
    if len(text.files) <= 2:
        return ""
    packages = f" of {len(text.packages)} packages" if text.packages else ""
    return f" in {len(text.files)} files{packages}"


def _counts_in_words(num_kept: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {split}" for split, count in num_kept.items())
