"""Byte-pair encoding over bytes (§5.1), trained by Hugging Face's `tokenizers`.

The special ids are ours alone: the library's own ids start at 0 and are moved up
by four, so that no text can make it emit one.
"""

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from tokenizers import Tokenizer as Library
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from transformer.config import FIRST_ID, SPECIAL_TOKENS, DataConfig, TokenizerKind
from transformer.data.treatment import PLAIN, TREATMENTS
from transformer.support.errors import UserError, check_known, check_texts

# The library warns about its threads whenever a process forks; one is fast enough here.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


class BPETokenizer:
    """Pieces of words, down to single bytes, so that no text is unknown (§5.1).

    Byte b has the id 4 + b; then comes one type per merge. One blank is put before the text, so
    that a word has the same pieces at the start as inside, and `decode` takes one blank away.

    Args:
        merges: The learned pairs, in order; each byte is written as the letter that
            GPT-2's alphabet of bytes has for it ("Ġ" is the blank).
        lowercase: Lower-case the text once it is treated.
        treatment: How text is written first: a name in `TREATMENTS`.
    """

    def __init__(
        self, merges: Sequence[tuple[str, str]], lowercase: bool = False, treatment: str = PLAIN
    ) -> None:
        self._treat = TREATMENTS[treatment]
        vocabulary = dict(_BYTES)
        for left, right in merges:
            vocabulary.setdefault(left + right, len(vocabulary))
        self.merges = list(merges)
        self.vocabulary = vocabulary  # each piece but the special ones, numbered from 0
        self.lowercase = lowercase
        self.treatment = treatment
        pieces = [bytes(_BYTES[letter] for letter in piece) for piece in vocabulary]
        self._bytes = [b""] * FIRST_ID + pieces
        self._shown = [*SPECIAL_TOKENS, *map(_show, pieces)]
        self._library = Library(BPE(vocabulary, self.merges))
        self._library.pre_tokenizer = ByteLevel(add_prefix_space=False)

    @property
    def vocab_size(self) -> int:
        """Number of ids, the four special ones included."""
        return len(self._bytes)

    def encode(self, text: str) -> list[int]:
        """Give the ids of a sentence."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Give what `encode` gives for each sentence, in one call of the library."""
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
        """Give the pieces of a sentence: a blank as "▁", part of a letter as "<0xC3>"."""
        return self.pieces(self.encode(text))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Give one piece per id, as `tokens` does; special ids too, as "<eos>"."""
        return [self._shown[number] for number in check_known(ids, self.vocab_size)]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON."""
        return {
            "kind": TokenizerKind.BPE.value,
            "lowercase": self.lowercase,
            "treatment": self.treatment,
            "merges": [f"{left} {right}" for left, right in self.merges],
        }


def learn_merges(
    config: DataConfig, texts: Iterable[str], vocab_size: int
) -> list[tuple[str, str]]:
    """Learn the merges of treated text, the most frequent pair first (§5.1)."""
    learner = Library(BPE())
    learner.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(
        vocab_size=vocab_size - FIRST_ID,
        min_frequency=config.min_frequency,
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    learner.train_from_iterator((_prepare(text, config.lowercase) for text in texts), trainer)
    return [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]


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
