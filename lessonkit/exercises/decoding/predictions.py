"""Predictions of lesson 06: whose mistakes, how far five scores lie apart, and chance."""

from lessonkit.exercises.predict import Choice, Number

greedy_to_blame = Number(
    "greedy_to_blame",
    "Of 200 sentences, greedy search gets 129 wrong. In how many of these does the model itself "
    "prefer the reference, so that the *search* is to blame?",
    low=0,
    high=129,
    near=12,
)

five_ways_apart = Number(
    "five_ways_apart",
    "One model, one test set, five ways of counting. How many points of BLEU lie between the "
    "lowest of the five and the highest, for the captions?",
    low=0,
    high=100,
    near=2,
    unit=" BLEU",
    digits=1,
)

six_points = Choice(
    "six_points",
    "On these 200 sentences a beam of 4 scores six points above greedy. Is that more than chance: "
    "does the 95% interval of the difference stay above 0?",
    options=("yes", "no"),
)
