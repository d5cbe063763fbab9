"""The exercises of lesson 05, in its order. `Parrot` is its toy."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.toys import Parrot
from lessonkit.exercises.training.formulas import adam_step, smoothed_target, warmup_rate
from lessonkit.exercises.training.steps import accumulated_gradient, train

globals().update(asked(read_words("05")))  # recall and the predictions

__all__ = ["Parrot", "warmup_rate", "smoothed_target", "adam_step", "train", "accumulated_gradient"]
