"""The exercises of lesson 13, in its order."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.scaling.noise import noise_scale
from lessonkit.exercises.scaling.rounding import bfloat16
from lessonkit.exercises.scaling.work import flops

globals().update(asked(read_words("13")))  # recall and the predictions

__all__ = ["bfloat16", "flops", "noise_scale"]
