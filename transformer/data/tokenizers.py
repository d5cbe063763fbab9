"""Text to numbers and back: byte-pair encoding (§5.1), or words by spaCy's rules; one interface.

Both kinds share the four special ids of `transformer.config` (0 to 3), give their own types the
ids from 4 on, and never make a special id other than "unknown" out of text.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from tokenizers import Tokenizer as Library
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from transformer.config import (
    NUM_SPECIAL_TOKENS,
    SPECIAL_TOKENS,
    UNK_ID,
    DataConfig,
    TokenizerKind,
)
from transformer.data.normalizers import (
    DEFAULT_NORMALIZER,
    NORMALIZERS,
    normalizer_name_of_language,
)
from transformer.data.tokenizer_schema import tokenizer_problem
from transformer.support.checks import check_token_ids
from transformer.support.errors import UserError, require, short_repr, unknown_name_error
from transformer.support.files import read_json
from transformer.support.progress import chunks_with_progress, with_progress
from transformer.support.signatures import check_argument_types

TEXTS_PER_CHUNK = 10_000  # that are encoded at once
TREE_LANGUAGE = "tree"  # a tree of phrases in a line, whose tokens stand between blanks

# The library warns about its threads whenever a process forks; one is fast enough here.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


LONE_SURROGATE_MESSAGE = "a text holds half a letter (a lone surrogate): mend it"


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
    GPT-2's letters of bytes ("Ġ" is the blank); `normalizer` is a name in `NORMALIZERS`.
    """

    @check_argument_types
    def __init__(
        self,
        merges: Sequence[tuple[str, str]],
        lowercase: bool = False,
        normalizer: str = DEFAULT_NORMALIZER,
    ) -> None:
        self.merges = list(merges)
        self.vocabulary = dict(_BYTE_BY_LETTER)  # each piece but the special ones, numbered from 0
        for left, right in merges:
            require(
                left in self.vocabulary and right in self.vocabulary,
                f"{short_repr((left, right))} is no merge: give two of GPT-2's letters of bytes or "
                "of what they became; no merge before it makes both",
            )
            self.vocabulary.setdefault(left + right, len(self.vocabulary))
        pieces = [bytes(_BYTE_BY_LETTER[letter] for letter in piece) for piece in self.vocabulary]
        super().__init__(map(_readable_piece, pieces), lowercase, normalizer)
        self._bytes = [b""] * NUM_SPECIAL_TOKENS + pieces  # by id
        # By the library's number. All sentences share these objects, of 28 bytes each.
        self._ids = list(range(NUM_SPECIAL_TOKENS, self.vocab_size))
        self._library = Library(BPE(self.vocabulary, self.merges))
        self._library.pre_tokenizer = ByteLevel(add_prefix_space=False)

    @check_argument_types
    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence."""
        sentences: list[list[int]] = []
        # The library's encodings take a hundred times the memory of the ids.
        for chunk in chunks_with_progress(texts, TEXTS_PER_CHUNK, "encoding", "sentences"):
            prepared = [
                _lowercase_and_add_blank(self.normalize(text), self.lowercase) for text in chunk
            ]
            try:
                encodings = self._library.encode_batch(prepared)
            except TypeError as error:
                raise UserError(LONE_SURROGATE_MESSAGE) from error
            sentences += [[self._ids[number] for number in encoding.ids] for encoding in encodings]
        return sentences

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
            "merges": [f"{left} {right}" for left, right in self.merges],
        }


def _lowercase_and_add_blank(text: str, lowercase: bool) -> str:
    """Put the blank before a normalized text, lower-cased if asked for."""
    return " " + (text.lower() if lowercase else text)


def _readable_piece(piece: bytes) -> str:
    """Write a piece for a reader: blanks as "▁", bytes that are no whole letter as "<0xC3>"."""
    text = piece.decode("utf-8", errors="surrogateescape").replace(" ", "▁")
    return re.sub("[\udc80-\udcff]", lambda match: f"<0x{ord(match[0]) - 0xDC00:02X}>", text)


def _make_byte_by_letter() -> dict[str, int]:
    """Return GPT-2's letter of each byte: itself if visible, else the next from U+0100 on."""
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    stand_ins = iter(range(256, 512))
    return {chr(byte if byte in visible else next(stand_ins)): byte for byte in range(256)}


_BYTE_BY_LETTER = _make_byte_by_letter()


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


@check_argument_types
def split_words(lang: str, text: str, lowercase: bool = False) -> list[str]:
    """Cut a sentence into words and marks, then lower-case them, as spaCy would not know "mr.".

    `lang` is `TREE_LANGUAGE`, whose tokens stand between blanks, or a language that spaCy has rules
    for; another one is a UserError.
    """
    _require_whole_letters(text)
    if lang == TREE_LANGUAGE:
        words = text.split()
    else:
        words = [token.text for token in _spacy_tokenizer(lang)(text)]
    return [word.lower() for word in words] if lowercase else words


def _require_whole_letters(text: str) -> None:
    """Raise a UserError if a text holds a lone surrogate, which no library can read."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UserError(LONE_SURROGATE_MESSAGE) from error


@check_argument_types
def has_word_splitting_rules(lang: str) -> bool:
    """Return whether `split_words` can cut text of a language."""
    try:
        split_words(lang, "")
    except UserError:
        return False
    return True


def _spacy_tokenizer(lang: Any) -> Any:
    """Return spaCy's tokenizer of a language; a UserError where it has none here."""
    try:
        if not isinstance(lang, str) or not re.fullmatch("[a-z]{2,3}", lang):
            raise ImportError("a language is a code of two or three letters")
        return _load_spacy_tokenizer(lang)
    except ImportError as error:
        message = f"no rules for words of language {short_repr(lang)}: set tokenizer=bpe"
        reason = str(error).splitlines()[0]
        raise UserError(f"{message}, or give a code that spaCy knows, as de ({reason})") from error


@cache
def _load_spacy_tokenizer(lang: str) -> Any:
    import spacy  # late, because it takes seconds

    return spacy.blank(lang).tokenizer


# --- learned from text ----------------------------------------------------------------------


@check_argument_types
def train(
    config: DataConfig, src: Sequence[str], tgt: Sequence[str]
) -> tuple[Tokenizer, Tokenizer]:
    """Learn the source's and the target's tokenizer from the training text (§5.1).

    With `joint_vocabulary` both have the same ids; each normalizes and cuts text by its language's
    rules. A UserError where no word is seen `min_frequency` times.
    """
    src_side = config.src_lang, _normalize_all(config.src_lang, src)
    tgt_side = config.tgt_lang, _normalize_all(config.tgt_lang, tgt)
    if config.joint_vocabulary:
        src_types = tgt_types = _learn_merges_or_words(
            config, [src_side, tgt_side], config.vocab_size
        )
    else:
        src_size = config.src_vocab_size or config.vocab_size
        src_types = _learn_merges_or_words(config, [src_side], src_size)
        tgt_types = _learn_merges_or_words(config, [tgt_side], config.vocab_size)
    src_tokenizer = _make_tokenizer(config, config.src_lang, src_types)
    return src_tokenizer, _make_tokenizer(config, config.tgt_lang, tgt_types)


def _normalize_all(lang: str, texts: Sequence[str]) -> list[str]:
    normalize = NORMALIZERS[normalizer_name_of_language(lang)]
    for text in texts:
        _require_whole_letters(text)
    return [normalize(text) for text in with_progress(texts, "normalizing", "sentences")]


def _make_tokenizer(config: DataConfig, lang: str, types: list[Any]) -> Tokenizer:
    """Make the tokenizer of one side from its merges or words."""
    normalizer = normalizer_name_of_language(lang)
    if config.tokenizer == TokenizerKind.BPE:
        return BPETokenizer(types, config.lowercase, normalizer)
    return WordTokenizer(lang, types, config.lowercase, normalizer)


def _learn_merges_or_words(
    config: DataConfig, sides: Sequence[tuple[str, list[str]]], vocab_size: int
) -> list[Any]:
    """Learn the merges or words of a vocabulary from its sides (language, normalized text)."""
    if config.tokenizer == TokenizerKind.BPE:
        return _learn_merges(config, [text for _, texts in sides for text in texts], vocab_size)
    counts: Counter[str] = Counter()
    for lang, texts in sides:
        for text in with_progress(texts, "counting words for the vocabulary", "sentences"):
            counts.update(split_words(lang, text, config.lowercase))
    frequent = [word for word, count in counts.items() if count >= config.min_frequency]
    if not frequent:
        message = f"no word is seen min_frequency = {config.min_frequency} times"
        raise UserError(f"{message}: give more text or a smaller min_frequency")
    by_frequency = sorted(frequent, key=lambda word: (-counts[word], word))
    return by_frequency[: vocab_size - NUM_SPECIAL_TOKENS]


def _learn_merges(config: DataConfig, texts: list[str], vocab_size: int) -> list[tuple[str, str]]:
    """Learn the merges of normalized text, the most frequent pair first (§5.1)."""
    learner = Library(BPE())
    learner.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(
        vocab_size=vocab_size - NUM_SPECIAL_TOKENS,
        min_frequency=config.min_frequency,
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    learner.train_from_iterator(
        (
            _lowercase_and_add_blank(text, config.lowercase)
            for text in with_progress(texts, "counting words for the vocabulary", "sentences")
        ),
        trainer,
    )
    return [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]


@check_argument_types
def load(path: Path) -> Tokenizer:
    """Read a tokenizer from a JSON file of its `to_dict`; a UserError where it holds another thing.

    Earlier files call the normalizer "treatment", and the earliest have none.
    """
    values = read_json(path)
    if isinstance(values, dict) and "treatment" in values:
        values["normalizer"] = values.pop("treatment")
    if problem := tokenizer_problem(values, _BYTE_BY_LETTER):
        raise UserError(
            f"{path} is no tokenizer of this course: {problem}; copy it again, or train anew"
        )
    try:
        if TokenizerKind(values.pop("kind")) == TokenizerKind.WORDS:
            return WordTokenizer(**values)
        merges = [merge.split(" ") for merge in values.pop("merges")]
        return BPETokenizer([(left, right) for left, right in merges], **values)
    except UserError as error:  # Its normalizer is unknown.
        raise UserError(f"{path}: {error}") from error
