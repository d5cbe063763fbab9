"""Predictions of lesson 05: how sure to be, four digits more, two curves, and an average."""

from lessonkit.exercises.predict import Choice, Number

how_sure = Number(
    "how_sure",
    "Ten types, label smoothing 0.1 over all of them. The loss of a token is lowest when the model "
    "gives the true type which probability, from 0 to 1?",
    low=0,
    high=1,
    near=0.015,
    digits=2,
)

twelve_digits = Number(
    "twelve_digits",
    "The copier has only ever seen eight digits, and copies eight new ones without a mistake. What "
    "share of sequences of *twelve* does it copy without a mistake, in percent?",
    low=0,
    high=100,
    near=5,
    unit="%",
)

lower_curve = Choice(
    "lower_curve",
    "Two curves: the loss on the training batches, and the loss on sentences that are held out. "
    "Which lies lower at the end?",
    options=("training", "held out"),
)

average_or_last = Choice(
    "average_or_last",
    "The paper averages the last checkpoints. This run kept six, one every 50 steps. Which "
    "has the better perplexity on held-out text: the mean of the six, or the last one alone?",
    options=("mean", "last"),
)
