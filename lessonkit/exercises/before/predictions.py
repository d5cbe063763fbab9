"""Predictions of lesson 10: one state too few, equal operations, four faults, another reading."""

from lessonkit.exercises.predict import Choice, Number

falls_behind = Choice(
    "falls_behind",
    "At which source length, in words, is the LSTM without attention first more than ten BLEU "
    "below the Transformer?",
    options=("4 to 6", "7 to 9", "10 to 12", "13 to 15"),
)

equal_operations = Number(
    "equal_operations",
    "At $n = d = 64$ the table gives a self-attention and a recurrent layer equally many "
    "operations. How many times as long does the recurrent layer take on this machine?",
    low=0,
    high=50,
    near=2,
    digits=1,
)

all_four_faults = Number(
    "all_four_faults",
    "On the validation text, with a beam of 4, the sound network scores 31 BLEU and the LSTM with "
    "attention 27. What does the network trained with all four faults score?",
    low=0,
    high=40,
    near=2,
    unit=" BLEU",
    digits=1,
)

greedy_verdicts = Number(
    "greedy_verdicts",
    "By the paper's search, four of the five faulty networks are shown to be worse than the sound "
    "one. Read the same weights again, by greedy search: of how many of the five is it still "
    "shown?",
    low=0,
    high=5,
    near=0.5,
)
