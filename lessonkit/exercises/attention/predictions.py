"""Predictions of lesson 02: an empty query, lost gradients, a shut mask, and a map's story."""

from lessonkit.exercises.predict import Choice, Number

silent_query = Number(
    "silent_query",
    "A query of zeros asks for nothing in particular. The four values are 8, 40, 16 and 64. What "
    "does attention answer?",
    low=0,
    high=100,
    near=0.5,
    digits=1,
)

unscaled_gradient = Choice(
    "unscaled_gradient",
    "Leave out the division by the root, at $d_k = 1024$. What becomes of the gradients that "
    "reach 2,000 queries? `all small`: nearly every one is tiny. `unequal`: most are tiny and some "
    "are large. `all large`: nearly every one is larger than with the division.",
    options=("all small", "unequal", "all large"),
)

shut_query = Choice(
    "shut_query",
    "The values are 1, 2 and 6, and the query may look at none of them. Many programs write "
    "$-10^9$ for the masked scores, in place of $-\\infty$. What does attention answer then?",
    options=("0", "3", "6", "nan"),
)

demain_hidden = Number(
    "demain_hidden",
    "Test the story. With nothing hidden, the model gives *Tomorrow* a probability of 0.45. Hide "
    "*Demain* *before* the encoder, so that no place can have read it. How probable is "
    "*Tomorrow* now, from 0 to 1?",
    low=0,
    high=1,
    near=0.05,
    digits=2,
)
