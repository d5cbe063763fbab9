"""Predictions of lesson 09: what cuts and patches show, and what the mean of the heads is worth."""

from lessonkit.exercises.predict import Choice, Number

exchanged_article = Number(
    "exchanged_article",
    "In the run of a sentence, the encoder's output at *The* is exchanged for that of the same "
    "sentence with a noun of the other gender. The decoder sees every place. Of 100 articles, how "
    "many become the other one?",
    low=0,
    high=100,
    near=10,
)

dull_head = Number(
    "dull_head",
    "Head 1.3 of the decoder gives most of its weight to the token just read. With all heads the "
    "model scores 96 BLEU. What does it score without this one (its mean output, beam 4)?",
    low=0,
    high=100,
    near=10,
    unit=" BLEU",
)

no_encoder_heads = Number(
    "no_encoder_heads",
    "Now take away *all eight* heads of the encoder: no English word can learn anything from its "
    "neighbours. How many of the 96 BLEU are left (by the mean, beam 4)?",
    low=0,
    high=100,
    near=8,
    unit=" BLEU",
)

mean_of_heads = Choice(
    "mean_of_heads",
    "Link each French word to the English word that the *mean* of all eight cross-attention heads "
    "looks at most. How good is that alignment: `above` the best single head, `between` the best "
    "and the worst, or `below` the worst?",
    options=("above", "between", "below"),
)
