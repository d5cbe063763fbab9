"""The operations of a training step, from the model's shape and as PyTorch counts them (§5.2).

A multiplication and the addition that follows it are two. Only matrix products are counted: all
else (norms, softmax, dropout, Adam) does a few operations for each number, products do hundreds.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from transformer.config import ModelConfig
from transformer.support.signatures import check_argument_types

# The backward pass computes two gradients of each product, of its input and of its weights, which
# are products as large.
BACKWARD_PRODUCTS_PER_FORWARD_PRODUCT = 2


class ForwardFlops(NamedTuple):
    """Floating-point operations of a forward pass, by what they are for."""

    projections: int  # queries, keys, values and outputs of every attention
    attention: int  # scores, and values weighted by them: the only part without weights
    feed_forward: int  # the two layers of each feed-forward network
    output: int  # the logits, from the last layer's output


@check_argument_types
def forward_flops(
    model: ModelConfig, vocab_size: int, *, sentences: int, src_len: int, tgt_len: int
) -> ForwardFlops:
    """Count the operations of a forward pass over sentences of equal length.

    The vocabulary is the target's; lengths are in tokens, padding and marks included.
    """
    src, tgt = sentences * src_len, sentences * tgt_len
    keys, values = model.num_heads * model.key_size, model.num_heads * model.value_size
    two_projections = model.d_model * (keys + values)  # queries and outputs, or keys and values
    self_attention = 2 * two_projections * (src + tgt)  # in both stacks
    # Queries and outputs are made of the target, keys and values of the source.
    cross_attention = two_projections * (tgt + src)
    pairs = sentences * (src_len**2 + tgt_len**2 + tgt_len * src_len)
    layers = 2 * model.num_layers  # a multiplication and its addition are two
    return ForwardFlops(
        projections=layers * (self_attention + cross_attention),
        attention=layers * pairs * (keys + values),
        feed_forward=layers * 2 * model.d_model * model.d_ff * (src + tgt),
        output=2 * tgt * model.d_model * vocab_size,
    )


@check_argument_types
def training_step_flops(
    model: ModelConfig, vocab_size: int, *, sentences: int, src_len: int, tgt_len: int
) -> int:
    """Count the operations of a training step: those of `forward_flops`, twice as many backward."""
    lengths = {"sentences": sentences, "src_len": src_len, "tgt_len": tgt_len}
    return (1 + BACKWARD_PRODUCTS_PER_FORWARD_PRODUCT) * sum(
        forward_flops(model, vocab_size, **lengths)
    )


@check_argument_types
def count_flops_of_call(function: Callable[[], Any]) -> tuple[int, Any]:
    """Return the operations of a call's products as PyTorch counts them, and the call's result.

    Attention goes by its plain kernel meanwhile, because a CPU's fused one is not counted.
    """
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        result = function()
    return counter.get_total_flops(), result
