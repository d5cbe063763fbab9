"""A beam search that copies and sorts little: what `transformer.decoding.beam_search` finds.

Not in the paper.
"""

import torch
from torch import Tensor

from engines.fast.network import FastTransformer, state_of
from transformer.config import BOS_ID, PAD_ID
from transformer.decoding import (
    EXTRA_LENGTH,
    EncoderDecoder,
    Hypothesis,
    beam_search,
    start_beams,
)
from transformer.masks import padding_mask
from transformer.model import Transformer

GROUP = 64  # types that are compared with each other first, when the best of all are looked for
FEW = 3  # rows in which it is as quick to look at every type


class Searcher:
    """Searches with the fast form of a model where it has one, made anew when it learns."""

    def __init__(self) -> None:
        self.fast: FastTransformer | None = None  # that the last search used
        self._made_of: list[tuple[int, int]] | None = None  # the state that `fast` was made of

    def search(
        self, model: EncoderDecoder, src: Tensor, *, beam_size: int, alpha: float, max_len: int
    ) -> list[list[Hypothesis]]:
        """Find what `beam_search` finds, whose arguments these are.

        A model with hooks or on a GPU is searched by it.
        """
        state = state_of(model)
        if state is None:
            self.fast = None
        elif self.fast is None or state != self._made_of:
            assert isinstance(model, Transformer)
            self.fast, self._made_of = FastTransformer(model), state
        if self.fast is None:
            return beam_search(model, src, beam_size=beam_size, alpha=alpha, max_len=max_len)
        return fast_beam_search(self.fast, src, beam_size=beam_size, alpha=alpha, max_len=max_len)


@torch.inference_mode()
def fast_beam_search(
    model: FastTransformer,
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
    cache = model.new_cache(model.encode(src, mask), mask, beam_size)
    number = 1 if beam_size == 1 else 2 * beam_size
    while beams:
        ids = torch.tensor([prefix[-1] for beam in beams for prefix in beam.prefixes])
        log_probs = model.step(ids, cache)  # logits, (batch, vocab_size)
        torch.log_softmax(log_probs, dim=-1, out=log_probs)  # the cache of the processor has them
        log_probs[:, PAD_ID] = log_probs[:, BOS_ID] = -torch.inf
        scores = torch.tensor([beam.scores for beam in beams])
        by_sentence = log_probs.unflatten(0, (-1, beam_size))
        best, places = best_continuations(by_sentence, scores, number)
        origins = [
            beam.extend(likeliest, where, log_probs.shape[1])
            for beam, likeliest, where in zip(beams, best.tolist(), places.tolist(), strict=True)
        ]
        alive = [i for i, beam in enumerate(beams) if not beam.done]
        alive = [alive[number] for number in stay_in_place(alive)]
        rows = []
        for i in alive:
            order = stay_in_place(origins[i])
            rows += [i * beam_size + origins[i][number] for number in order]
            beams[i].prefixes = [beams[i].prefixes[number] for number in order]
            beams[i].scores = [beams[i].scores[number] for number in order]
        if rows != list(range(len(ids))):
            cache.select(torch.tensor(rows, dtype=torch.long))
        beams = [beams[i] for i in alive]
    return [beam.best() for beam in everyone]


def stay_in_place(chosen: list[int]) -> list[int]:
    """Order chosen rows so that each stays in its own place if it can: only others are copied.

    One may be chosen more than once. Returns which of them, by number, comes to each place.
    """
    placed: dict[int, int] = {}
    others = []
    for number, row in enumerate(chosen):
        if row < len(chosen) and row not in placed:
            placed[row] = number
        else:
            others.append(number)
    return [placed[row] if row in placed else others.pop() for row in range(len(chosen))]


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
    maxima = log_probs[:, :, : vocab_size - rest].unflatten(2, (groups, GROUP)).amax(dim=3)
    best_groups = (scores[:, :, None] + maxima).flatten(start_dim=1).topk(number)[1]
    first = best_groups // groups * vocab_size + best_groups % groups * GROUP  # (sentences, number)
    places = (first[:, :, None] + torch.arange(GROUP)).flatten(start_dim=1)
    if rest:  # the types of the last group, which is not whole, are looked at one by one
        last = torch.arange(vocab_size - rest, vocab_size)
        last = (torch.arange(prefixes)[:, None] * vocab_size + last).flatten()
        places = torch.cat((places, last.expand(sentences, -1)), dim=1)
    totals = log_probs.flatten(start_dim=1).gather(1, places)
    best, found = (totals + scores.gather(1, places // vocab_size)).topk(number)
    return best, places.gather(1, found)
