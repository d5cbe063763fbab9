"""The beam search of `transformer.decoding`, copying and sorting less: same results, less time.

Not in the paper. docs/decisions/fast-decoding.md says what each change is worth.
"""

from typing import Any

import torch
from torch import Tensor

from transformer.config import BEAM_SIZE, BOS_ID, PAD_ID
from transformer.decoding import EncoderDecoder, Hypothesis, beam_search, make_empty_cache
from transformer.fast_decoder import FastDecoder, is_fast_decoder_right_for
from transformer.model import DecoderCache

VOCAB_GROUP_SIZE = 64  # types of a group
MAX_ROWS_FOR_PLAIN_TOPK = 3  # prefixes for which a plain top-k is as fast


@torch.inference_mode()
def fast_beam_search(model: EncoderDecoder, src: Tensor, **options: Any) -> list[list[Hypothesis]]:
    """Search as `beam_search` does, with the same options, results and errors (§6.1)."""
    fast: EncoderDecoder = _ModelWithSharedSourceCache(model)
    if options.get("use_cache", True) and is_fast_decoder_right_for(model):
        fast = FastDecoder(model, options.get("beam_size", BEAM_SIZE))
    return beam_search(fast, src, pick_continuations=fast_top_continuations, **options)


def fast_top_continuations(
    logits: Tensor, prefix_scores: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Pick what `decoding.top_continuations` picks; the logits are overwritten.

    The best continuations lie in the groups of types with the best maxima, and finding a maximum is
    much cheaper than sorting.
    """
    # The softmax is written over the logits, which are still in the processor's cache.
    log_probs = torch.log_softmax(logits, dim=-1, out=logits)
    log_probs[..., PAD_ID] = log_probs[..., BOS_ID] = -torch.inf
    sentences, beam_size, vocab_size = log_probs.shape
    groups, rest = divmod(vocab_size, VOCAB_GROUP_SIZE)
    if groups <= count or sentences * beam_size <= MAX_ROWS_FOR_PLAIN_TOPK:
        totals = (prefix_scores[:, :, None] + log_probs).flatten(start_dim=1)
        scores, indices = totals.max(dim=1, keepdim=True) if count == 1 else totals.topk(count)
        return scores, indices
    maxima = (
        log_probs[:, :, : vocab_size - rest].unflatten(2, (groups, VOCAB_GROUP_SIZE)).amax(dim=3)
    )
    best_groups = (prefix_scores[:, :, None] + maxima).flatten(start_dim=1).topk(count)[1]
    candidates = _all_types_in_groups(best_groups, groups, vocab_size)
    if rest:
        candidates = torch.cat((candidates, _ungrouped_token_indices(log_probs, rest)), dim=1)
    totals = log_probs.flatten(start_dim=1).gather(1, candidates)
    totals = totals + prefix_scores.gather(1, candidates // vocab_size)
    scores, positions = totals.topk(count)
    return scores, candidates.gather(1, positions)


def _all_types_in_groups(best_groups: Tensor, groups: int, vocab_size: int) -> Tensor:
    """Return the indices, prefix * vocab_size + id, of all types in the given groups.

    `best_groups` holds prefix * groups + group, (sentences, count); the result is
    (sentences, count * GROUP_SIZE).
    """
    first = best_groups // groups * vocab_size + best_groups % groups * VOCAB_GROUP_SIZE
    within = torch.arange(VOCAB_GROUP_SIZE, device=best_groups.device)
    return (first[:, :, None] + within).flatten(start_dim=1)


def _ungrouped_token_indices(log_probs: Tensor, rest: int) -> Tensor:
    """Return the indices of each prefix's last types, which fill no group: (sentences, ...)."""
    sentences, beam_size, vocab_size = log_probs.shape
    ids = torch.arange(vocab_size - rest, vocab_size, device=log_probs.device)
    prefixes = torch.arange(beam_size, device=log_probs.device)
    return (prefixes[:, None] * vocab_size + ids).flatten().expand(sentences, -1)


class _ModelWithSharedSourceCache:
    """A model whose cache copies no source's keys and values while no sentence leaves the batch."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model
        self.encode, self.decode = model.encode, model.decode

    def new_cache(self) -> Any:
        cache = make_empty_cache(self.model)
        return _CacheWithSharedSource(len(cache.layers)) if type(cache) is DecoderCache else cache


class _CacheWithSharedSource(DecoderCache):
    """A cache for beam search, in which the prefixes of a sentence share its source."""

    def select(self, rows: Tensor) -> None:
        """Keep, repeat or reorder rows of the batch, (new_batch,).

        As many rows as there were are those of the same sentences in the same order, so that what
        cross-attention made of the sources stays as it is.
        """
        batch_size = len(self.layers[0][0].tensors[0])
        if len(rows) < batch_size:
            super().select(rows)
            return
        for self_cache, _ in self.layers:
            self_cache.select(rows)
