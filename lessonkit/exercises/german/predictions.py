"""Predictions of lesson 07: where parameters are, what chance hides, two measures, a lost not."""

from lessonkit.exercises.predict import Choice, Number

three_tables = Number(
    "three_tables",
    "Three of its tables have a row for every word: the two embeddings and the layer before the "
    "softmax. What share of the 9.0 million parameters is in these three, in percent?",
    low=0,
    high=100,
    near=8,
    unit="%",
)

beyond_chance = Number(
    "beyond_chance",
    "Six ingredients are taken back, one at a time. In how many of the six runs does the score "
    "change by more than 2.1 points, the most that chance may do to two single runs?",
    low=0,
    high=6,
    near=0.5,
)

whole_words = Choice(
    "whole_words",
    "By BLEU, the model on whole words is the second worst of the seven. Where does it stand by "
    "perplexity?",
    options=("best", "in the middle", "worst"),
)

kept_negations = Number(
    "kept_negations",
    "Each of 24 pairs has a caption and its negation. For how many of these pairs does `de-en` "
    "*say* both sides right?",
    low=0,
    high=24,
    near=2,
)
