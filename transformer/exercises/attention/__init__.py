"""The exercises of lesson 02, in its order. `Blocks` is its toy."""

from transformer.exercises.attention.blocks import attention_in_blocks
from transformer.exercises.attention.dot_products import scaled_attention
from transformer.exercises.attention.heads import split_heads
from transformer.exercises.attention.masks import decoder_mask, window_mask
from transformer.exercises.toys import Blocks

__all__ = [
    "scaled_attention",
    "window_mask",
    "split_heads",
    "decoder_mask",
    "attention_in_blocks",
    "Blocks",
]
