"""Predictions of lesson 00: the gender's way, and the score of a minute's training."""

from lessonkit.exercises.predict import Choice, Number

first_score = Number(
    "first_score",
    "The model has trained for a minute or two. What does it score on 1,000 sentences that it has "
    "never seen, in BLEU from 0 to 100? (The paper's best models score 28.4 and 41.8 on news.)",
    low=0,
    high=100,
    near=8,
    unit=" BLEU",
)

gender_moved = Choice(
    "gender_moved",
    "The model writes *La*, not *Le*, because *saleswoman* is feminine; so some part of the "
    "model has to read that word. From which part must it be hidden for *La* to become "
    "improbable? `decoder`: it is enough to hide it from the decoder. `encoder`: only when the "
    "encoder cannot see it either. `neither`: *La* stays in both cases.",
    options=("encoder", "decoder", "neither"),
)

articles_left = Number(
    "articles_left",
    "And over the whole test set? In 241 sentences the article needs the noun, and with nothing "
    "hidden all 241 are right. A coin would get 120. How many are right when the noun is hidden "
    "from the *decoder*?",
    low=0,
    high=241,
    near=20,
)
