"""Text to numbers and back: word tokens and byte-pair encoding (§5.1).

Both tokenizers share the four special ids of `transformer.config` (0 to 3), give
their own types the ids from 4 on, and never make a special id out of text: a
sentence that holds the letters "<eos>" is only letters.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import tokenizers as hf
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from transformer.config import SPECIAL_TOKENS, UNK_ID, DataConfig, TokenizerKind
from transformer.errors import UserError, unknown_name

FIRST_ID = len(SPECIAL_TOKENS)
LANGUAGES = ("de", "en", "fr")

# The library warns about its threads whenever a process forks; one thread is fast enough here.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


class Tokenizer(Protocol):
    """What the rest of the package asks of a tokenizer."""

    @property
    def vocab_size(self) -> int:
        """Number of ids, the four special ones included."""

    def encode(self, text: str) -> list[int]:
        """Give the ids of a sentence, without beginning and end marks."""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Give what `encode` gives for each sentence, faster."""

    def decode(self, ids: Iterable[int]) -> str:
        """Give the text of ids; special ids are skipped."""

    def tokens(self, text: str) -> list[str]:
        """Give what `encode` sees in a sentence, for a reader, one string per id."""

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Give one string per id, for a reader; special ids too, as "<eos>"."""

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON."""


class WordTokenizer:
    """Words and punctuation marks by spaCy's rules. Not in the paper: the five systems' way.

    A word outside the vocabulary becomes `UNK_ID`. The words do not say where the
    blanks were, so `decode` joins them by single blanks: "a dog ." for "a dog.".

    Args:
        lang: "de", "en" or "fr"; says whose rules cut the text.
        types: The vocabulary without special tokens; `types[i]` has the id 4 + i.
        lowercase: Lower-case each word (after cutting, so that "Mr." is still known).

    Raises:
        UserError: the language is unknown, or there are no types.
    """

    def __init__(self, lang: str, types: Sequence[str], lowercase: bool = False) -> None:
        if lang not in LANGUAGES:
            raise unknown_name("language", lang, LANGUAGES)
        if not types:
            raise UserError("the vocabulary is empty: give at least one type")
        self.lang = lang
        self.types = list(types)
        self.lowercase = lowercase
        self._shown = [*SPECIAL_TOKENS, *types]
        self._ids = {word: number for number, word in enumerate(self.types, start=FIRST_ID)}

    @property
    def vocab_size(self) -> int:
        """Number of ids, the four special ones included."""
        return len(self._shown)

    def encode(self, text: str) -> list[int]:
        """Give the ids of a sentence; unknown words as `UNK_ID`."""
        return [self._ids.get(word, UNK_ID) for word in self.tokens(text)]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Give what `encode` gives for each sentence."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Give the words of ids, joined by blanks; special ids are skipped."""
        return " ".join(self.pieces([number for number in ids if not 0 <= number < FIRST_ID]))

    def tokens(self, text: str) -> list[str]:
        """Give the words of a sentence, known or not, one per id of `encode`."""
        return split_words(self.lang, text, self.lowercase)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Give one word per id; special ids too, as "<unk>"."""
        return [self._shown[number] for number in _check_ids(ids, self.vocab_size)]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON; `load` reads them back."""
        return {
            "kind": TokenizerKind.WORDS.value,
            "lang": self.lang,
            "lowercase": self.lowercase,
            "types": self.types,
        }


class BPETokenizer:
    """Byte-pair encoding over bytes (§5.1): pieces of words, and no text is unknown.

    The 256 bytes come first, then one type per merge. One blank is put before the
    text, so that a word has the same pieces at the start as inside, and `decode`
    takes one blank away: `decode(encode(text)) == text` for every text
    (`text.lower()` if `lowercase`).

    Args:
        merges: The learnt pairs, in order; each byte is written as the letter that
            GPT-2's byte alphabet has for it ("Ġ" is the blank).
        lowercase: Lower-case the text first.

    Raises:
        UserError: a merge joins pieces that do not exist before it.
    """

    def __init__(self, merges: Sequence[tuple[str, str]], lowercase: bool = False) -> None:
        vocabulary = {letter: number for number, letter in enumerate(_byte_letters())}
        for left, right in merges:
            if left not in vocabulary or right not in vocabulary:
                raise UserError(
                    f"merge {left!r} + {right!r} joins a piece that no earlier merge made: "
                    "the list of merges is damaged, train the tokenizer again"
                )
            vocabulary.setdefault(left + right, len(vocabulary))
        self.merges = [(left, right) for left, right in merges]
        self.lowercase = lowercase
        pieces = [_to_bytes(piece) for piece in vocabulary]
        self._bytes = [b""] * FIRST_ID + pieces
        self._shown = [*SPECIAL_TOKENS, *map(_show, pieces)]
        self._bpe = hf.Tokenizer(BPE(vocabulary, self.merges))
        self._bpe.pre_tokenizer = ByteLevel(add_prefix_space=False)

    @property
    def vocab_size(self) -> int:
        """Number of ids, the four special ones included."""
        return len(self._bytes)

    def encode(self, text: str) -> list[int]:
        """Give the ids of a sentence."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Give what `encode` gives for each sentence, in one call of the library."""
        prepared = [_prepare(text, self.lowercase) for text in texts]
        return [
            [FIRST_ID + number for number in encoding.ids]
            for encoding in self._bpe.encode_batch(prepared)
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """Give the text of ids; special ids are skipped, broken UTF-8 becomes U+FFFD."""
        joined = b"".join(self._bytes[number] for number in _check_ids(ids, self.vocab_size))
        return joined.decode("utf-8", errors="replace").removeprefix(" ")

    def tokens(self, text: str) -> list[str]:
        """Give the pieces of a sentence, for a reader: a blank as "▁", half a letter as "<0xC3>"."""
        return self.pieces(self.encode(text))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Give one piece per id, as `tokens` does; special ids too, as "<eos>"."""
        return [self._shown[number] for number in _check_ids(ids, self.vocab_size)]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON; `load` reads them back."""
        return {
            "kind": TokenizerKind.BPE.value,
            "lowercase": self.lowercase,
            "merges": [list(pair) for pair in self.merges],
        }


@cache
def _spacy_rules(lang: str) -> Any:
    """Give spaCy's tokenizer of a language; imported late, because it takes seconds."""
    import spacy

    return spacy.blank(lang).tokenizer


def split_words(lang: str, text: str, lowercase: bool = False) -> list[str]:
    """Cut a sentence into words and punctuation marks. Not in the paper.

    Args:
        lang: "de", "en" or "fr".
        text: One sentence.
        lowercase: Lower-case each word after cutting.
    """
    words = [token.text for token in _spacy_rules(lang)(text)]
    return [word.lower() for word in words] if lowercase else words


def _byte_letters() -> list[str]:
    """Give the letter that stands for each byte: itself if visible, else one from U+0100 on."""
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    stand_ins = iter(range(256, 512))
    return [chr(b if b in visible else next(stand_ins)) for b in range(256)]


_BYTE_OF = {letter: byte for byte, letter in enumerate(_byte_letters())}


def _to_bytes(piece: str) -> bytes:
    return bytes(_BYTE_OF[letter] for letter in piece)


def _show(piece: bytes) -> str:
    """Write a piece for a reader: blanks as "▁", bytes that are no whole letter as "<0xC3>"."""
    text = piece.decode("utf-8", errors="surrogateescape").replace(" ", "▁")
    return "".join(f"<0x{ord(c) - 0xDC00:02X}>" if "\udc80" <= c <= "\udcff" else c for c in text)


def _prepare(text: str, lowercase: bool) -> str:
    return " " + (text.lower() if lowercase else text)


def _check_ids(ids: Iterable[int], vocab_size: int) -> list[int]:
    """Give the ids as a list, if each has a type."""
    checked = list(ids)
    for number in checked:
        if not 0 <= number < vocab_size:
            raise UserError(
                f"id {number} is outside this vocabulary of {vocab_size} types (0 to "
                f"{vocab_size - 1}): use the tokenizer that the model was trained with"
            )
    return checked


def train(
    config: DataConfig, src: Sequence[str], tgt: Sequence[str]
) -> tuple[Tokenizer, Tokenizer]:
    """Learn the vocabulary of both sides from the training text (§5.1).

    With `joint_vocabulary` both have the same ids: byte-pair encoding gives the same
    object twice; words give two, because each language is cut by its own rules.

    Args:
        config: Kind, size, frequency cut, lower-casing, languages.
        src: Source sentences.
        tgt: Target sentences; their number need not equal that of `src`.

    Returns:
        The source side's tokenizer and the target side's.

    Raises:
        UserError: no word is seen `min_frequency` times.
    """
    if config.tokenizer == TokenizerKind.BPE:
        if config.joint_vocabulary:
            joint = _train_bpe(config, [*src, *tgt])
            return joint, joint
        return _train_bpe(config, src), _train_bpe(config, tgt)
    src_counts = _count_words(config.src_lang, src, config.lowercase)
    tgt_counts = _count_words(config.tgt_lang, tgt, config.lowercase)
    if config.joint_vocabulary:
        src_counts = tgt_counts = src_counts + tgt_counts
    return (
        WordTokenizer(config.src_lang, _frequent(src_counts, config), config.lowercase),
        WordTokenizer(config.tgt_lang, _frequent(tgt_counts, config), config.lowercase),
    )


def _train_bpe(config: DataConfig, texts: Sequence[str]) -> BPETokenizer:
    learner = hf.Tokenizer(BPE())
    learner.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(
        vocab_size=config.vocab_size - FIRST_ID,
        min_frequency=config.min_frequency,
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    learner.train_from_iterator((_prepare(text, config.lowercase) for text in texts), trainer)
    merges = json.loads(learner.to_str())["model"]["merges"]
    return BPETokenizer([(left, right) for left, right in merges], config.lowercase)


def _count_words(lang: str, texts: Iterable[str], lowercase: bool) -> Counter[str]:
    return Counter(word for text in texts for word in split_words(lang, text, lowercase))


def _frequent(counts: Counter[str], config: DataConfig) -> list[str]:
    """Give the types to keep, the most frequent first, equals in alphabetical order."""
    kept = [
        word
        for word, count in counts.items()
        if count >= config.min_frequency and word not in SPECIAL_TOKENS
    ]
    if not kept:
        raise UserError(
            f"no word is seen min_frequency = {config.min_frequency} times: "
            "give more text or a smaller min_frequency"
        )
    kept.sort(key=lambda word: (-counts[word], word))
    return kept[: config.vocab_size - FIRST_ID]


def save(tokenizer: Tokenizer, path: Path) -> None:
    """Write a tokenizer as one JSON file, whole or not at all.

    Args:
        tokenizer: Of either kind.
        path: The file; its folder must exist.
    """
    text = json.dumps(tokenizer.to_dict(), ensure_ascii=False, indent=0)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(text + "\n", encoding="utf-8")
    unfinished.replace(path)


def load(path: Path) -> Tokenizer:
    """Read a tokenizer that `save` wrote.

    Raises:
        UserError: the file is missing, cut short, or not a tokenizer's.
    """
    try:
        return from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(f"cannot read the tokenizer {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is not a tokenizer, or damaged ({error}): give a file that training wrote"
        ) from error


def from_dict(values: dict[str, Any]) -> Tokenizer:
    """Make a tokenizer from what its `to_dict` gave.

    Raises:
        ValueError, KeyError, TypeError: the values are not a tokenizer's.
    """
    if not isinstance(values["lowercase"], bool):
        raise UserError(f"lowercase is {values['lowercase']!r}, not true or false")
    if values["kind"] == TokenizerKind.BPE:
        return BPETokenizer(
            [(left, right) for left, right in values["merges"]], values["lowercase"]
        )
    if values["kind"] == TokenizerKind.WORDS:
        types = values["types"]
        if not isinstance(types, list) or not all(isinstance(word, str) for word in types):
            raise UserError("its types are not a list of words")
        return WordTokenizer(values["lang"], types, values["lowercase"])
    raise unknown_name("tokenizer", str(values["kind"]), list(TokenizerKind))
