"""A tokenizer.json gives the ids and the texts that our tokenizer gives."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library

from engines.tokenizer_json import (
    check_tokenizer_exportable,
    token_names_by_id,
    write_tokenizer_json,
)
from transformer.config import EOS_ID, NUM_SPECIAL_TOKENS, DataConfig
from transformer.data.normalizers import DEFAULT_NORMALIZER, NORMALIZERS
from transformer.data.pre_tokenizers import PRE_TOKENIZERS
from transformer.data.tokenizers import BPETokenizer, WordTokenizer, load, train
from transformer.support.errors import UserError
from transformer.support.folders import models_folder

MERGES = check_tokenizer_exportable(
    load(models_folder() / "demo-en-fr" / "src_tokenizer.json")
).merges
HINDI_AND_THAI = DataConfig(corpus="mine", src_lang="hi", tgt_lang="th", vocab_size=300)
MARKED = check_tokenizer_exportable(train(HINDI_AND_THAI, ["की क"] * 2, ["ที"])[0]).merges
# Letters of the corpora, every blank, and whatever a normalizer rewrites; no letter whose
# properties came with a version of Unicode that only one of the libraries knows.
BLANKS = "".join(letter for letter in map(chr, range(0x10000)) if letter.isspace())
INVISIBLE = "\u00ad\u061c\u200b\u200c\u200d\u200e\u202c\u2011\u2060\u2068\ufeffیक\ufe0f"
MARKS = "\u0301\u0308\u093f\u094d\u0e31कीที"
LETTERS = st.sampled_from(
    f"{INVISIBLE}{MARKS}aàeéoœßE\u0301\u0308çÉ8:;!?.,-’ʼ′´'‘“”„\"«»<>😀日\0\x7f{BLANKS}"
)


def written(tokenizer: BPETokenizer, folder: Path, max_len: int = 256) -> Library:
    path = folder / "tokenizer.json"
    write_tokenizer_json(tokenizer, max_len, path)
    return Library.from_file(str(path))


@pytest.fixture(scope="module", params=itertools.product(NORMALIZERS, PRE_TOKENIZERS))
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[BPETokenizer, Library]:
    """A tokenizer of ours, and what is read from its file."""
    normalizer, pre_tokenizer = request.param
    # Among them letters with their marks, which one of the two never merges.
    merges = list(dict.fromkeys([*MERGES, *MARKED]))
    ours = BPETokenizer(merges, normalizer == "german", normalizer, pre_tokenizer)
    return ours, written(ours, tmp_path_factory.mktemp(normalizer))


@given(letters=st.lists(LETTERS, min_size=1))
def test_any_text_has_the_same_ids(pair: tuple[BPETokenizer, Library], letters: list[str]) -> None:
    ours, library = pair
    text = "".join(letters)
    if not ours.is_blank(text):  # a blank sentence is no sentence
        assert library.encode(text).ids == [*ours.encode(text), EOS_ID]


@given(ids=st.lists(st.integers(NUM_SPECIAL_TOKENS, NUM_SPECIAL_TOKENS + 700)))
def test_any_ids_have_the_same_text(pair: tuple[BPETokenizer, Library], ids: list[int]) -> None:
    ours, library = pair
    assert library.decode(ids) == ours.decode(ids)


def test_its_tokens_are_the_vocabulary(pair: tuple[BPETokenizer, Library]) -> None:
    ours, library = pair
    tokens = token_names_by_id(ours)
    assert tokens[: NUM_SPECIAL_TOKENS + 1] == ["<pad>", "<unk>", "<bos>", "<eos>", "Ā"]
    assert len(tokens) == ours.vocab_size
    assert library.get_vocab() == {token: number for number, token in enumerate(tokens)}


def test_a_special_token_spelt_is_letters_and_what_is_too_long_is_cut_and_ends(
    tmp_path: Path,
) -> None:
    library, short = written(BPETokenizer([]), tmp_path), tmp_path / "short"
    ids = [NUM_SPECIAL_TOKENS + byte for byte in b" <eos>"]
    assert library.encode("<eos>").ids == [*ids, EOS_ID]
    short.mkdir()
    library = written(BPETokenizer([]), short, max_len=5)
    ids = [NUM_SPECIAL_TOKENS + byte for byte in b" abc"]
    assert library.encode("abcdef").ids == [*ids, EOS_ID]


def test_words_and_a_piece_with_a_special_tokens_name_are_refused() -> None:
    with pytest.raises(UserError, match=r"spaCy's rules cut.*--set tokenizer=bpe"):
        check_tokenizer_exportable(WordTokenizer("en", ["dog"], normalizer=DEFAULT_NORMALIZER))
    merges = [("<", "e"), ("<e", "o"), ("<eo", "s"), ("<eos", ">")]
    check_tokenizer_exportable(BPETokenizer(merges[:3]))
    with pytest.raises(UserError, match="learned the piece '<eos>'"):
        check_tokenizer_exportable(BPETokenizer(merges))
