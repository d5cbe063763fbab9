"""The dictionary of words in front of byte-pair encoding: the ids are those of the plain form."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.data import corpora, fast_encoding, tokenizers
from transformer.data.fast_encoding import encode_to_arrays
from transformer.data.pre_tokenizers import PRE_TOKENIZERS
from transformer.data.token_arrays import TokenArrays
from transformer.data.tokenizers import BPETokenizer, Tokenizer, WordTokenizer
from transformer.recipes import find_recipe
from transformer.support.errors import UserError

STEADY = settings(deadline=None, derandomize=True, max_examples=40)
TEXT = ["Wolfgang's two dogs: 12 o'clock!", "naß, été; नमस्ते 夏休み。", "dogs' dogs  dogs", ""]
MERGES = [("Ġ", "d"), ("o", "g"), ("Ġd", "og"), ("'", "s"), ("Ġ", "'"), ("Ã", "©"), ("1", "2")]
TOKENIZERS = [
    BPETokenizer(MERGES, lowercase, normalizer, pre_tokenizer)
    for lowercase, normalizer, pre_tokenizer in (
        (False, "french", "gpt2"),
        (True, "composed", "gpt2_with_marks"),
    )
]


def sentences(arrays: TokenArrays) -> list[list[int]]:
    return [arrays.sentence(row) for row in range(len(arrays))]


@STEADY
@given(st.lists(st.text(max_size=20), max_size=4))
def test_any_text_has_the_ids_of_the_plain_form(texts: list[str]) -> None:
    for tokenizer in TOKENIZERS:
        assert sentences(encode_to_arrays(tokenizer, [*texts, *TEXT])) == tokenizer.encode_all(
            [*texts, *TEXT]
        )


@pytest.mark.weekly
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_any_character_inside_a_word_and_alone(tokenizer: BPETokenizer) -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for start in range(0, len(characters), 100_000):
        texts = [f"a{c}b {c} '{c}1" for c in characters[start : start + 100_000]]
        assert sentences(encode_to_arrays(tokenizer, texts)) == tokenizer.encode_all(texts)


@pytest.mark.parametrize("name", sorted(PRE_TOKENIZERS))
def test_no_pre_tokenizer_matches_over_a_single_blank(name: str) -> None:
    """What the dictionary rests on: a new pre-tokenizer may be another one."""
    text = " the 3 dogs ' 's !? naß ' नमस्ते १२ 夏休み。 é - x"
    words = [f" {word}" for word in text[1:].split(" ")]
    pieces = [piece for word in words for piece, _ in PRE_TOKENIZERS[name].pre_tokenize_str(word)]
    assert pieces == [piece for piece, _ in PRE_TOKENIZERS[name].pre_tokenize_str(text)]


@pytest.mark.weekly
def test_corpora_have_the_ids_of_the_plain_form(shared_data: Path) -> None:
    for corpus, recipe in (("multi30k", "multi30k-de-en"), ("embedded", "demo")):
        data = find_recipe(recipe).data
        text = corpora.load(corpus, "train", data.src_lang, data.tgt_lang)
        # The words of validation text are not all in the vocabulary.
        held_out = corpora.load(corpus, "validation", data.src_lang, data.tgt_lang)
        for tokenizer, side in zip(
            tokenizers.train(data, held_out.src, held_out.tgt), (text.src, text.tgt), strict=True
        ):
            assert sentences(encode_to_arrays(tokenizer, side)) == tokenizer.encode_all(side)


def test_a_full_dictionary_encodes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_encoding, "MAX_DISTINCT_WORDS", 3)
    monkeypatch.setattr(fast_encoding, "TEXTS_PER_CHUNK", 2)
    tokenizer = TOKENIZERS[0]
    assert sentences(encode_to_arrays(tokenizer, TEXT)) == tokenizer.encode_all(TEXT)


class Numbers:
    """An encoder of somebody's own: its ids are the numbers in the text."""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [[int(number) for number in text.split()] for text in texts]


@pytest.mark.parametrize(
    ("texts", "kind"), [(["7 65535", "", "5"], np.uint16), (["65536 9"], np.uint32), ([], None)]
)
def test_other_encoders_and_large_ids(texts: list[str], kind: type | None) -> None:
    arrays = encode_to_arrays(Numbers(), texts)
    assert sentences(arrays) == Numbers().encode_all(texts)
    assert kind in (None, arrays.ids.dtype)
    assert arrays.lengths().tolist() == [len(text.split()) for text in texts]


def test_words_and_what_is_refused() -> None:
    words: Tokenizer = WordTokenizer("en", ["dog"])
    assert sentences(encode_to_arrays(words, ["a dog", ""])) == words.encode_all(["a dog", ""])
    for tokenizer in (words, TOKENIZERS[0]):
        with pytest.raises(UserError, match="half a letter"):
            encode_to_arrays(tokenizer, ["dog", "\ud800"])
    with pytest.raises(UserError, match="give one or more lists of token ids"):
        encode_to_arrays(Numbers(), ["5 -1"])


def test_rows_selected_by_hand() -> None:
    arrays = encode_to_arrays(Numbers(), ["5 6 7", "", "8", "9 10"])
    assert sentences(arrays.select_rows(np.array([3, 1, 0]))) == [[9, 10], [], [5, 6, 7]]
    assert sentences(arrays.select_rows(np.array([], dtype=np.int64))) == []
