"""Which positions may attend to which (§3.1, §3.2.3).

Every mask is boolean, True = may attend, and broadcasts to (batch, num_heads, q_len, k_len).
"""

import torch
from torch import Tensor

from transformer.config import MAX_DIMENSION, PAD_ID
from transformer.support.checks import MAX_COUNT, check_id_tensor, check_num_elements, check_number
from transformer.support.signatures import check_argument_types


def padding_mask(ids: Tensor, pad_id: int = PAD_ID) -> Tensor:
    """Return the mask that lets every query attend to real tokens only (§3.1).

    Args:
        ids: Token ids, (batch, k_len).
        pad_id: The id that fills a batch's shorter rows.

    Returns:
        (batch, 1, 1, k_len), False at padding.
    """
    check_id_tensor("ids", ids)
    check_number("pad_id", pad_id, -MAX_COUNT, MAX_COUNT, integer=True)
    return (ids != pad_id)[:, None, None, :]  # (batch, 1, 1, k_len)


@check_argument_types
def causal_mask(q_len: int, k_len: int | None = None, device: torch.device | None = None) -> Tensor:
    """Return the mask that lets each position attend to itself and to those before it (§3.2.3).

    Args:
        q_len: Number of queries.
        k_len: Number of keys; None means `q_len`. With more keys than queries, the queries are the
            last positions (decoding with a cache).
        device: Where to make it.

    Returns:
        (1, 1, q_len, k_len), True on and below the diagonal.
    """
    k_len = q_len if k_len is None else k_len
    check_number("k_len", k_len, 0, MAX_DIMENSION, integer=True)
    check_number("q_len", q_len, 0, k_len, integer=True)
    check_num_elements(q_len=q_len, k_len=k_len)
    mask = torch.ones(q_len, k_len, dtype=torch.bool, device=device)  # (q_len, k_len)
    return mask.tril(diagonal=k_len - q_len)[None, None]  # (1, 1, q_len, k_len)
