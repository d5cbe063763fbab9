"""Text to numbers and back (§5.1): one interface for words and byte-pair encoding.

Both kinds share the four special ids of `transformer.config` (0 to 3), give their
own types the ids from 4 on, and never make a special id other than "unknown" out of
text: a sentence that holds the letters "<eos>" is only letters.

Each first treats the text as its language has it (`transformer.data.treatment`), in training
and ever after, so that what a user types is written as the training text was.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformer.config import DataConfig, TokenizerKind
from transformer.data.bpe import BPETokenizer, learn_merges
from transformer.data.treatment import find_treatment, treatment_of
from transformer.data.words import WordTokenizer, check_text, learn_types
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json

__all__ = ["Tokenizer", "BPETokenizer", "WordTokenizer", "train", "save", "load", "from_dict"]


Tokenizer = BPETokenizer | WordTokenizer


def train(
    config: DataConfig, src: Sequence[str], tgt: Sequence[str]
) -> tuple[Tokenizer, Tokenizer]:
    """Learn the vocabulary of both sides from the training text (§5.1).

    With `joint_vocabulary` both sides have the same ids, and yet a tokenizer each, because
    each language is treated, and into words cut, by its own rules.

    Returns:
        The source side's tokenizer and the target side's.

    Raises:
        UserError: no word is seen `min_frequency` times, or a text has a lone surrogate.
    """
    src_treatment, tgt_treatment = treatment_of(config.src_lang), treatment_of(config.tgt_lang)
    src = [find_treatment(src_treatment)(check_text(text)) for text in src]
    tgt = [find_treatment(tgt_treatment)(check_text(text)) for text in tgt]
    if config.tokenizer == TokenizerKind.WORDS:
        src_types, tgt_types = learn_types(config, src, tgt)
        return (
            WordTokenizer(config.src_lang, src_types, config.lowercase, src_treatment),
            WordTokenizer(config.tgt_lang, tgt_types, config.lowercase, tgt_treatment),
        )
    if config.joint_vocabulary:
        src_merges = tgt_merges = learn_merges(config, [*src, *tgt], config.vocab_size)
    else:
        src_merges = learn_merges(config, src, config.src_vocab_size or config.vocab_size)
        tgt_merges = learn_merges(config, tgt, config.vocab_size)
    return (
        BPETokenizer(src_merges, config.lowercase, src_treatment),
        BPETokenizer(tgt_merges, config.lowercase, tgt_treatment),
    )


def save(tokenizer: Tokenizer, path: Path) -> None:
    """Write a tokenizer as one JSON file; errors as of `write_json`."""
    write_json(path, tokenizer.to_dict())


def from_dict(values: dict[str, Any]) -> Tokenizer:
    """Make a tokenizer from what its `to_dict` gave."""
    kind = BPETokenizer if values["kind"] == TokenizerKind.BPE else WordTokenizer
    return kind.from_dict(values)


def load(path: Path) -> Tokenizer:
    """Read a tokenizer that `save` wrote.

    Raises:
        UserError: the file is missing, cut short, or not a tokenizer's.
    """
    values = read_json(path)
    try:
        return from_dict(values)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} is not a tokenizer's file, or is damaged ({error}): "
            "give the file that training wrote"
        ) from error
