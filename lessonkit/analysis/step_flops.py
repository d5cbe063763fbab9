"""What a pass and a training step compute, in floating-point operations (§5.2, Table 2).

Counted from the model's shape, and counted by PyTorch while it works. A multiplication and the
addition that follows it are two operations. Only matrix products are counted: all else (norms,
softmax, dropout, Adam) does a few operations for each number, products do hundreds.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from transformer.config import ModelConfig
from transformer.support.errors import UserError

BACKWARD = 2  # a product's two gradients, of its input and of its weights, are products as large


class Flops(NamedTuple):
    """Floating-point operations of a forward pass, by what they are for.

    Attributes:
        projections: Queries, keys, values and outputs of every attention.
        attention: Scores, and values weighted by them: the only part without weights.
        feed_forward: The two layers of each feed-forward network.
        output: The logits, from the last layer's output.
    """

    projections: int
    attention: int
    feed_forward: int
    output: int


def forward_flops(
    model: ModelConfig, vocab_size: int, *, sentences: int, src_len: int, tgt_len: int
) -> Flops:
    """Count the operations of a forward pass over sentences of equal length.

    Args:
        model: The network's shape.
        vocab_size: Types of the target side.
        sentences: How many.
        src_len, tgt_len: Tokens of each, padding and marks included.

    Raises:
        UserError: a number is under 1.
    """
    sizes = {"vocab_size": vocab_size, "sentences": sentences}
    for name, value in (sizes | {"src_len": src_len, "tgt_len": tgt_len}).items():
        if value < 1:
            raise UserError(f"{name} is {value}: give 1 or more")
    src, tgt = sentences * src_len, sentences * tgt_len
    keys, values = model.num_heads * model.key_size, model.num_heads * model.value_size
    near = model.d_model * (keys + values)  # queries and outputs, or keys and values
    own = 2 * near * (src + tgt)  # self-attention in both stacks
    cross = near * (tgt + src)  # queries from the target, keys and values from the source
    pairs = sentences * (src_len**2 + tgt_len**2 + tgt_len * src_len)
    layers = 2 * model.num_layers  # a multiplication and its addition are two
    return Flops(
        projections=layers * (own + cross),
        attention=layers * pairs * (keys + values),
        feed_forward=layers * 2 * model.d_model * model.d_ff * (src + tgt),
        output=2 * tgt * model.d_model * vocab_size,
    )


def step_flops(
    model: ModelConfig, vocab_size: int, *, sentences: int, src_len: int, tgt_len: int
) -> int:
    """Count the operations of a training step: the forward pass, and twice as many backward.

    Args:
        model, vocab_size, sentences, src_len, tgt_len: As `forward_flops` has them.
    """
    lengths = {"sentences": sentences, "src_len": src_len, "tgt_len": tgt_len}
    return (1 + BACKWARD) * sum(forward_flops(model, vocab_size, **lengths))


def counted(work: Callable[[], Any]) -> tuple[int, Any]:
    """Count the operations of products as PyTorch makes them.

    Attention goes by its plain kernel meanwhile: the fused one of a CPU is not counted.

    Args:
        work: Called once.

    Returns:
        The count, and what `work` gives.
    """
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        result = work()
    return counter.get_total_flops(), result
