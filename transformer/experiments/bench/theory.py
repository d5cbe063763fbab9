"""How many multiplications a training step takes, by the sizes alone (§3, §4).

Not in the paper, but for the terms of its Table 1 that attention and position-wise layers share.
Only matrix products count; a test holds the sum to PyTorch's own counter.
"""

from transformer.config import ModelConfig

BACKWARD = 3  # a product forward, one for the gradient of each of its two factors


def step_multiplications(
    config: ModelConfig, batch: int, src_len: int, tgt_len: int, vocab_size: int
) -> int:
    """Count a step's multiplications, each with its addition, forward and backward.

    Args:
        config: The shape of the network.
        batch: Sentence pairs.
        src_len, tgt_len: Positions on either side, padding and end mark included.
        vocab_size: Types of the target.
    """
    src, tgt = batch * src_len, batch * tgt_len
    feed_forward = (src + tgt) * 2 * config.d_model * config.d_ff
    attended = (
        _attention(config, src, src, src_len)
        + _attention(config, tgt, tgt, tgt_len)
        + _attention(config, tgt, src, src_len)
    )
    output = tgt * config.d_model * vocab_size
    return BACKWARD * (config.num_layers * (feed_forward + attended) + output)


def _attention(config: ModelConfig, queries: int, memory: int, k_len: int) -> int:
    """Projections grow with the positions, scores and averages with their square."""
    heads, d_k, d_v = config.num_heads, config.key_size, config.value_size
    projections = config.d_model * heads * (queries * (d_k + d_v) + memory * (d_k + d_v))
    return projections + queries * k_len * heads * (d_k + d_v)
