"""Word alignments read from cross-attention, and how wrong they are.

Not in the paper, whose appendix figures only show attention. The error rate is that of
Och and Ney (2003), https://aclanthology.org/J03-1002.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.config import BOS_ID
from transformer.data.batches import collate_sources
from transformer.data.parallel import WORD
from transformer.data.tokenizers import Tokenizer
from transformer.support.errors import UserError
from transformer.trained.translator import Translator

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
    src_ids, tgt_ids = translator.src_tokenizer.encode(src), translator.tgt_tokenizer.encode(tgt)
    src_words, src_parts = words_of(translator.src_tokenizer, src_ids)
    tgt_words, tgt_parts = words_of(translator.tgt_tokenizer, tgt_ids)
    sources = collate_sources([src_ids]).to(translator.device)
    tgt_in = torch.tensor([[BOS_ID, *tgt_ids]], device=translator.device)
    cross = translator.model.attention_maps(sources, tgt_in).cross[:, 0].cpu()
    rows = cross[:, :, 1:] if of_reader else cross[:, :, :-1]
    columns = torch.block_diag(src_parts / src_parts.sum(1, keepdim=True), torch.ones(1, 1))
    groups = tgt_parts / tgt_parts.sum(0)
    return WordAttention(src_words, tgt_words, groups.T @ rows @ columns)


def words_of(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[list[str], Tensor]:
    """Give the words of a sentence, and which of them each of its ids spells.

    Returns:
        The words, and (ids, words): 1 where the id is a piece of the word, else 0.
    """
    text = tokenizer.decode(ids)
    spans = [match.span() for match in re.finditer(WORD, text)]
    if not spans:
        raise UserError(f"{text!r} has no words to align: give a sentence")
    parts = torch.zeros(len(ids), len(spans))
    start = 0
    for index in range(len(ids)):
        end = len(tokenizer.decode(ids[: index + 1]))
        # From the first word that goes on after the piece's start to the one at its end.
        last = min(sum(word_end < end for _, word_end in spans), len(spans) - 1)
        first = min(sum(word_end <= start for _, word_end in spans), last)
        parts[index, first : last + 1] = 1
        start = end
    return [text[a:b] for a, b in spans], parts


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
