"""The exercises of lesson 02, in its order. `Blocks` is its toy."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.attention.blocks import attention_in_blocks
from lessonkit.exercises.attention.dot_products import scaled_attention
from lessonkit.exercises.attention.heads import multi_head
from lessonkit.exercises.attention.masks import decoder_mask, window_mask
from lessonkit.exercises.toys import Blocks

globals().update(asked(read_words("02")))  # recall and the predictions

__all__ = [
    "scaled_attention",
    "window_mask",
    "decoder_mask",
    "multi_head",
    "attention_in_blocks",
    "Blocks",
]
