"""A step's batch in parts that fit: a share for each process, then no more than memory holds.

Not in the paper, whose step of 25,000 tokens (§5.1) eight GPUs shared (§5.2).
"""

from collections.abc import Callable

import torch

from transformer.config import PAD_ID
from transformer.data.batches import Batch
from transformer.support.errors import UserError, is_out_of_memory


def cut(batch: Batch, rank: int = 0, size: int = 1, most_tokens: int | None = None) -> list[Batch]:
    """Give process `rank` of `size` its part, every `size`-th sentence, in micro-batches.

    A process without a sentence gets one of padding alone, whose loss and gradient are 0.

    Args:
        batch: The same for every process: (batch, src_len), (batch, tgt_len).
        rank, size: Number of the process, from 0, and how many there are.
        most_tokens: Of a micro-batch on either side, padding included, or one sentence; None
            gives one micro-batch.
    """
    own = batch if size == 1 else _rows(batch, slice(rank, None, size))
    if len(own.src) == 0:
        one = _rows(batch, slice(0, 1))
        own = Batch(one.src, one.tgt_in, torch.full_like(one.tgt_out, PAD_ID))
    if most_tokens is None:
        return [own]
    at_once = max(1, most_tokens // max(own.src.size(1), own.tgt_in.size(1)))
    return [_rows(own, slice(i, i + at_once)) for i in range(0, len(own.src), at_once)]


def _rows(batch: Batch, rows: slice) -> Batch:
    """Give some sentences of a batch, as wide as it is."""
    return Batch(batch.src[rows], batch.tgt_in[rows], batch.tgt_out[rows])


def tokens_that_fit(most_tokens: int, attempt: Callable[[int], object]) -> int:
    """Give the most tokens of a micro-batch, of `most_tokens` and its halves, that memory holds.

    Args:
        most_tokens: Of a step's largest batch; tried first.
        attempt: Computes a loss and its gradient on so many tokens.

    Raises:
        UserError: not even the smallest part fits.
    """
    tokens = most_tokens
    while tokens >= 1:
        try:
            attempt(tokens)
            return tokens
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        tokens //= 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # what the attempt left behind
    raise UserError("the memory does not hold this model and one sentence: give a smaller model")
