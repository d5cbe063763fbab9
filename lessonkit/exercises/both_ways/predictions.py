"""Predictions of lesson 08: another source, a judge deceived, a test read before, a word kept."""

from lessonkit.exercises.predict import Number

french_for_german = Number(
    "french_for_german",
    "From German, lesson 07's network scores 42 BLEU on these 1,000 captions. What does the same "
    "network score from French, against the same English references?",
    low=0,
    high=100,
    near=4,
    unit=" BLEU",
    digits=1,
)

swapped_judged = Number(
    "swapped_judged",
    "In right French, swap words 1 and 2, 3 and 4, and so on. True BLEU falls to 1. The judge "
    "gives the references themselves 93: what does it give this?",
    low=0,
    high=100,
    near=8,
    unit=" BLEU",
)

memory_random = Number(
    "memory_random",
    "Split the pairs of Tatoeba at random, as that course did. What does this memory score, which "
    "cannot translate at all?",
    low=0,
    high=100,
    near=8,
    unit=" BLEU",
)

everyday_negations = Number(
    "everyday_negations",
    "In lesson 07 `de-en` kept the negation in 9 of 24 pairs of captions. In how many of its 20 "
    "everyday pairs does `tatoeba-fr-en` keep it?",
    low=0,
    high=20,
    near=2,
)
