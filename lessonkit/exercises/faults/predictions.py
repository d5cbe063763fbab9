"""Predictions of lesson 12: which curve is sound, and what six symptoms come from."""

from lessonkit.exercises.predict import Choice, Number

sound_curve = Choice(
    "sound_curve",
    "Five of these six trainings have a fault in their code, and one is sound. Which one?",
    options=("A", "B", "C", "D", "E", "F"),
)

too_good = Choice(
    "too_good",
    "The loss of `other` falls far below its twin's, even on sentences that it was never trained "
    "on. Has the model learnt the training text by `heart`, is the text too `easy`, or does it see "
    "the `answer`?",
    options=("heart", "easy", "answer"),
)

where_it_breaks = Choice(
    "where_it_breaks",
    "The perplexity is good, and the translations are nonsense: is the fault in the `training`, in "
    "the `search`, or in the `tokenizer`?",
    options=("training", "search", "tokenizer"),
)

crowded = Number(
    "crowded",
    "One by one, 100 sentences score 95 BLEU. What do they score when all 100 are translated in a "
    "single batch?",
    low=0,
    high=100,
    near=4,
    unit=" BLEU",
)

never_moves = Choice(
    "never_moves",
    "The curve wobbles and does not fall. What differs from step to step: the `weights`, the "
    "`batches` alone, or `both`?",
    options=("weights", "batches", "both"),
)

perfect = Number(
    "perfect",
    "What does this scorer give the references themselves, sentence by sentence, which is to say a "
    "perfect translation?",
    low=0,
    high=100,
    near=3,
    unit=" BLEU",
)

changed = Number(
    "changed",
    "With the cache as it should be, 30 long sentences score 50 BLEU with a beam of 4, and with "
    "this one 49. How many of the 30 translations are different?",
    low=0,
    high=30,
    near=2,
)
