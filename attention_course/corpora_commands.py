"""The commands on corpora: `corpora list`, `corpora add` and the others.

Not in the paper. A command imports only what it needs, when it runs, so that help answers at once.
"""

import argparse

from attention_course.command_table import PROGRAM_NAME, CommandTable, enter_command_in_table
from attention_course.options import option_adder, parse_path

CORPORA_COMMANDS: CommandTable = {}

add_corpus_argument = option_adder("name", "NAME", "a corpus, as `corpora list` shows it")
ADD_CORPUS_OPTION_ADDERS = (
    option_adder("name", "NAME", "what to call the corpus"),
    option_adder("--src", "FILE", "the source side, one sentence a line", type=parse_path),
    option_adder("--tgt", "FILE", "the target side: line i translates line i", type=parse_path),
    option_adder("--tsv", "FILE", "both sides, with a tab between them", type=parse_path),
    *(
        option_adder(f"--{format}", "FILE", about, type=parse_path, nargs="+")
        for format, about in (
            ("tmx", "translation memories; needs translate-toolkit, as the two below"),
            ("po", "gettext's files of messages"),
            ("xliff", "XLIFF files, version 1 or 2"),
        )
    ),
    option_adder(
        "--catalogs",
        "LANGUAGE",
        "message catalogs (*.mo) on this computer: English, and this language",
    ),
    option_adder(
        "--catalog-folder",
        "FOLDER",
        "where catalogs lie, at any depth, instead of the usual folders; may be repeated",
        type=parse_path,
        action="append",
        default=[],
    ),
    option_adder("--languages", "SRC-TGT", "codes of the two, as en-uk"),
    option_adder("--valid-src", "FILE", "your own validation text: its source", type=parse_path),
    option_adder("--valid-tgt", "FILE", "and its target", type=parse_path),
    option_adder("--test-src", "FILE", "your own test text: its source", type=parse_path),
    option_adder("--test-tgt", "FILE", "and its target", type=parse_path),
)


@enter_command_in_table(CORPORA_COMMANDS, "list")
def print_corpora(options: argparse.Namespace) -> None:
    """Print each corpus, the user's own too, with its languages, splits and licence.

    Example:
      attention-course corpora list
    """
    from transformer.data.corpora import all_corpora

    for corpus in all_corpora():
        print(f"{corpus.name}: {corpus.about}")
        print(f"  directions: {', '.join(corpus.directions)}")
        print(f"  splits:     {', '.join(corpus.splits)}")
        print(f"  licence:    {corpus.licence}")
        print(f"  cite:       {corpus.citation}")


@enter_command_in_table(CORPORA_COMMANDS, "fetch", add_corpus_argument)
def fetch_corpus(options: argparse.Namespace) -> None:
    """Check the sums of a corpus's files, and download what is missing.

    The files are in the folder that TRANSFORMER_DATA names, or else in the cache.

    Example:
      attention-course corpora fetch multi30k
    """
    from transformer.data.corpora import fetch

    paths = [str(path) for path in fetch(options.name)]
    print("\n".join(paths) or f"{options.name} has no files to download")


@enter_command_in_table(CORPORA_COMMANDS, "add", *ADD_CORPUS_OPTION_ADDERS)
def add_corpus(options: argparse.Namespace) -> None:
    """Make a corpus of your own parallel text, and show what was read.

    The text is UTF-8: two files, whose lines translate each other, or one with two columns and a
    tab between them; or files of translators' programs (TMX, PO, XLIFF); or the message catalogs of
    this computer's programs, in English and another language. What is no use for training is
    dropped, and counted by reason. Validation and test are drawn so that no sentence stands in two
    splits, unless you give files of your own.

    Examples:
      attention-course corpora add mine --src my.en --tgt my.uk --languages en-uk
      attention-course corpora add mine --tsv pairs.tsv --languages en-uk
      attention-course corpora add mine --tmx memory.tmx other.tmx --languages en-uk
      attention-course corpora add mine --catalogs uk
    """
    from attention_course.own_corpora import (
        add_corpus_from_options,
        added_corpus_in_words,
        write_length_picture,
    )

    added = add_corpus_from_options(options)
    print(added_corpus_in_words(added))
    if picture := write_length_picture(added):
        print(f"a picture of the lengths: {picture}")
    print(f"try: {PROGRAM_NAME} train {options.name}")


@enter_command_in_table(CORPORA_COMMANDS, "remove", add_corpus_argument)
def remove_corpus(options: argparse.Namespace) -> None:
    """Delete a corpus of your own; models that were trained on it stay.

    Example:
      attention-course corpora remove mine
    """
    from transformer.data.own_corpora import remove_own_corpus

    print(f"removed {remove_own_corpus(options.name)}")
