"""Word alignments read from cross-attention, and how wrong they are.

Not in the paper, whose appendix figures only show attention. The error rate is that of
Och and Ney (2003), https://aclanthology.org/J03-1002.
"""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from lessonkit.analysis.pairs import Pair
from transformer.models.translator import Translator
from transformer.support.errors import UserError

Links = frozenset[tuple[int, int]]  # (source word, target word), counted from 0


class WordAttention(NamedTuple):
    """Cross-attention between words, where the model has pieces of words.

    Attributes:
        src_words, tgt_words: As `aligned_tokens` cuts them.
        weights: (num_layers, num_heads, tgt_words, src_words + 1); the last column is "<eos>".
            A row sums to 1.
    """

    src_words: list[str]
    tgt_words: list[str]
    weights: Tensor


def word_attention(
    translator: Translator, src: str, tgt: str, *, of_reader: bool = False
) -> WordAttention:
    """Measure what each word of a given translation attends to.

    The weights of a source word's pieces are added, those of a target word's averaged. A piece
    of several words, as "...", is a piece of each: they share its weight as a source equally.

    Args:
        translator: The model; it reads `tgt` instead of writing its own.
        src: A sentence.
        tgt: Its translation.
        of_reader: A row of the decoder reads one token and says the next. By default a word
            gets the rows that say it; with this, the rows that have just read it.

    Raises:
        UserError: a side has no words.
    """
    pair = Pair(translator, src, tgt)
    cross = pair.maps().cross
    rows = cross[:, :, 1:] if of_reader else cross[:, :, :-1]
    weights = pair.of_tgt_words @ rows @ pair.of_src_words
    return WordAttention(pair.src_words, pair.tgt_words, weights)


def strongest_links(weights: Tensor) -> Links:
    """Link each target word to the source word it attends to most; to none if that is "<eos>".

    Args:
        weights: (tgt_words, src_words + 1), as in `WordAttention`.
    """
    eos = weights.shape[-1] - 1
    chosen = weights.argmax(-1).tolist()
    return frozenset((src, tgt) for tgt, src in enumerate(chosen) if src != eos)


def diagonal_links(src_words: int, tgt_words: int) -> Links:
    """Link words by their place alone: what an alignment has to beat."""
    return frozenset((tgt * src_words // tgt_words, tgt) for tgt in range(tgt_words))


def alignment_error_rate(found: Sequence[Links], gold: Sequence[Links]) -> float:
    """Measure how far links are from the gold ones, over all sentences together.

    With every gold link sure, as in the embedded corpus, Och and Ney's rate is
    1 - 2 |found and gold| / (|found| + |gold|): 0 is perfect, 1 has no link right.

    Args:
        found: The links of each sentence.
        gold: What they should be.

    Raises:
        UserError: the numbers of sentences differ, or there are no links at all.
    """
    if len(found) != len(gold):
        raise UserError(
            f"{len(found)} sentences have links and {len(gold)} gold links: give each both"
        )
    total = sum(map(len, found)) + sum(map(len, gold))
    if total == 0:
        raise UserError("no links at all: there is no error to measure")
    return 1 - 2 * sum(len(a & b) for a, b in zip(found, gold, strict=True)) / total
