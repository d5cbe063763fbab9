"""Words as tokens, cut by spaCy's rules. Not in the paper: the plain alternative to §5.1."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Self

from transformer.config import FIRST_ID, SPECIAL_TOKENS, UNK_ID, DataConfig, TokenizerKind
from transformer.data.treatment import PLAIN, find_treatment
from transformer.support.errors import UserError, unknown_name

TREE = "tree"  # a tree of phrases in a line, whose tokens stand between blanks
LANGUAGES = ("de", "en", "fr", TREE)


class WordTokenizer:
    """Words and punctuation marks; a word outside the vocabulary becomes `UNK_ID`.

    The words do not say where the blanks were, so `decode` joins them by single
    blanks: "a dog ." for "a dog.".

    Args:
        lang: "de", "en" or "fr", or "tree"; says whose rules cut the text.
        types: The vocabulary without special tokens; `types[i]` has the id 4 + i.
        lowercase: Lower-case each word (after cutting, so that spaCy still knows "Mr.").
        treatment: How text is written before it is cut: a name in `treatment.TREATMENTS`.

    Raises:
        UserError: the treatment is unknown.
    """

    def __init__(
        self, lang: str, types: Sequence[str], lowercase: bool = False, treatment: str = PLAIN
    ) -> None:
        self._treat = find_treatment(treatment)
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
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Give the words of ids, joined by blanks; special ids are skipped."""
        known = [number for number in check_ids(ids, self.vocab_size) if number >= FIRST_ID]
        return " ".join(self._shown[number] for number in known)

    def tokens(self, text: str) -> list[str]:
        """Give the words of a sentence, known or not, one per id of `encode`."""
        return split_words(self.lang, self._treat(check_text(text)), self.lowercase)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Give one word per id; special ids too, as "<unk>"."""
        return [self._shown[number] for number in check_ids(ids, self.vocab_size)]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON."""
        return {
            "kind": TokenizerKind.WORDS.value,
            "lang": self.lang,
            "lowercase": self.lowercase,
            "treatment": self.treatment,
            "types": self.types,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make a tokenizer from what `to_dict` gave."""
        return cls(values["lang"], values["types"], values["lowercase"], values["treatment"])


@cache
def _spacy_rules(lang: str) -> Any:
    """Give spaCy's tokenizer of a language; imported late, because it takes seconds."""
    import spacy

    return spacy.blank(lang).tokenizer


def split_words(lang: str, text: str, lowercase: bool = False) -> list[str]:
    """Cut a sentence into words and punctuation marks, then lower-case them. Not in the paper.

    Raises:
        UserError: the language is none of `LANGUAGES`.
    """
    if lang not in LANGUAGES:
        raise unknown_name("language", lang, LANGUAGES)
    words = text.split() if lang == TREE else [token.text for token in _spacy_rules(lang)(text)]
    return [word.lower() for word in words] if lowercase else words


def learn_types(
    config: DataConfig, src: Sequence[str], tgt: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Find the words of both sides' treated text; see `transformer.data.tokenizers.train`."""
    src_counts = _count(config.src_lang, src, config.lowercase)
    tgt_counts = _count(config.tgt_lang, tgt, config.lowercase)
    if config.joint_vocabulary:
        src_counts = tgt_counts = src_counts + tgt_counts
    src_size = config.src_vocab_size or config.vocab_size
    return _keep(src_counts, config, src_size), _keep(tgt_counts, config, config.vocab_size)


def _count(lang: str, texts: Iterable[str], lowercase: bool) -> Counter[str]:
    return Counter(word for text in texts for word in split_words(lang, text, lowercase))


def _keep(counts: Counter[str], config: DataConfig, size: int) -> list[str]:
    """Give the types to keep, the most frequent first, equals in alphabetical order."""
    kept = [word for word, count in counts.items() if count >= config.min_frequency]
    if not kept:
        raise UserError(
            f"no word is seen min_frequency = {config.min_frequency} times: "
            "give more text or a smaller min_frequency"
        )
    kept.sort(key=lambda word: (-counts[word], word))
    return kept[: size - FIRST_ID]


def check_text(text: str) -> str:
    """Give the text, if every letter of it is whole.

    Raises:
        UserError: it has half of a pair of UTF-16 (a lone surrogate).
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"{text[:40]!r} holds half a letter (a lone surrogate): read its file as UTF-8, "
            "without errors='surrogateescape'"
        ) from error
    return text


def check_ids(ids: Iterable[int], vocab_size: int) -> list[int]:
    """Give the ids as a list, if each has a type.

    Raises:
        UserError: an id is below 0, or not below `vocab_size`.
    """
    checked = list(ids)
    for number in checked:
        if not 0 <= number < vocab_size:
            raise UserError(
                f"id {number} is outside this vocabulary of {vocab_size} types (0 to "
                f"{vocab_size - 1}): use the tokenizer that the model was trained with"
            )
    return checked
