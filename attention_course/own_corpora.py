"""What the commands for a user's own corpora read and print."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from transformer.data.corpora import CORPORA
from transformer.data.grouping import Pair
from transformer.data.own_corpora import (
    AddedCorpus,
    add_own_corpus,
    check_corpus_name,
    drop_reasons_in_words,
    parse_languages,
)
from transformer.data.text_files import read_aligned_files, read_tab_separated_file, shown_text
from transformer.recipes import RECIPES
from transformer.support.errors import UserError, require


def add_corpus_from_options(options: argparse.Namespace) -> AddedCorpus:
    """Make a corpus of the files that were typed after `corpora add`."""
    languages = parse_languages(options.languages)
    check_corpus_name(options.name, {*CORPORA, *RECIPES})
    if options.tsv is not None:
        require(
            options.src is options.tgt is None, "--tsv has both sides: leave out --src and --tgt"
        )
        pairs_by_split = {"train": read_tab_separated_file(options.tsv)}
    else:
        pairs = _read_two_files("", options.src, options.tgt)
        if pairs is None:
            raise UserError("no text: give --src FILE and --tgt FILE, or --tsv FILE")
        pairs_by_split = {"train": pairs}
    for split, option in (("validation", "valid-"), ("test", "test-")):
        src, tgt = (getattr(options, f"{option[:-1]}_{side}") for side in ("src", "tgt"))
        pairs = _read_two_files(option, src, tgt)
        if pairs is not None:
            pairs_by_split[split] = pairs
    return add_own_corpus(options.name, languages, pairs_by_split)


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
    lines = [
        f"{added.corpus.name}: {added.corpus.options['languages']}, in {added.folder}",
        f"  read:    {added.num_read:,} pairs",
        f"  dropped: {num_dropped:,} pairs{f' ({reasons})' if reasons else ''}",
        f"  kept:    {_counts_in_words(added.num_kept)}",
        f"{len(added.sample)} pairs of train, drawn by chance:",
    ]
    width = max(map(len, langs))
    for pair in added.sample:
        for lang, side in zip(langs, pair, strict=True):
            lines.append(f"  {lang:{width}}  {shown_text(side)}")
    return "\n".join(lines)


def _counts_in_words(num_kept: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {split}" for split, count in num_kept.items())
