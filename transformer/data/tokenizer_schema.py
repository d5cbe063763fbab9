"""What a tokenizer's JSON file must hold: the form of `to_dict` of either kind."""

from collections.abc import Iterable
from typing import Any

from transformer.config import TokenizerKind
from transformer.support.checks import MAX_VOCAB_SIZE
from transformer.support.errors import short_repr

# Each key with its type; all must be there, but for those that earlier files do not have.
COMMON_KEYS = {"kind": str, "lowercase": bool, "normalizer": str}
KEYS_BY_KIND: dict[str, dict[str, type]] = {
    TokenizerKind.BPE: COMMON_KEYS | {"pre_tokenizer": str, "merges": list},
    TokenizerKind.WORDS: COMMON_KEYS | {"lang": str, "types": list},
}
KEYS_OF_LATER_FILES = {"normalizer", "pre_tokenizer"}


def tokenizer_problem(values: Any, byte_letters: Iterable[str]) -> str:
    """Return what keeps values from being those of a tokenizer, "" if nothing does.

    `byte_letters` are the pieces that byte-pair encoding begins with.
    """
    if not isinstance(values, dict) or values.get("kind") not in list(KEYS_BY_KIND):
        return f"it holds {short_repr(values)}"
    keys = KEYS_BY_KIND[values["kind"]]
    for key in sorted({*keys} ^ {*values}):
        if key not in keys:
            return f"it has {key}, which is unknown"
        if key not in KEYS_OF_LATER_FILES:
            return f"it has no {key}"
    for key, value in values.items():
        if type(value) is not keys[key]:
            return f"{key} is {short_repr(value)}"
    if values["kind"] == TokenizerKind.BPE:
        return _merges_problem(values["merges"], byte_letters)
    return _vocabulary_words_problem(values["types"])


def _merges_problem(merges: list[Any], byte_letters: Iterable[str]) -> str:
    """Check that each merge is of two pieces that bytes or earlier merges have made."""
    pieces = {*byte_letters}
    if len(merges) > MAX_VOCAB_SIZE:
        return f"it has {len(merges):,} merges"
    for merge in merges:
        pair = merge.split(" ") if isinstance(merge, str) else []
        if len(pair) != 2 or not pieces.issuperset(pair):
            return f"a merge is {short_repr(merge)}"
        pieces.add("".join(pair))
    return ""


def _vocabulary_words_problem(types: list[Any]) -> str:
    """Check that types are words, each of them once."""
    if len(types) > MAX_VOCAB_SIZE:
        return f"it has {len(types):,} types"
    for word in types:
        if not isinstance(word, str) or not word:
            return f"a type is {short_repr(word)}"
    if len({*types}) < len(types):
        return "a type stands in it twice"
    return ""
