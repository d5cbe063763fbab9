"""Text to numbers and back: byte-pair encoding (§5.1), or words by spaCy's rules; one interface.

Both kinds share the four special ids of `transformer.config` (0 to 3), give their own types the
ids from 4 on, and never make a special id other than "unknown" out of text.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Library
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from transformer.config import NUM_SPECIAL_TOKENS, SPECIAL_TOKENS, UNK_ID, DataConfig, TokenizerKind
from transformer.data.parallel import BY_LANGUAGE, PLAIN, TREATMENTS
from transformer.support.checks import check_text, check_texts, check_token_ids
from transformer.support.errors import UserError, unknown_name
from transformer.support.files import read_json

TREE = "tree"  # a tree of phrases in a line, whose tokens stand between blanks
LANGUAGES = ("de", "en", "fr", TREE)

# The library warns about its threads whenever a process forks; one is fast enough here.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


class _Shared:
    """What both kinds have in common: ids as a reader sees them, and how text is written first."""

    def __init__(self, shown: Iterable[str], lowercase: bool, treatment: str) -> None:
        self._treat = TREATMENTS[treatment]
        self.lowercase, self.treatment = lowercase, treatment
        self._shown = [*SPECIAL_TOKENS, *shown]

    @property
    def vocab_size(self) -> int:
        """Number of ids, the four special ones included."""
        return len(self._shown)

    def encode(self, text: str) -> list[int]:
        """Give the ids of a sentence."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the ids of each sentence."""
        raise NotImplementedError

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Give one piece or word per id; special ids too, as "<eos>"."""
        return [self._shown[number] for number in check_token_ids(ids, self.vocab_size)]


# --- byte-pair encoding ---------------------------------------------------------------------


class BPETokenizer(_Shared):
    """Pieces of words, down to single bytes, so that no text is unknown (§5.1).

    Byte b has the id 4 + b; then comes one type per merge. One blank is put before the text, so
    that a word has the same pieces at the start as inside, and `decode` takes one blank away. The
    ids of Hugging Face's library, which does the work, start at 0 and are moved up by four, so
    that no text can make it emit a special one. `merges` are the learned pairs, in order, in
    GPT-2's letters of bytes ("Ġ" is the blank); `treatment` is a name in `TREATMENTS`.
    """

    def __init__(
        self, merges: Sequence[tuple[str, str]], lowercase: bool = False, treatment: str = PLAIN
    ) -> None:
        self.merges = list(merges)
        self.vocabulary = dict(_BYTES)  # each piece but the special ones, numbered from 0
        for left, right in merges:
            self.vocabulary.setdefault(left + right, len(self.vocabulary))
        pieces = [bytes(_BYTES[letter] for letter in piece) for piece in self.vocabulary]
        super().__init__(map(_show, pieces), lowercase, treatment)
        self._bytes = [b""] * NUM_SPECIAL_TOKENS + pieces
        self._library = Library(BPE(self.vocabulary, self.merges))
        self._library.pre_tokenizer = ByteLevel(add_prefix_space=False)

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the ids of each sentence, in one call of the library."""
        check_texts("texts", texts)
        treated = [_prepare(self._treat(text), self.lowercase) for text in texts]
        try:
            encodings = self._library.encode_batch(treated)
        except TypeError as error:
            raise UserError("a text holds half a letter (a lone surrogate): mend it") from error
        return [[NUM_SPECIAL_TOKENS + number for number in encoding.ids] for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        """Give the text of ids; special ids are skipped, broken UTF-8 becomes U+FFFD."""
        joined = b"".join(self._bytes[number] for number in check_token_ids(ids, self.vocab_size))
        return joined.decode("utf-8", errors="replace").removeprefix(" ")

    def tokens(self, text: str) -> list[str]:
        """Give the pieces of a sentence."""
        return self.pieces(self.encode(text))

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON."""
        return {
            "kind": TokenizerKind.BPE.value,
            "lowercase": self.lowercase,
            "treatment": self.treatment,
            "merges": [f"{left} {right}" for left, right in self.merges],
        }


def _prepare(text: str, lowercase: bool) -> str:
    return " " + (text.lower() if lowercase else text)


def _show(piece: bytes) -> str:
    """Write a piece for a reader: blanks as "▁", bytes that are no whole letter as "<0xC3>"."""
    text = piece.decode("utf-8", errors="surrogateescape").replace(" ", "▁")
    return "".join(f"<0x{ord(c) - 0xDC00:02X}>" if "\udc80" <= c <= "\udcff" else c for c in text)


def _byte_letters() -> dict[str, int]:
    """Give GPT-2's letter of each byte: itself if visible, else the next from U+0100 on."""
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    stand_ins = iter(range(256, 512))
    return {chr(byte if byte in visible else next(stand_ins)): byte for byte in range(256)}


_BYTES = _byte_letters()


# --- words ----------------------------------------------------------------------------------


class WordTokenizer(_Shared):
    """Words and punctuation marks; a word outside the vocabulary becomes `UNK_ID`.

    Not in the paper: the plain alternative to §5.1. `decode` joins words by single blanks, for
    they do not say where those were: "a dog ." for "a dog.".

    `lang`, one of `LANGUAGES`, says whose rules cut the text; `types[i]` has the id 4 + i.
    """

    def __init__(
        self, lang: str, types: Sequence[str], lowercase: bool = False, treatment: str = PLAIN
    ) -> None:
        super().__init__(types, lowercase, treatment)
        self.lang, self.types = lang, list(types)
        self._ids = {word: number for number, word in enumerate(types, start=NUM_SPECIAL_TOKENS)}

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the ids of each sentence; unknown words as `UNK_ID`."""
        check_texts("texts", texts)
        return [[self._ids.get(word, UNK_ID) for word in self.tokens(text)] for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Give the words of ids, joined by blanks; special ids are skipped."""
        known = check_token_ids(ids, self.vocab_size)
        return " ".join(self._shown[number] for number in known if number >= NUM_SPECIAL_TOKENS)

    def tokens(self, text: str) -> list[str]:
        """Give the words of a sentence, known or not, one per id of `encode`."""
        check_text("the text", text)
        return split_words(self.lang, self._treat(text), self.lowercase)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON."""
        names = ("lang", "lowercase", "treatment", "types")
        return {"kind": TokenizerKind.WORDS.value} | {name: getattr(self, name) for name in names}


@cache
def _spacy_rules(lang: str) -> Any:
    """Give spaCy's tokenizer of a language; imported late, because it takes seconds."""
    import spacy

    return spacy.blank(lang).tokenizer


def split_words(lang: str, text: str, lowercase: bool = False) -> list[str]:
    """Cut a sentence into words and marks, then lower-case them, as spaCy would not know "mr."."""
    check_text("the text", text)
    if lang not in LANGUAGES:
        raise unknown_name("language", lang, LANGUAGES)
    words = text.split() if lang == TREE else [token.text for token in _spacy_rules(lang)(text)]
    return [word.lower() for word in words] if lowercase else words


# --- learned from text ----------------------------------------------------------------------

Tokenizer = BPETokenizer | WordTokenizer


def train(
    config: DataConfig, src: Sequence[str], tgt: Sequence[str]
) -> tuple[Tokenizer, Tokenizer]:
    """Learn the source's and the target's tokenizer from the training text (§5.1).

    With `joint_vocabulary` both have the same ids; each treats and cuts text by its language's
    rules. A UserError where no word is seen `min_frequency` times.
    """
    sides = [
        (lang, [*map(TREATMENTS[BY_LANGUAGE.get(lang, PLAIN)], texts)])
        for lang, texts in ((config.src_lang, src), (config.tgt_lang, tgt))
    ]
    if config.joint_vocabulary:
        types = [_learn(config, sides, config.vocab_size)] * 2
    else:
        sizes = config.src_vocab_size or config.vocab_size, config.vocab_size
        types = [_learn(config, [side], size) for side, size in zip(sides, sizes, strict=True)]
    return _make(config, config.src_lang, types[0]), _make(config, config.tgt_lang, types[1])


def _make(config: DataConfig, lang: str, types: list[Any]) -> Tokenizer:
    treatment = BY_LANGUAGE.get(lang, PLAIN)
    if config.tokenizer == TokenizerKind.BPE:
        return BPETokenizer(types, config.lowercase, treatment)
    return WordTokenizer(lang, types, config.lowercase, treatment)


def _learn(config: DataConfig, sides: Sequence[tuple[str, list[str]]], size: int) -> list[Any]:
    """Give the merges or the words of all treated text that shares a vocabulary."""
    if config.tokenizer == TokenizerKind.BPE:
        return _learn_merges(config, [text for _, texts in sides for text in texts], size)
    counts: Counter[str] = Counter()
    for lang, texts in sides:
        for text in texts:
            counts.update(split_words(lang, text, config.lowercase))
    kept = [word for word, count in counts.items() if count >= config.min_frequency]
    if not kept:
        message = f"no word is seen min_frequency = {config.min_frequency} times"
        raise UserError(f"{message}: give more text or a smaller min_frequency")
    return sorted(kept, key=lambda word: (-counts[word], word))[: size - NUM_SPECIAL_TOKENS]


def _learn_merges(config: DataConfig, texts: list[str], size: int) -> list[tuple[str, str]]:
    """Learn the merges of treated text, the most frequent pair first (§5.1)."""
    learner = Library(BPE())
    learner.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(
        vocab_size=size - NUM_SPECIAL_TOKENS,
        min_frequency=config.min_frequency,
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    learner.train_from_iterator((_prepare(text, config.lowercase) for text in texts), trainer)
    return [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]


def load(path: Path) -> Tokenizer:
    """Read a tokenizer from a JSON file of its `to_dict`."""
    values = read_json(path)
    if TokenizerKind(values.pop("kind")) == TokenizerKind.WORDS:
        return WordTokenizer(**values)
    values["merges"] = [(left, right) for left, right in map(str.split, values["merges"])]
    return BPETokenizer(**values)
