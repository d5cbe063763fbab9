"""Text to numbers and back: words by spaCy's rules, or byte-pair encoding (§5.1); one interface.

Both kinds share the four special ids of `transformer.config` (0 to 3), give their own types the
ids from 4 on, and never make a special id other than "unknown" out of text.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from transformer.config import FIRST_ID, SPECIAL_TOKENS, UNK_ID, DataConfig, TokenizerKind
from transformer.data.bpe import BPETokenizer, learn_merges
from transformer.data.treatment import PLAIN, TREATMENTS, treatment_of
from transformer.support.errors import UserError, check_known, check_texts, unknown_name
from transformer.support.files import read_json, write_json

TREE = "tree"  # a tree of phrases in a line, whose tokens stand between blanks
LANGUAGES = ("de", "en", "fr", TREE)


class WordTokenizer:
    """Words and punctuation marks; a word outside the vocabulary becomes `UNK_ID`.

    Not in the paper: the plain alternative to §5.1. The words do not say where the blanks
    were, so `decode` joins them by single blanks: "a dog ." for "a dog.".

    Args:
        lang: "de", "en" or "fr", or "tree"; says whose rules cut the text.
        types: The vocabulary without special tokens; `types[i]` has the id 4 + i.
        lowercase: Lower-case each word (after cutting, so that spaCy still knows "Mr.").
        treatment: How text is written before it is cut: a name in `TREATMENTS`.
    """

    def __init__(
        self, lang: str, types: Sequence[str], lowercase: bool = False, treatment: str = PLAIN
    ) -> None:
        self._treat = TREATMENTS[treatment]
        self.lang = lang
        self.types = list(types)
        self.lowercase = lowercase
        self.treatment = treatment
        self._shown = [*SPECIAL_TOKENS, *types]
        self._ids = {word: number for number, word in enumerate(types, start=FIRST_ID)}

    @property
    def vocab_size(self) -> int:
        """Number of ids, the four special ones included."""
        return len(self._shown)

    def encode(self, text: str) -> list[int]:
        """Give the ids of a sentence; unknown words as `UNK_ID`."""
        return [self._ids.get(word, UNK_ID) for word in self.tokens(text)]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Give what `encode` gives for each sentence."""
        check_texts("texts", texts)
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Give the words of ids, joined by blanks; special ids are skipped."""
        known = check_known(ids, self.vocab_size)
        return " ".join(self.pieces(number for number in known if number >= FIRST_ID))

    def tokens(self, text: str) -> list[str]:
        """Give the words of a sentence, known or not, one per id of `encode`."""
        check_texts("texts", [text])
        return split_words(self.lang, self._treat(text), self.lowercase)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Give one word per id; special ids too, as "<unk>"."""
        return [self._shown[number] for number in check_known(ids, self.vocab_size)]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON."""
        return {
            "kind": TokenizerKind.WORDS.value,
            "lang": self.lang,
            "lowercase": self.lowercase,
            "treatment": self.treatment,
            "types": self.types,
        }


Tokenizer = BPETokenizer | WordTokenizer


@cache
def _spacy_rules(lang: str) -> Any:
    """Give spaCy's tokenizer of a language; imported late, because it takes seconds."""
    import spacy

    return spacy.blank(lang).tokenizer


def split_words(lang: str, text: str, lowercase: bool = False) -> list[str]:
    """Cut a sentence into words and punctuation marks, then lower-case them. Not in the paper."""
    check_texts("texts", [lang, text])
    if lang not in LANGUAGES:
        raise unknown_name("language", lang, LANGUAGES)
    words = text.split() if lang == TREE else [token.text for token in _spacy_rules(lang)(text)]
    return [word.lower() for word in words] if lowercase else words


def train(
    config: DataConfig, src: Sequence[str], tgt: Sequence[str]
) -> tuple[Tokenizer, Tokenizer]:
    """Learn the source's and the target's tokenizer from the training text (§5.1).

    With `joint_vocabulary` both have the same ids; each treats and cuts text by its language's
    rules.

    Raises:
        UserError: no word is seen `min_frequency` times, or a text has a lone surrogate.
    """
    sides = [
        (lang, [*map(TREATMENTS[treatment_of(lang)], texts)])
        for lang, texts in ((config.src_lang, src), (config.tgt_lang, tgt))
    ]
    if config.joint_vocabulary:
        src_types = tgt_types = _learn(config, sides, config.vocab_size)
    else:
        src_types = _learn(config, sides[:1], config.src_vocab_size or config.vocab_size)
        tgt_types = _learn(config, sides[1:], config.vocab_size)
    return _make(config, config.src_lang, src_types), _make(config, config.tgt_lang, tgt_types)


def _learn(config: DataConfig, sides: Sequence[tuple[str, list[str]]], size: int) -> list[Any]:
    """Give the words, by frequency, or the merges, of all treated text that shares a vocabulary."""
    if config.tokenizer == TokenizerKind.BPE:
        return learn_merges(config, [text for _, texts in sides for text in texts], size)
    counts: Counter[str] = Counter()
    for lang, texts in sides:
        for text in texts:
            counts.update(split_words(lang, text, config.lowercase))
    kept = [word for word, count in counts.items() if count >= config.min_frequency]
    if not kept:
        raise UserError(
            f"no word is seen min_frequency = {config.min_frequency} times: "
            "give more text or a smaller min_frequency"
        )
    return sorted(kept, key=lambda word: (-counts[word], word))[: size - FIRST_ID]


def _make(config: DataConfig, lang: str, types: list[Any]) -> Tokenizer:
    treatment = treatment_of(lang)
    if config.tokenizer == TokenizerKind.BPE:
        return BPETokenizer(types, config.lowercase, treatment)
    return WordTokenizer(lang, types, config.lowercase, treatment)


def save(tokenizer: Tokenizer, path: Path) -> None:
    """Write a tokenizer as one JSON file; errors as of `write_json`."""
    write_json(path, tokenizer.to_dict())


def from_dict(values: Mapping[str, Any]) -> Tokenizer:
    """Make a tokenizer from what its `to_dict` gave."""
    arguments = dict(values)
    if TokenizerKind(arguments.pop("kind")) == TokenizerKind.WORDS:
        return WordTokenizer(**arguments)
    arguments["merges"] = [(left, right) for left, right in map(str.split, values["merges"])]
    return BPETokenizer(**arguments)


def load(path: Path) -> Tokenizer:
    """Read a tokenizer that `save` wrote."""
    return from_dict(read_json(path))
