"""Text to numbers and back: byte-pair encoding (§5.1), or words by spaCy's rules; one interface.

Both kinds share the four special ids of `transformer.config` (0 to 3), give their own types the
ids from 4 on, and never make a special id other than "unknown" out of text.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Library
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from transformer.config import FIRST_ID, SPECIAL_TOKENS, UNK_ID, DataConfig, TokenizerKind
from transformer.data.parallel import BY_LANGUAGE, PLAIN, TREATMENTS
from transformer.support.errors import UserError, check_known, check_text, check_texts, unknown_name
from transformer.support.files import read_json

TREE = "tree"  # a tree of phrases in a line, whose tokens stand between blanks
LANGUAGES = ("de", "en", "fr", TREE)

# The library warns about its threads whenever a process forks; one is fast enough here.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


class _Shared:
    """What both kinds have in common.

    Args:
        shown: For a reader, each type but the special ones, from id 4 on.
        lowercase: Lower-case the text once it is treated.
        treatment: How text is written first: a name in `TREATMENTS`.
    """

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
        return [self._shown[number] for number in check_known(ids, self.vocab_size)]


# --- byte-pair encoding ---------------------------------------------------------------------


class BPETokenizer(_Shared):
    """Pieces of words, down to single bytes, so that no text is unknown (§5.1).

    Byte b has the id 4 + b; then comes one type per merge. One blank is put before the text, so
    that a word has the same pieces at the start as inside, and `decode` takes one blank away.
    The special ids are ours alone: those of Hugging Face's library, which does the work, start at
    0 and are moved up by four, so that no text can make it emit one.

    `merges` are the learned pairs, in order; each byte is written as the letter that GPT-2's
    alphabet of bytes has for it ("Ġ" is the blank). A blank is shown as "▁", part of a letter as
    "<0xC3>".
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
        self._bytes = [b""] * FIRST_ID + pieces
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
        return [[FIRST_ID + number for number in encoding.ids] for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        """Give the text of ids; special ids are skipped, broken UTF-8 becomes U+FFFD."""
        joined = b"".join(self._bytes[number] for number in check_known(ids, self.vocab_size))
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

    Not in the paper: the plain alternative to §5.1. The words do not say where the blanks
    were, so `decode` joins them by single blanks: "a dog ." for "a dog.".

    `lang` says whose rules cut the text ("de", "en" or "fr", or "tree"), `types` are the vocabulary
    without special tokens: `types[i]` has the id 4 + i.
    """

    def __init__(
        self, lang: str, types: Sequence[str], lowercase: bool = False, treatment: str = PLAIN
    ) -> None:
        super().__init__(types, lowercase, treatment)
        self.lang, self.types = lang, list(types)
        self._ids = {word: number for number, word in enumerate(types, start=FIRST_ID)}

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the ids of each sentence; unknown words as `UNK_ID`."""
        check_texts("texts", texts)
        return [[self._ids.get(word, UNK_ID) for word in self.tokens(text)] for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Give the words of ids, joined by blanks; special ids are skipped."""
        known = check_known(ids, self.vocab_size)
        return " ".join(self._shown[number] for number in known if number >= FIRST_ID)

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
Sides = Mapping[str, Sequence[str]]  # the treated text of each language that shares a vocabulary


def train(
    config: DataConfig, src: Sequence[str], tgt: Sequence[str]
) -> tuple[Tokenizer, Tokenizer]:
    """Learn the source's and the target's tokenizer from the training text (§5.1).

    With `joint_vocabulary` both have the same ids; each treats and cuts text by its language's
    rules. A UserError where no word is seen `min_frequency` times.
    """
    langs, size = (config.src_lang, config.tgt_lang), config.vocab_size
    treatments = [BY_LANGUAGE.get(lang, PLAIN) for lang in langs]
    texts = (
        [*map(TREATMENTS[name], side)] for name, side in zip(treatments, (src, tgt), strict=True)
    )
    sides = dict(zip(langs, texts, strict=True))
    bpe = config.tokenizer == TokenizerKind.BPE
    learn: Callable[[DataConfig, Sides, int], list[Any]] = _merges if bpe else _words
    if config.joint_vocabulary:
        types = [learn(config, sides, size)] * 2
    else:
        sizes = zip(langs, (config.src_vocab_size or size, size), strict=True)
        types = [learn(config, {lang: sides[lang]}, own) for lang, own in sizes]
    src_tokenizer, tgt_tokenizer = (
        BPETokenizer(own, config.lowercase, treatment)
        if bpe
        else WordTokenizer(lang, own, config.lowercase, treatment)
        for lang, own, treatment in zip(langs, types, treatments, strict=True)
    )
    return src_tokenizer, tgt_tokenizer


def _merges(config: DataConfig, sides: Sides, vocab_size: int) -> list[tuple[str, str]]:
    """Learn the merges, the most frequent pair first (§5.1)."""
    learner = Library(BPE())
    learner.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(
        vocab_size=vocab_size - FIRST_ID,
        min_frequency=config.min_frequency,
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = (_prepare(text, config.lowercase) for side in sides.values() for text in side)
    learner.train_from_iterator(texts, trainer)
    return [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]


def _words(config: DataConfig, sides: Sides, vocab_size: int) -> list[str]:
    """Give the words that are seen often enough, by frequency, then by alphabet."""
    counts: Counter[str] = Counter()
    for lang, texts in sides.items():
        for text in texts:
            counts.update(split_words(lang, text, config.lowercase))
    kept = [word for word, count in counts.items() if count >= config.min_frequency]
    if not kept:
        raise UserError(
            f"no word is seen min_frequency = {config.min_frequency} times: "
            "give more text or a smaller min_frequency"
        )
    return sorted(kept, key=lambda word: (-counts[word], word))[: vocab_size - FIRST_ID]


def from_dict(values: Mapping[str, Any]) -> Tokenizer:
    """Make a tokenizer from what its `to_dict` gave."""
    arguments = dict(values)
    if TokenizerKind(arguments.pop("kind")) == TokenizerKind.WORDS:
        return WordTokenizer(**arguments)
    arguments["merges"] = [(left, right) for left, right in map(str.split, values["merges"])]
    return BPETokenizer(**arguments)


def load(path: Path) -> Tokenizer:
    """Read a tokenizer from its JSON file."""
    return from_dict(read_json(path))
