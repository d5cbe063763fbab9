"""What lesson 05 asks at its start, about lessons 04 and 03."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall

recall = Recall(
    "05",
    Choose(
        "Where in a layer does one position learn anything about another?",
        Place("04", "Each position for itself"),
        (
            Option(
                "In the feed-forward network.",
                "It treats each position alone: touch one, and no other moves.",
            ),
            Option(
                "In layer normalisation.",
                "Mean and variance are those of one position's components.",
            ),
            Option(
                "In attention, and nowhere else.",
                "Everything else treats each position for itself.",
                is_right=True,
            ),
        ),
    ),
    Choose(
        "With 1,000 types the first loss of a training is 75 nats. What is wrong?",
        Place("04", "One matrix, three uses"),
        (
            Option(
                "The logits are far too large.",
                "The model bets everything on one type before it has learnt anything.",
                is_right=True,
            ),
            Option(
                "Nothing: an untrained model knows nothing.",
                "Knowing nothing costs ln 1000, about 7 nats. This one is sure, and wrong.",
            ),
            Option(
                "The embeddings lack the factor, the root of d_model.",
                "That leaves the first loss near 7: the last norm hides it.",
            ),
        ),
    ),
    Choose(
        "An encoder without positions reads the dog bites the man, then the man bites the dog. "
        "What becomes of the vector of bites?",
        Place("03", "Attention does not see order"),
        (
            Option(
                "It differs, because its neighbours do.",
                "Attention averages over all words, and knows no neighbours.",
            ),
            Option(
                "It is the same in both.",
                "The same words are averaged with the same weights, in whatever order.",
                is_right=True,
            ),
            Option(
                "It differs, once the network has been trained.",
                "No training brings it back: the order is not in the input.",
            ),
        ),
    ),
)
