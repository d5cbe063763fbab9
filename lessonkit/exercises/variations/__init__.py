"""The exercises of lesson 11, in its order."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.variations.chance import standard_error
from lessonkit.exercises.variations.trees import closing, shared

globals().update(asked(read_words("11")))  # recall and the predictions

__all__ = ["standard_error", "closing", "shared"]
