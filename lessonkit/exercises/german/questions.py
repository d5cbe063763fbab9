"""What lesson 07 asks at its start, about lessons 06 and 05."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall

recall = Recall(
    "07",
    Choose(
        "Greedy search writes a sentence with a total of -5.2 nats; the reference has -2.9. Whose "
        "mistake is it?",
        Place("06", "Whose mistake is it?"),
        (
            Option(
                "The search's: the model prefers the reference.",
                "It was there to be found, and greedy missed it.",
                is_right=True,
            ),
            Option(
                "The model's: it gives the wrong sentence the better total.",
                "-2.9 is the better of the two, and it is the reference's.",
            ),
            Option(
                "Nobody can tell without a wide beam.",
                "Comparing with the reference is enough for this.",
            ),
        ),
    ),
    Choose(
        "What does the length penalty of the paper do, with alpha = 0.6?",
        Place("06", "The length penalty"),
        (
            Option(
                "It takes something off for each further token.",
                "The other way round: without it, long sentences are at a disadvantage.",
            ),
            Option(
                "It ends a translation 50 tokens past its source.",
                "That is the limit on the length, another rule.",
            ),
            Option(
                "It divides the total by more, the longer the sentence.",
                "The total is negative, so that long sentences gain.",
                is_right=True,
            ),
        ),
    ),
    Choose(
        "Label smoothing of 0.1 makes perplexity worse. Why does anybody use it?",
        Place("05", "Label smoothing"),
        (
            Option(
                "It makes the loss smaller.",
                "The loss cannot reach 0 with it: being too sure is punished.",
            ),
            Option(
                "It makes the translations better.",
                "The model is less sure, and BLEU rises: the two ask different things.",
                is_right=True,
            ),
            Option(
                "It makes an epoch faster.",
                "An epoch takes as long as before; only the target differs.",
            ),
        ),
    ),
)
