"""Predictions of lesson 01: the first merge, what a vocabulary misses, and what padding costs."""

from lessonkit.exercises.predict import Choice, Number

first_merge = Choice(
    "first_merge",
    "Learn merges from this text: *the singer sings the song and the ringer rings the ring then "
    "the singing singers bring the ringing rings*. Which pair of letters is joined first?",
    options=("i n", "n g", "r i", "t h"),
)

unknown_german = Number(
    "unknown_german",
    "Keep the 8,000 most frequent German words of 29,000 captions. What share of the words of "
    "*new* German captions is not among them, in percent?",
    low=0,
    high=100,
    near=2,
    unit="%",
    digits=1,
)

padding_random = Number(
    "padding_random",
    "Shuffle the sentences of the embedded corpus (4 to 16 words, about nine on average) and cut "
    "them into batches. What share of all positions is padding, in percent?",
    low=0,
    high=100,
    near=8,
    unit="%",
)
