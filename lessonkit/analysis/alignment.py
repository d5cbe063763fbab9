"""A model's attention between words; alignments read from it and from hiding; their errors.

Not in the paper, whose figures show tokens. The error rate is that of Och and Ney (2003),
https://aclanthology.org/J03-1002. Attention weights say where a head looks, not what it takes from
there. Hiding tells more: by how much does the log probability of the token said fall when the
decoder cannot see the source token (see `MaskedSource`)? No estimate, but what is lost.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from lessonkit.analysis.activations import require_transformer
from transformer.config import BOS_ID
from transformer.data.batches import collate_sources
from transformer.data.parallel import WORD_PATTERN
from transformer.data.tokenizers import Tokenizer
from transformer.masks import padding_mask
from transformer.model import AttentionMaps, Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

Links = frozenset[tuple[int, int]]  # (source word, target word), counted from 0


class SentencePair:
    """A sentence and its translation, which the model reads instead of writing its own.

    Attributes:
        src_words, tgt_words: As `words_of` finds them.
        src: Source ids with eos, (1, src_len).
        tgt_in: Target ids after bos, (1, tgt_len).
        of_src_words: What mixes src_len columns into those of words, (src_len, src_words + 1);
            a piece of several words is shared out equally, and the last column is "<eos>".
        of_tgt_words: What averages the rows of a word's pieces, (tgt_words, tgt_len - 1); row t
            says token t, so the last row, which says eos, is left out.
    """

    def __init__(self, translator: Translator, src: str, tgt: str) -> None:
        src_ids = translator.src_tokenizer.encode(src)
        tgt_ids = translator.tgt_tokenizer.encode(tgt)
        self.src_words, self._src_parts = words_of(translator.src_tokenizer, src_ids)
        self.tgt_words, tgt_parts = words_of(translator.tgt_tokenizer, tgt_ids)
        self.src = collate_sources([src_ids]).to(translator.device)
        self.tgt_in = torch.tensor([[BOS_ID, *tgt_ids]], device=translator.device)
        shares = self._src_parts / self._src_parts.sum(1, keepdim=True)
        self.of_src_words = torch.block_diag(shares, torch.ones(1, 1))
        self.of_tgt_words = (tgt_parts / tgt_parts.sum(0)).T
        self._model = translator.model

    @property
    def by_src_words(self) -> Tensor:
        """Give what averages the rows of a source word's pieces, (src_words, src_len - 1)."""
        return (self._src_parts / self._src_parts.sum(0)).T

    def maps(self) -> AttentionMaps:
        """Give the attention weights on the CPU, (num_layers, num_heads, q_len, k_len) each."""
        return AttentionMaps(
            *(each[:, 0].cpu() for each in self._model.attention_maps(self.src, self.tgt_in))
        )


def words_of(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[list[str], Tensor]:
    """Give a sentence's words, and (ids, words): 1 where an id is a piece of a word, else 0.

    A sentence without words is a UserError.
    """
    text = tokenizer.decode(ids)
    spans = [match.span() for match in re.finditer(WORD_PATTERN, text)]
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


class WordAttention(NamedTuple):
    """Cross-attention between words, where the model has pieces of words."""

    src_words: list[str]  # as `aligned_tokens` cuts them
    tgt_words: list[str]
    # Rows sum to 1, the last column is "<eos>":
    weights: Tensor  # (num_layers, num_heads, tgt_words, src_words + 1)


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
    cross = pair.maps().cross
    rows = cross[:, :, 1:] if of_reader else cross[:, :, :-1]
    weights = pair.of_tgt_words @ rows @ pair.of_src_words
    return WordAttention(pair.src_words, pair.tgt_words, weights)


def strongest_links(weights: Tensor) -> Links:
    """Link each target word to the source word it attends to most; to none if that is "<eos>".

    Weights are (tgt_words, src_words + 1), as in `WordAttention`.
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
    """
    if len(found) != len(gold):
        raise UserError(
            f"{len(found)} sentences have links and {len(gold)} gold links: give each both"
        )
    total = sum(map(len, found)) + sum(map(len, gold))
    if total == 0:
        raise UserError("no links at all: there is no error to measure")
    return 1 - 2 * sum(len(a & b) for a, b in zip(found, gold, strict=True)) / total


@torch.inference_mode()
def occlusion_shares(model: Transformer, src: Tensor, tgt_in: Tensor, said: Tensor) -> Tensor:
    """Measure what each token said loses when the decoder cannot see one source token.

    Source ids are (1, src_len); what the decoder reads, "<bos>" first, and what it says are
    (1, tgt_len). The loss is of a log probability; where it rises instead, there is none. Gives
    each one's share of its row's, (tgt_len, src_len); a row in which nothing is lost sums to 0.
    """
    src_mask, src_len = padding_mask(src), src.shape[1]
    memory = model.encode(src, src_mask)
    seen = ~torch.eye(src_len, dtype=torch.bool, device=src.device)[:, None, None]
    copies = memory.expand(src_len, -1, -1), seen & src_mask  # copy i sees all but place i
    chosen = said[..., None]  # (1, tgt_len, 1)
    whole = model.decode(tgt_in, memory, src_mask).log_softmax(-1).gather(-1, chosen)
    logits = model.decode(tgt_in.expand(src_len, -1), *copies).log_softmax(-1)
    without = logits.gather(-1, chosen.expand(src_len, -1, -1))
    lost = (whole - without)[..., 0].T.clamp(min=0)  # (tgt_len, src_len)
    return lost / lost.sum(-1, keepdim=True).clamp(min=torch.finfo(lost.dtype).tiny)


def word_occlusion(translator: Translator, src: str, tgt: str) -> WordAttention:
    """Measure what each word of a given translation loses with each word of its source hidden.

    Pieces are added and averaged as `word_attention` does; a word's rows are those that say it. The
    weights are (1, 1, tgt_words, src_words + 1), the last column "<eos>".
    """
    pair = SentencePair(translator, src, tgt)
    tgt_in, said = pair.tgt_in[:, :-1], pair.tgt_in[:, 1:]
    shares = occlusion_shares(require_transformer(translator), pair.src, tgt_in, said).cpu()
    weights = pair.of_tgt_words @ shares @ pair.of_src_words
    return WordAttention(pair.src_words, pair.tgt_words, weights[None, None])
