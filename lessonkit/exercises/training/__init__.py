"""The exercises of lesson 05, in its order. `Parrot` is its toy."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.toys import Parrot
from lessonkit.exercises.training.accumulation import accumulated_gradient
from lessonkit.exercises.training.adam import adam_step
from lessonkit.exercises.training.loop import train
from lessonkit.exercises.training.losses import smoothed_target
from lessonkit.exercises.training.schedule import warmup_rate

globals().update(asked(read_words("05")))  # recall and the predictions

__all__ = ["warmup_rate", "smoothed_target", "adam_step", "train", "accumulated_gradient", "Parrot"]
