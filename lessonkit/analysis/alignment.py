"""A model's attention between words; alignments read from it and from occlusion; their errors.

Not in the paper, whose figures show tokens. The error rate is that of Och and Ney (2003),
https://aclanthology.org/J03-1002. Attention weights say where a head looks, not what it takes from
there. Occlusion tells more: by how much the log probability of a target token falls if the decoder
cannot see a source token (see `SourceMaskedModel`).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence, Set
from typing import NamedTuple

import torch
from torch import Tensor

from lessonkit.analysis.activations import transformer_of_translator
from transformer.config import BOS_ID, MAX_DIMENSION
from transformer.data.batches import collate_sources
from transformer.data.parallel import WORD_OR_MARK_PATTERN
from transformer.data.tokenizers import Tokenizer
from transformer.masks import padding_mask
from transformer.model import AttentionMaps, Transformer
from transformer.models.translator import Translator
from transformer.support.checks import check_number
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

AlignmentLinks = Set[tuple[int, int]]  # (source word, target word), counted from 0


class SentencePair:
    """A sentence and its translation, which the model reads instead of writing its own.

    Attributes:
        src_words, tgt_words: As `words_and_piece_membership` finds them.
        src: Source ids with eos, (1, src_len).
        tgt_in: Target ids after bos, (1, tgt_len).
        src_piece_shares: Matrix that adds up src_len columns to those of words,
            (src_len, src_words + 1); a piece of several words is shared out equally, and the last
            column is "<eos>".
        tgt_word_mean_matrix: Matrix that averages the rows of a word's pieces,
            (tgt_words, tgt_len - 1); row t says token t, so the last row, which says eos, is left
            out.
    """

    def __init__(self, translator: Translator, src: str, tgt: str) -> None:
        src_ids = translator.src_tokenizer.encode(src)
        tgt_ids = translator.tgt_tokenizer.encode(tgt)
        self.src_words, self._src_parts = words_and_piece_membership(
            translator.src_tokenizer, src_ids
        )
        self.tgt_words, tgt_parts = words_and_piece_membership(translator.tgt_tokenizer, tgt_ids)
        self.src = collate_sources([src_ids]).to(translator.device)
        self.tgt_in = torch.tensor([[BOS_ID, *tgt_ids]], device=translator.device)
        shares = self._src_parts / self._src_parts.sum(1, keepdim=True)
        self.src_piece_shares = torch.block_diag(shares, torch.ones(1, 1))
        self.tgt_word_mean_matrix = (tgt_parts / tgt_parts.sum(0)).T
        self._model = translator.model

    @property
    def src_word_mean_matrix(self) -> Tensor:
        """Matrix that averages the rows of a source word's pieces, (src_words, src_len - 1)."""
        return (self._src_parts / self._src_parts.sum(0)).T

    def attention_maps(self) -> AttentionMaps:
        """Return the attention weights on the CPU, (num_layers, num_heads, q_len, k_len) each."""
        maps = self._model.attention_maps(self.src, self.tgt_in)
        return AttentionMaps(
            encoder=maps.encoder[:, 0].cpu(),
            decoder=maps.decoder[:, 0].cpu(),
            cross=maps.cross[:, 0].cpu(),
        )


def words_and_piece_membership(
    tokenizer: Tokenizer, ids: Sequence[int]
) -> tuple[list[str], Tensor]:
    """Return a sentence's words, and (ids, words): 1 if an id is a piece of a word, else 0.

    A sentence without words is a UserError.
    """
    text = tokenizer.decode(ids)
    spans = [match.span() for match in re.finditer(WORD_OR_MARK_PATTERN, text)]
    if not spans:
        raise UserError(f"{text!r} has no words to align: give a sentence")
    word_ends = [end for _, end in spans]
    membership = torch.zeros(len(ids), len(spans))
    start = 0
    for index in range(len(ids)):
        end = len(tokenizer.decode(ids[: index + 1]))
        # From the first word that goes on after the piece's start to the one at its end.
        last = min(bisect_left(word_ends, end), len(spans) - 1)
        first = min(bisect_right(word_ends, start), last)
        membership[index, first : last + 1] = 1
        start = end
    return [text[begin:end] for begin, end in spans], membership


class WordAttention(NamedTuple):
    """Cross-attention between words, of a model that has pieces of words."""

    src_words: list[str]  # as `tokenize_for_alignment` cuts them
    tgt_words: list[str]
    # Rows sum to 1, the last column is "<eos>":
    weights: Tensor  # (num_layers, num_heads, tgt_words, src_words + 1)


@check_argument_types
def word_attention(
    translator: Translator, src: str, tgt: str, *, of_reader: bool = False
) -> WordAttention:
    """Measure what each word of a given translation attends to.

    The weights of a source word's pieces are added, those of a target word's averaged. A piece
    of several words, as "...", is a piece of each: they share its weight as a source equally. A row
    of the decoder reads one token and says the next: a word gets the rows that say it, or, with
    `of_reader`, the rows that have just read it.
    """
    pair = SentencePair(translator, src, tgt)
    cross = pair.attention_maps().cross
    rows = cross[:, :, 1:] if of_reader else cross[:, :, :-1]
    weights = pair.tgt_word_mean_matrix @ rows @ pair.src_piece_shares
    return WordAttention(pair.src_words, pair.tgt_words, weights)


def strongest_links(weights: Tensor) -> AlignmentLinks:
    """Return links from each target word to the source word that it attends to most.

    A word that attends to "<eos>" most has no link. Weights are (tgt_words, src_words + 1), as in
    `WordAttention`.
    """
    eos = weights.shape[-1] - 1
    chosen = weights.argmax(-1).tolist()
    return frozenset((src, tgt) for tgt, src in enumerate(chosen) if src != eos)


@check_argument_types
def diagonal_links(src_words: int, tgt_words: int) -> AlignmentLinks:
    """Return links by the words' positions alone: what an alignment has to beat."""
    check_number("src_words", src_words, 0, MAX_DIMENSION, integer=True)
    check_number("tgt_words", tgt_words, 0, MAX_DIMENSION, integer=True)
    return frozenset((tgt * src_words // tgt_words, tgt) for tgt in range(tgt_words))


@check_argument_types
def alignment_error_rate(links: Sequence[AlignmentLinks], gold: Sequence[AlignmentLinks]) -> float:
    """Return how far links are from the gold ones, over all sentences together.

    With every gold link sure, as in the embedded corpus, Och and Ney's rate is
    1 - 2 |links and gold| / (|links| + |gold|): 0 is perfect, 1 has no link right.
    """
    if len(links) != len(gold):
        raise UserError(
            f"{len(links)} sentences have links and {len(gold)} gold links: give each both"
        )
    total = sum(map(len, links)) + sum(map(len, gold))
    if total == 0:
        raise UserError("no links at all: there is no error to measure")
    right = sum(len(ours & theirs) for ours, theirs in zip(links, gold, strict=True))
    return 1 - 2 * right / total


@torch.inference_mode()
def occlusion_shares(model: Transformer, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
    """Return what each target token loses if the decoder cannot see one source token.

    The loss is of a log probability; if it rises instead, there is none.

    Args:
        model: It predicts `tgt_out`.
        src: Source ids, (1, src_len).
        tgt_in: What the decoder reads, "<bos>" first, (1, tgt_len).
        tgt_out: What it predicts, (1, tgt_len).

    Returns:
        Each source token's share of the row's losses, (tgt_len, src_len); a row in which nothing
        is lost sums to 0.
    """
    src_mask, src_len = padding_mask(src), src.shape[1]
    memory = model.encode(src, src_mask)
    # Copy i of the sentence sees all but position i.
    visible = ~torch.eye(src_len, dtype=torch.bool, device=src.device)[:, None, None]
    memories, masks = memory.expand(src_len, -1, -1), visible & src_mask
    targets = tgt_out[..., None]  # (1, tgt_len, 1)
    whole = model.decode(tgt_in, memory, src_mask).log_softmax(-1).gather(-1, targets)
    log_probs = model.decode(tgt_in.expand(src_len, -1), memories, masks).log_softmax(-1)
    occluded = log_probs.gather(-1, targets.expand(src_len, -1, -1))
    lost = (whole - occluded)[..., 0].T.clamp(min=0)  # (tgt_len, src_len)
    return lost / lost.sum(-1, keepdim=True).clamp(min=torch.finfo(lost.dtype).tiny)


def word_occlusion(translator: Translator, src: str, tgt: str) -> WordAttention:
    """Measure what each word of a translation loses with each word of its source hidden.

    Pieces are added and averaged as `word_attention` does; a word's rows are those that predict it.
    The weights are (1, 1, tgt_words, src_words + 1), the last column "<eos>".
    """
    pair = SentencePair(translator, src, tgt)
    tgt_in, tgt_out = pair.tgt_in[:, :-1], pair.tgt_in[:, 1:]
    shares = occlusion_shares(
        transformer_of_translator(translator), pair.src, tgt_in, tgt_out
    ).cpu()
    weights = pair.tgt_word_mean_matrix @ shares @ pair.src_piece_shares
    return WordAttention(pair.src_words, pair.tgt_words, weights[None, None])
