"""Text to flat arrays of ids, with each distinct word encoded once. Not in the paper.

Byte-pair encoding works word by word, and a text has few words that differ: a dictionary of them
stands here in front of the tokenizer. A normalized text has single, plain blanks, and no match of a
pre-tokenizer goes on over one: each begins a new match, which is the word after it. So a text has
the ids of its words, each encoded with the blank before it. `BPETokenizer.encode_all` is the plain
form, which a test compares.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.data.token_arrays import TokenArrays, chunk_from_lists, token_arrays_from_chunks
from transformer.data.tokenizers import TEXTS_PER_CHUNK, BPETokenizer, TextEncoder
from transformer.support.checks import check_no_lone_surrogate
from transformer.support.progress import chunks_with_progress

MAX_DISTINCT_WORDS = 1 << 20  # that are kept; a text without blanks is one long word
END_OF_TEXT = "\n"  # stands as a word after each text; a normalized text holds none
END_OF_TEXT_ID = np.uint32(0xFFFFFFFF)


def encode_to_arrays(encoder: TextEncoder, texts: Sequence[str]) -> TokenArrays:
    """Return the ids of each sentence, without special ones: those of `encoder.encode_all`."""
    chunks = chunks_with_progress(texts, TEXTS_PER_CHUNK, "encoding", "sentences")
    if isinstance(encoder, BPETokenizer):
        ids_by_word = _IdsByWord(encoder)
        return token_arrays_from_chunks(
            _encode_chunk_by_words(encoder, ids_by_word, chunk) for chunk in chunks
        )
    return token_arrays_from_chunks(chunk_from_lists(encoder.encode_all(chunk)) for chunk in chunks)


class _IdsByWord(dict[str, bytes]):
    """The ids of each word, as the bytes of uint32; a word that is new is encoded."""

    def __init__(self, tokenizer: BPETokenizer) -> None:
        super().__init__({END_OF_TEXT: END_OF_TEXT_ID.tobytes()})
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> bytes:
        ids = np.array(self._tokenizer.encode_normalized_word(word), np.uint32).tobytes()
        if len(self) < MAX_DISTINCT_WORDS:
            self[word] = ids
        return ids


def _encode_chunk_by_words(
    tokenizer: BPETokenizer, ids_by_word: _IdsByWord, texts: Sequence[str]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the ids of some texts one after the other, and how many each has."""
    check_no_lone_surrogate("".join(texts))
    normalize = tokenizer.normalize
    if tokenizer.lowercase:
        lines = [normalize(text).lower() for text in texts]
    else:
        lines = [normalize(text) for text in texts]
    words = f" {END_OF_TEXT} ".join([*lines, ""]).split(" ")[:-1]
    ids = np.frombuffer(b"".join(map(ids_by_word.__getitem__, words)), np.uint32)
    is_end = ids == END_OF_TEXT_ID
    lengths = np.diff(np.flatnonzero(is_end), prepend=-1) - 1
    return ids[~is_end], lengths
