"""Vocabularies learned from the training text: the merges of byte-pair encoding (§5.1), or words.

Words are not in the paper.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from tokenizers import Tokenizer as Library
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from transformer.config import NUM_SPECIAL_TOKENS, DataConfig
from transformer.data.fast_merges import learn_merges_from_counts
from transformer.data.normalizers import NORMALIZERS, normalizer_name_of_language
from transformer.data.pre_tokenizers import PRE_TOKENIZER_OF_NEW_VOCABULARIES, PRE_TOKENIZERS
from transformer.data.word_splitting import split_words
from transformer.support.checks import check_no_lone_surrogate
from transformer.support.errors import UserError
from transformer.support.progress import chunks_with_progress, with_progress

TEXTS_PER_CHUNK = 10_000  # whose words are counted at once
# How often a letter of a text stands for each one of its distinct words, at the least, where
# learning from counts is quicker.
MIN_REPETITIONS = 4


def learn_merges(
    config: DataConfig, word_counts: Mapping[str, int], vocab_size: int
) -> list[tuple[str, str]]:
    """Learn the merges of a vocabulary, the most frequent pair first (§5.1).

    `word_counts` says how often each word stands in the text, as `count_words` returns it.
    """
    pre_tokenizer = PRE_TOKENIZERS[PRE_TOKENIZER_OF_NEW_VOCABULARIES]
    unit_counts: Counter[str] = Counter()
    for word, count in with_progress(list(word_counts.items()), "cutting words", "words"):
        for unit, _ in pre_tokenizer.pre_tokenize_str(f" {word}"):
            unit_counts[unit] += count
    num_letters = sum(count * len(unit) for unit, count in unit_counts.items())
    if num_letters < MIN_REPETITIONS * sum(map(len, unit_counts)):
        return learn_merges_by_library(config, word_counts, vocab_size)
    return learn_merges_from_counts(
        unit_counts, ByteLevel.alphabet(), vocab_size - NUM_SPECIAL_TOKENS, config.min_frequency
    )


def learn_merges_by_library(
    config: DataConfig, word_counts: Mapping[str, int], vocab_size: int
) -> list[tuple[str, str]]:
    """Do what `learn_merges` does, by reading every word as often as it stands in the text.

    This is quicker where words hardly recur, as in scripts without blanks.
    """
    learner = Library(BPE())
    learner.pre_tokenizer = PRE_TOKENIZERS[PRE_TOKENIZER_OF_NEW_VOCABULARIES]
    trainer = BpeTrainer(
        vocab_size=vocab_size - NUM_SPECIAL_TOKENS,
        min_frequency=config.min_frequency,
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    counts = with_progress(list(word_counts.items()), "learning the vocabulary", "words")
    learner.train_from_iterator(
        (f" {word}" for word, count in counts for _ in range(count)), trainer
    )
    return [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]


def count_words(lang: str, texts: Sequence[str], lowercase: bool) -> Counter[str]:
    """Count what stands between blanks in a text, normalized by the rules of its language."""
    normalize = NORMALIZERS[normalizer_name_of_language(lang)]
    counts: Counter[str] = Counter()
    for chunk in chunks_with_progress(
        texts, TEXTS_PER_CHUNK, "counting words for the vocabulary", "sentences"
    ):
        check_no_lone_surrogate("".join(chunk))
        text = " ".join([normalize(text) for text in chunk])
        counts.update((text.lower() if lowercase else text).split(" "))
    return counts


def learn_words(
    config: DataConfig, sides: Sequence[tuple[str, Sequence[str]]], vocab_size: int
) -> list[str]:
    """Return the words of a vocabulary, the most frequent first, then by alphabet.

    Args:
        config: What to lower-case, and how often a word must be seen.
        sides: Each language with its text, which is normalized and cut by the rules of that
            language.
        vocab_size: With the special tokens, so that there are at most four words fewer.

    Raises:
        UserError: No word is seen `min_frequency` times.
    """
    counts: Counter[str] = Counter()
    for lang, texts in sides:
        normalize = NORMALIZERS[normalizer_name_of_language(lang)]
        for text in with_progress(texts, "counting words for the vocabulary", "sentences"):
            check_no_lone_surrogate(text)
            counts.update(split_words(lang, normalize(text), config.lowercase))
    frequent = [word for word, count in counts.items() if count >= config.min_frequency]
    if not frequent:
        message = f"no word is seen min_frequency = {config.min_frequency} times"
        raise UserError(f"{message}: give more text or a smaller min_frequency")
    by_frequency = sorted(frequent, key=lambda word: (-counts[word], word))
    return by_frequency[: vocab_size - NUM_SPECIAL_TOKENS]
