"""A sentence and a given translation as a model reads them: ids, words, attention.

Not in the paper, whose figures show tokens.
"""

import re
from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.config import BOS_ID
from transformer.data.batches import collate_sources
from transformer.data.parallel import WORD
from transformer.data.tokenizers import Tokenizer
from transformer.model import AttentionMaps
from transformer.models.translator import Translator
from transformer.support.errors import UserError


class Pair:
    """A sentence and its translation, which the model reads instead of writing its own.

    Attributes:
        src_words, tgt_words: As `words_of` finds them.
        src: Source ids with eos, (1, src_len).
        tgt_in: Target ids after bos, (1, tgt_len).
        of_src_words: What mixes src_len columns into those of words, (src_len, src_words + 1);
            a piece of several words is shared out equally, and the last column is "<eos>".
        of_tgt_words: What averages the rows of a word's pieces, (tgt_words, tgt_len - 1); row t
            says token t, so the last row, which says eos, is left out.

    Raises:
        UserError: a side has no words.
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
    """Give the words of a sentence, and which of them each of its ids spells.

    Returns:
        The words, and (ids, words): 1 where the id is a piece of the word, else 0.

    Raises:
        UserError: there are no words.
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
