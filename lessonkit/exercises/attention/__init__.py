"""The exercises of lesson 02, in its order (§3.2). `Blocks` is its toy."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.attention.masks import decoder_mask, window_mask
from lessonkit.exercises.attention.scores import attention_in_blocks, multi_head, scaled_attention
from lessonkit.exercises.toys import Blocks

globals().update(asked(read_words("02")))  # recall and the predictions

__all__ = [
    "Blocks",
    "scaled_attention",
    "window_mask",
    "decoder_mask",
    "multi_head",
    "attention_in_blocks",
]
