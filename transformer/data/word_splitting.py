"""Text cut into words and punctuation marks, by spaCy's rules of its language.

Not in the paper, whose tokens are pieces of words (§5.1).
"""

import re
from functools import cache
from typing import Any

from transformer.support.checks import check_no_lone_surrogate
from transformer.support.errors import UserError, short_repr
from transformer.support.signatures import check_argument_types

TREE_LANGUAGE = "tree"  # a tree of phrases in a line, whose tokens stand between blanks


@check_argument_types
def split_words(lang: str, text: str, lowercase: bool = False) -> list[str]:
    """Cut a sentence into words and marks, then lower-case them, as spaCy would not know "mr.".

    `lang` is `TREE_LANGUAGE`, whose tokens stand between blanks, or a language that spaCy has rules
    for; another one is a UserError.
    """
    check_no_lone_surrogate(text)
    if lang == TREE_LANGUAGE:
        words = text.split()
    else:
        words = [token.text for token in _spacy_tokenizer(lang)(text)]
    return [word.lower() for word in words] if lowercase else words


@check_argument_types
def has_word_splitting_rules(lang: str) -> bool:
    """Return whether `split_words` can cut text of a language."""
    try:
        split_words(lang, "")
    except UserError:
        return False
    return True


def _spacy_tokenizer(lang: str) -> Any:
    """Return spaCy's tokenizer of a language; a UserError where it has none here."""
    try:
        if not re.fullmatch("[a-z]{2,3}", lang):
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
