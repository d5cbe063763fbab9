"""The exercises of lesson 12, in its order. `Glimpse` and `Loss` are its toys."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.faults.ahead import ahead
from lessonkit.exercises.faults.cases import cases
from lessonkit.exercises.faults.floor import unigram
from lessonkit.exercises.faults.losses import loss_fault
from lessonkit.exercises.faults.toys import Glimpse, Loss

globals().update(asked(read_words("12")))  # recall and the predictions

__all__ = ["unigram", "ahead", "loss_fault", "Glimpse", "Loss", "cases"]
