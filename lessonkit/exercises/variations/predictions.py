"""Predictions of lesson 11: what three runs show, what a row measured, and what a slip costs."""

from lessonkit.exercises.predict import Number

seen_with_three = Number(
    "seen_with_three",
    "One variant *is* better than the other, by one point. A run deviates by one point, and there "
    "are three runs of each. In how many of 100 such tables does the difference of the means lie "
    "beyond two standard errors?",
    low=0,
    high=100,
    near=8,
)

rows_shown = Number(
    "rows_shown",
    "Seventeen rows are compared with the base, three runs of each. Of how many rows is it shown "
    "that they differ from the base, higher or lower?",
    low=0,
    high=17,
    near=1,
)

half_the_rate = Number(
    "half_the_rate",
    "Decoded greedily, the base scores 95 BLEU and the wide network 77. What does the wide network "
    "score when it is trained at half the rate?",
    low=0,
    high=100,
    near=3,
    unit=" BLEU",
)

one_slip = Number(
    "one_slip",
    "The right tree of *The small child is thanking the men.* has four phrases. A parser leaves "
    "out one token, the `JJ` of *small*, and writes all the rest right. Which F1 is left, from 0 "
    "to 100?",
    low=0,
    high=100,
    near=8,
)
