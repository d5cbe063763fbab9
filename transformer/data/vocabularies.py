"""Vocabularies learned from the training text: the merges of byte-pair encoding (§5.1), or words.

All text comes here normalized. Words are not in the paper.
"""

import json
from collections import Counter
from collections.abc import Sequence

from tokenizers import Tokenizer as Library
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from transformer.config import NUM_SPECIAL_TOKENS, DataConfig
from transformer.data.byte_level import lowercase_and_add_blank
from transformer.data.pre_tokenizers import PRE_TOKENIZER_OF_NEW_VOCABULARIES, PRE_TOKENIZERS
from transformer.data.word_splitting import split_words
from transformer.support.errors import UserError
from transformer.support.progress import with_progress


def learn_merges(config: DataConfig, texts: list[str], vocab_size: int) -> list[tuple[str, str]]:
    """Learn the merges of a vocabulary, the most frequent pair first (§5.1)."""
    learner = Library(BPE())
    learner.pre_tokenizer = PRE_TOKENIZERS[PRE_TOKENIZER_OF_NEW_VOCABULARIES]
    trainer = BpeTrainer(
        vocab_size=vocab_size - NUM_SPECIAL_TOKENS,
        min_frequency=config.min_frequency,
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    learner.train_from_iterator(
        (
            lowercase_and_add_blank(text, config.lowercase)
            for text in with_progress(texts, "counting words for the vocabulary", "sentences")
        ),
        trainer,
    )
    return [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]


def learn_words(
    config: DataConfig, sides: Sequence[tuple[str, list[str]]], vocab_size: int
) -> list[str]:
    """Return the words of a vocabulary, the most frequent first, then by alphabet.

    Args:
        config: What to lower-case, and how often a word must be seen.
        sides: Each language with its text, which is cut by the rules of that language.
        vocab_size: With the special tokens, so that there are at most four words fewer.

    Raises:
        UserError: No word is seen `min_frequency` times.
    """
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
