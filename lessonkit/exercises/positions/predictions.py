"""Predictions of lesson 03: room beside the waves, two that look alike, and past the end."""

from lessonkit.exercises.predict import Choice, Number

like_twenty = Choice(
    "like_twenty",
    "With `d_model` 4 there are only two pairs of waves. Which position has the larger dot product "
    "with position 20: its neighbour 21, or 64, far away?",
    options=("21", "64"),
)

directions = Number(
    "directions",
    "The encodings of positions 0 to 99 are a hundred different vectors of 512 components. How "
    "many of the 512 directions do they really need (to hold 99% of the table's squared size)?",
    low=1,
    high=512,
    near=15,
)

learned_share = Number(
    "learned_share",
    "Give the base model learned positions, one vector of 512 numbers for each of 256 positions. "
    "By what share does the whole model grow, in percent?",
    low=0,
    high=100,
    near=0.5,
    unit="%",
    digits=1,
)

twice_the_length = Number(
    "twice_the_length",
    "The network with sinusoidal positions learns to reverse up to 6 symbols, and gets nearly all "
    "of them right. What share of the symbols is right at length 12, in percent? (A blind guess: "
    "6%.)",
    low=0,
    high=100,
    near=8,
    unit="%",
)
