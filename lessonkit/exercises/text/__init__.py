"""The exercises of lesson 01, in its order."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.text.batches import pad_and_shift, token_batches
from lessonkit.exercises.text.pieces import best_pair
from lessonkit.exercises.text.vocabularies import kept_types

globals().update(asked(read_words("01")))  # recall and the predictions

__all__ = ["kept_types", "best_pair", "pad_and_shift", "token_batches"]
