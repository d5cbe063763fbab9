"""A beam search that copies and sorts little: what `transformer.decoding.beam_search` finds.

Not in the paper. docs/decisions/fast-decoding.md says what each change is worth.
"""

from typing import Any

import torch
from torch import Tensor

from transformer.config import BOS_ID, PAD_ID
from transformer.decoding import EXTRA_LENGTH, EncoderDecoder, Hypothesis, start_beams
from transformer.masks import padding_mask
from transformer.model import DecoderCache

GROUP = 64  # types that are compared with each other first, when the best of all are looked for
FEW = 3  # rows in which it is as quick to look at every type


@torch.inference_mode()
def quick_search(
    model: EncoderDecoder,
    src: Tensor,
    *,
    beam_size: int,
    alpha: float,
    extra_length: int = EXTRA_LENGTH,
    max_len: int | None = None,
) -> list[list[Hypothesis]]:
    """Search as `beam_search` does, whose arguments, results and errors these are (§6.1)."""
    beams = everyone = start_beams(src, beam_size, alpha, extra_length, max_len)
    mask = padding_mask(src)
    memory = model.encode(src, mask).repeat_interleave(beam_size, dim=0)
    mask = mask.repeat_interleave(beam_size, dim=0)  # (sentences * beam_size, 1, 1, src_len)
    cache, number = model.new_cache(), 1 if beam_size == 1 else 2 * beam_size
    while beams:
        newest = [prefix[-1:] for beam in beams for prefix in beam.prefixes]
        tgt_in = torch.tensor(newest, device=src.device)  # (sentences * beam_size, 1)
        log_probs = model.decode(tgt_in, memory, mask, cache)[:, -1].float()
        torch.log_softmax(log_probs, dim=-1, out=log_probs)  # the cache of the processor has them
        log_probs[:, PAD_ID] = log_probs[:, BOS_ID] = -torch.inf
        scores = torch.tensor([beam.scores for beam in beams]).to(log_probs)
        by_sentence = log_probs.unflatten(0, (-1, beam_size))
        best, places = best_continuations(by_sentence, scores, number)
        origins = [
            beam.extend(likeliest, where, log_probs.shape[1])
            for beam, likeliest, where in zip(beams, best.tolist(), places.tolist(), strict=True)
        ]
        alive = [i for i, beam in enumerate(beams) if not beam.done]
        rows = [i * beam_size + origin for i in alive for origin in origins[i]]
        kept = torch.tensor(rows, dtype=torch.long, device=src.device)
        left = len(alive) < len(beams)
        _select(cache, kept, left)
        if left:
            memory, mask = memory[kept], mask[kept]
        beams = [beams[i] for i in alive]
    return [beam.best() for beam in everyone]


def _select(cache: Any, rows: Tensor, left: bool) -> None:
    """Keep rows of a cache; all prefixes of a sentence share its source's, until some have left."""
    if left or not isinstance(cache, DecoderCache):
        cache.select(rows)
        return
    for own, _ in cache.layers:
        own.select(rows)


def best_continuations(log_probs: Tensor, scores: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """Find the best ways to go on from each sentence's prefixes.

    The best lie in the groups of types that have the best maxima: it is much cheaper to find
    maxima than to sort.

    Args:
        log_probs: Of each prefix's next token, (sentences, prefixes, vocab_size).
        scores: What is added for each prefix, (sentences, prefixes).
        number: How many.

    Returns:
        Their scores, the best first, and where each stands: at prefix * vocab_size + id.
        (sentences, number) each.
    """
    sentences, prefixes, vocab_size = log_probs.shape
    groups, rest = divmod(vocab_size, GROUP)
    if groups <= number or sentences * prefixes <= FEW:
        totals = (scores[:, :, None] + log_probs).flatten(start_dim=1)
        best, found = totals.topk(number)
        return best, found
    device = log_probs.device
    maxima = log_probs[:, :, : vocab_size - rest].unflatten(2, (groups, GROUP)).amax(dim=3)
    best_groups = (scores[:, :, None] + maxima).flatten(start_dim=1).topk(number)[1]
    first = best_groups // groups * vocab_size + best_groups % groups * GROUP  # (sentences, number)
    places = (first[:, :, None] + torch.arange(GROUP, device=device)).flatten(start_dim=1)
    if rest:  # the types of the last group, which is not whole, are looked at one by one
        last = torch.arange(vocab_size - rest, vocab_size, device=device)
        last = (torch.arange(prefixes, device=device)[:, None] * vocab_size + last).flatten()
        places = torch.cat((places, last.expand(sentences, -1)), dim=1)
    totals = log_probs.flatten(start_dim=1).gather(1, places)
    best, found = (totals + scores.gather(1, places // vocab_size)).topk(number)
    return best, places.gather(1, found)
