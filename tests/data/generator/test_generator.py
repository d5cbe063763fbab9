"""What the generator draws is what the corpus holds: run weekly, and after a change of either."""

import gzip
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import pytest

from data.corpus.generator.build import SIZES, write
from data.corpus.generator.lexicon import lexicon
from transformer.data.embedded_corpus import EMBEDDED_FILE_NAME, embedded
from transformer.support.folders import embedded_corpus_folder

pytestmark = pytest.mark.weekly


def test_the_shipped_file_is_what_the_generator_draws(tmp_path: Path) -> None:
    write(tmp_path / EMBEDDED_FILE_NAME)
    drawn, shipped = (
        gzip.decompress((folder / EMBEDDED_FILE_NAME).read_bytes()).decode().splitlines()
        for folder in (tmp_path, embedded_corpus_folder())
    )
    assert drawn == shipped, "run: python -m data.corpus.generator"
    assert len(shipped) == sum(SIZES.values())


def test_held_out_combinations_are_only_in_their_own_test() -> None:
    """An adjective and a noun side by side in English, by rules of this test's own."""
    nouns = {form: each.en for each in lexicon().nouns for form in (each.en, each.en_plural)}
    adjectives = {each.en for each in lexicon().adjectives}
    found = {
        split: sum(
            crc32(f"{first} {nouns[last]}".encode()) % 12 == 0
            for sentence in embedded.sentences(split)
            for first, last in pairwise(sentence.en.split())
            if first in adjectives and last in nouns
        )
        for split in SIZES
    }
    assert found.pop("test_combinations") > 50
    assert set(found.values()) == {0}
