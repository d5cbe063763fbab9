"""What lesson 08 asks at its start, about lessons 07 and 06."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall

recall = Recall(
    "08",
    Choose(
        "Two models are trained by the same recipe from two seeds. What is the average of their "
        "weights?",
        Place("07", "Build it: the average of the last checkpoints"),
        (
            Option(
                "A better model than either.",
                "That holds, if at all, for checkpoints of a single run.",
            ),
            Option(
                "No model at all.",
                "Their heads and units stand in different orders.",
                is_right=True,
            ),
            Option(
                "A model that translates as both do on average.",
                "To average weights is not to average what they compute.",
            ),
        ),
    ),
    Choose(
        "The model on whole words had the best perplexity and nearly the worst BLEU. Why?",
        Place("07", "What each ingredient bought"),
        (
            Option(
                "Its rare words are all <unk>, easy to guess and never right.",
                "And its perplexity is per word, not per piece: they cannot be compared.",
                is_right=True,
            ),
            Option(
                "It has learnt its training text by heart.",
                "Its perplexity was measured on held-out text.",
            ),
            Option(
                "BLEU is unfair to whole words.",
                "All were scored on plain text, in the same way.",
            ),
        ),
    ),
    Choose(
        "The intervals of two systems' BLEU overlap, on one test set. What do you know?",
        Place("06", "Which of two systems is better?"),
        (
            Option(
                "That the two are equally good.",
                "Not shown to differ is not the same as equal.",
            ),
            Option(
                "That the higher one is better all the same, only less surely.",
                "Another draw of sentences might turn them round.",
            ),
            Option(
                "Nothing yet: the difference has an interval of its own.",
                "The same sentences were hard for both, so test the difference on them.",
                is_right=True,
            ),
        ),
    ),
)
