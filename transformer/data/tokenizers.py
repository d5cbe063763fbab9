"""Text to numbers and back: byte-pair encoding (§5.1), or words by spaCy's rules; one interface.

Both kinds share the four special ids of `transformer.config` (0 to 3), give their own types the
ids from 4 on, and never make a special id other than "unknown" out of text.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tokenizers import Tokenizer as Library
from tokenizers.models import BPE

from transformer.config import (
    NUM_SPECIAL_TOKENS,
    SPECIAL_TOKENS,
    UNK_ID,
    DataConfig,
    TokenizerKind,
)
from transformer.data.byte_level import (
    BYTE_BY_LETTER,
    lowercase_and_add_blank,
    readable_piece,
)
from transformer.data.normalizers import (
    DEFAULT_NORMALIZER,
    NORMALIZERS,
    normalizer_name_of_language,
)
from transformer.data.pre_tokenizers import (
    DEFAULT_PRE_TOKENIZER,
    PRE_TOKENIZER_OF_NEW_VOCABULARIES,
    PRE_TOKENIZERS,
)
from transformer.data.tokenizer_schema import tokenizer_problem
from transformer.data.vocabularies import count_words, learn_merges, learn_words
from transformer.data.word_splitting import split_words
from transformer.support.checks import check_no_lone_surrogate, check_token_ids
from transformer.support.errors import UserError, short_repr, unknown_name_error
from transformer.support.files import read_json
from transformer.support.progress import chunks_with_progress, with_progress
from transformer.support.signatures import check_argument_types

TEXTS_PER_CHUNK = 10_000  # that are encoded at once

# The library warns about its threads whenever a process forks; one is fast enough here.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


class TextEncoder(Protocol):
    """What makes ids of text."""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence, without special ones."""


class Tokenizer(TextEncoder, Protocol):
    """What makes ids of text and text of ids: the two below, or a class of your own.

    A folder keeps the two below alone: a class of your own goes with a network in memory.
    """

    @property
    def vocab_size(self) -> int:
        """Number of ids, the four special ones included."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a sentence, without special ones."""

    def is_blank(self, text: str) -> bool:
        """Return whether nothing is left to see of a text."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; special ids are skipped."""

    def ids_to_pieces(self, ids: Iterable[int]) -> list[str]:
        """Return one piece or word per id; special ids too, as "<eos>"."""


class _BaseTokenizer:
    """What both kinds have in common: ids as a reader sees them, and the normalizer of the text."""

    def __init__(self, type_names: Iterable[str], lowercase: bool, normalizer: str) -> None:
        if normalizer not in NORMALIZERS:
            raise unknown_name_error("normalizer", normalizer, NORMALIZERS)
        self.lowercase, self.normalizer = lowercase, normalizer
        self.normalize = NORMALIZERS[normalizer]  # applied to all that is encoded
        self._names = [*SPECIAL_TOKENS, *type_names]  # by id

    @property
    def vocab_size(self) -> int:
        """Number of ids, the four special ones included."""
        return len(self._names)

    @check_argument_types
    def encode(self, text: str) -> list[int]:
        """Return the ids of a sentence."""
        return self.encode_all([text])[0]

    @check_argument_types
    def is_blank(self, text: str) -> bool:
        """Return whether nothing is left to see of a text: it is blanks, or without any width."""
        return self.normalize(text) == ""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence."""
        raise NotImplementedError

    def ids_to_pieces(self, ids: Iterable[int]) -> list[str]:
        """Return one piece or word per id; special ids too, as "<eos>"."""
        return [self._names[token_id] for token_id in check_token_ids(ids, self.vocab_size)]


# --- byte-pair encoding ---------------------------------------------------------------------


class BPETokenizer(_BaseTokenizer):
    """Pieces of words, down to single bytes, so that no text is unknown (§5.1).

    Byte b has the id 4 + b; then comes one type per merge. One blank is put before the text, so
    that a word has the same pieces at the start as inside, and `decode` takes one blank away. The
    ids of Hugging Face's library, which does the work, start at 0 and are moved up by four, so
    that no text can make it emit a special one. `merges` are the learned pairs, in order, in
    GPT-2's letters of bytes ("Ġ" is the blank); `normalizer` is a name in `NORMALIZERS`, and
    `pre_tokenizer` one in `PRE_TOKENIZERS`.
    """

    @check_argument_types
    def __init__(
        self,
        merges: Sequence[tuple[str, str]],
        lowercase: bool = False,
        normalizer: str = DEFAULT_NORMALIZER,
        pre_tokenizer: str = DEFAULT_PRE_TOKENIZER,
    ) -> None:
        if pre_tokenizer not in PRE_TOKENIZERS:
            raise unknown_name_error("pre-tokenizer", pre_tokenizer, PRE_TOKENIZERS)
        self.pre_tokenizer = pre_tokenizer
        self.merges = list(merges)
        self.vocabulary = dict(BYTE_BY_LETTER)  # each piece but the special ones, numbered from 0
        for left, right in merges:
            if left not in self.vocabulary or right not in self.vocabulary:
                raise UserError(
                    f"{short_repr((left, right))} is no merge: give two of GPT-2's letters of "
                    "bytes or of what they became; no merge before it makes both"
                )
            self.vocabulary.setdefault(left + right, len(self.vocabulary))
        pieces = [bytes(BYTE_BY_LETTER[letter] for letter in piece) for piece in self.vocabulary]
        super().__init__(map(readable_piece, pieces), lowercase, normalizer)
        self._bytes = [b""] * NUM_SPECIAL_TOKENS + pieces  # by id
        # By the library's number. All sentences share these objects, of 28 bytes each.
        self._ids = list(range(NUM_SPECIAL_TOKENS, self.vocab_size))
        self._library = Library(BPE(self.vocabulary, self.merges))
        self._library.pre_tokenizer = PRE_TOKENIZERS[pre_tokenizer]

    @check_argument_types
    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence."""
        sentences: list[list[int]] = []
        # The library's encodings take a hundred times the memory of the ids.
        for chunk in chunks_with_progress(texts, TEXTS_PER_CHUNK, "encoding", "sentences"):
            for text in chunk:
                check_no_lone_surrogate(text)
            prepared = [
                lowercase_and_add_blank(self.normalize(text), self.lowercase) for text in chunk
            ]
            for encoding in self._library.encode_batch(prepared):
                sentences.append([self._ids[number] for number in encoding.ids])
        return sentences

    @check_argument_types
    def encode_normalized_word(self, word: str) -> list[int]:
        """Return the ids of a word as it stands between two blanks of a normalized text.

        It is lower-cased already if it is to be.
        """
        check_no_lone_surrogate(word)
        encoding = self._library.encode(lowercase_and_add_blank(word, lowercase=False))
        return [self._ids[number] for number in encoding.ids]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; special ids are skipped, broken UTF-8 becomes U+FFFD."""
        token_ids = check_token_ids(ids, self.vocab_size)
        joined = b"".join(self._bytes[token_id] for token_id in token_ids)
        return joined.decode("utf-8", errors="replace").removeprefix(" ")

    @check_argument_types
    def tokens(self, text: str) -> list[str]:
        """Return the pieces of a sentence."""
        return self.ids_to_pieces(self.encode(text))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "kind": TokenizerKind.BPE.value,
            "lowercase": self.lowercase,
            "normalizer": self.normalizer,
            "pre_tokenizer": self.pre_tokenizer,
            "merges": [f"{left} {right}" for left, right in self.merges],
        }


# --- words ----------------------------------------------------------------------------------


class WordTokenizer(_BaseTokenizer):
    """Words and punctuation marks; a word outside the vocabulary becomes `UNK_ID`.

    Not in the paper: the plain alternative to §5.1. `decode` joins words by single blanks, for
    they do not say where those were: "a dog ." for "a dog.".

    `lang` says whose rules cut the text (see `split_words`); `types[i]` has the id 4 + i.
    """

    @check_argument_types
    def __init__(
        self,
        lang: str,
        types: Sequence[str],
        lowercase: bool = False,
        normalizer: str = DEFAULT_NORMALIZER,
    ) -> None:
        super().__init__(types, lowercase, normalizer)
        self.lang, self.types = lang, list(types)
        self._ids = {word: number for number, word in enumerate(types, start=NUM_SPECIAL_TOKENS)}

    @check_argument_types
    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence; unknown words as `UNK_ID`."""
        return [
            [self._ids.get(word, UNK_ID) for word in self.tokens(text)]
            for text in with_progress(texts, "encoding", "sentences")
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the words of ids, joined by blanks; special ids are skipped."""
        token_ids = check_token_ids(ids, self.vocab_size)
        words = [self._names[token_id] for token_id in token_ids if token_id >= NUM_SPECIAL_TOKENS]
        return " ".join(words)

    @check_argument_types
    def tokens(self, text: str) -> list[str]:
        """Return the words of a sentence, known or not, one per id of `encode`."""
        return split_words(self.lang, self.normalize(text), self.lowercase)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "kind": TokenizerKind.WORDS.value,
            "lang": self.lang,
            "lowercase": self.lowercase,
            "normalizer": self.normalizer,
            "types": self.types,
        }


# --- learned from text, and read from files -------------------------------------------------


@check_argument_types
def train(
    config: DataConfig, src: Sequence[str], tgt: Sequence[str]
) -> tuple[Tokenizer, Tokenizer]:
    """Learn the source's and the target's tokenizer from the training text (§5.1).

    With `joint_vocabulary` both have the same ids; each normalizes and cuts text by its language's
    rules. A UserError where no word is seen `min_frequency` times.
    """
    src_side, tgt_side = (config.src_lang, src), (config.tgt_lang, tgt)
    if config.joint_vocabulary:
        src_tokenizer, tgt_tokenizer = _train_sides(config, [src_side, tgt_side], config.vocab_size)
    else:
        src_size = config.src_vocab_size or config.vocab_size
        [src_tokenizer] = _train_sides(config, [src_side], src_size)
        [tgt_tokenizer] = _train_sides(config, [tgt_side], config.vocab_size)
    return src_tokenizer, tgt_tokenizer


def _train_sides(
    config: DataConfig, sides: Sequence[tuple[str, Sequence[str]]], vocab_size: int
) -> list[Tokenizer]:
    """Learn one vocabulary of all sides (language, text); return their tokenizers."""
    lowercase = config.lowercase
    normalizer_by_lang = {lang: normalizer_name_of_language(lang) for lang, _ in sides}
    if config.tokenizer == TokenizerKind.BPE:
        counts: Counter[str] = Counter()
        for lang, texts in sides:
            counts.update(count_words(lang, texts, lowercase))
        merges = learn_merges(config, counts, vocab_size)
        return [
            BPETokenizer(
                merges, lowercase, normalizer_by_lang[lang], PRE_TOKENIZER_OF_NEW_VOCABULARIES
            )
            for lang, _ in sides
        ]
    words = learn_words(config, sides, vocab_size)
    return [WordTokenizer(lang, words, lowercase, normalizer_by_lang[lang]) for lang, _ in sides]


@check_argument_types
def load(path: Path) -> Tokenizer:
    """Read a tokenizer from a JSON file of its `to_dict`; a UserError where it holds another thing.

    Earlier files name no pre-tokenizer and call the normalizer "treatment", and the earliest have
    none.
    """
    return from_dict(read_json(path), path)


@check_argument_types
def from_dict(values: Any, path: Path) -> Tokenizer:
    """Do what `load` does, with what the file holds."""
    if isinstance(values, dict) and "treatment" in values:
        values["normalizer"] = values.pop("treatment")
    if problem := tokenizer_problem(values, BYTE_BY_LETTER):
        raise UserError(
            f"{path} is no tokenizer of this course: {problem}; copy it again, or train anew"
        )
    try:
        if TokenizerKind(values.pop("kind")) == TokenizerKind.WORDS:
            return WordTokenizer(**values)
        merges = [merge.split(" ") for merge in values.pop("merges")]
        return BPETokenizer([(left, right) for left, right in merges], **values)
    except UserError as error:  # Its normalizer or pre-tokenizer is unknown.
        raise UserError(f"{path}: {error}") from error
