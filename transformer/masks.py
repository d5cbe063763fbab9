"""Which positions may attend to which (§3.1, §3.2.3).

Every mask is boolean, True = may attend, and broadcasts to (batch, num_heads, q_len, k_len).
"""

import torch
from torch import Tensor

from transformer.config import MAX_DIMENSION, PAD_ID
from transformer.support.checks import MAX_COUNT, check_id_tensor, check_number


def padding_mask(ids: Tensor, pad_id: int = PAD_ID) -> Tensor:
    """Let every query attend to the real tokens only, not to what fills a batch up.

    Of token ids (batch, k_len) it makes a boolean mask, (batch, 1, 1, k_len).
    """
    check_id_tensor("ids", ids)
    check_number("pad_id", pad_id, -MAX_COUNT, MAX_COUNT, integer=True)
    return (ids != pad_id)[:, None, None, :]  # (batch, 1, 1, k_len)


def causal_mask(q_len: int, k_len: int | None = None, device: torch.device | None = None) -> Tensor:
    """Let each position attend to itself and to those before it (§3.2.3).

    With more keys than queries, the queries are the last positions (decoding with a cache). `k_len`
    is `q_len` if None. The boolean mask, (1, 1, q_len, k_len), is True on and below the diagonal.
    """
    k_len = q_len if k_len is None else k_len
    check_number("k_len", k_len, 0, MAX_DIMENSION, integer=True)
    check_number("q_len", q_len, 0, k_len, integer=True)
    everything = torch.ones(q_len, k_len, dtype=torch.bool, device=device)  # (q_len, k_len)
    return everything.tril(diagonal=k_len - q_len)[None, None]  # (1, 1, q_len, k_len)


def decoder_mask(tgt_in: Tensor) -> Tensor:
    """Combine both, no future and no padding (§3.2.3): (batch, 1, tgt_len, tgt_len)."""
    return padding_mask(tgt_in) & causal_mask(tgt_in.shape[1], device=tgt_in.device)
