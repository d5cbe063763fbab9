"""What lesson 10 asks at its start, about lessons 09 and 08."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall

recall = Recall(
    "10",
    Choose(
        "A head gives most of its weight to the token just read. What is it worth?",
        Place("09", "What is a head worth?"),
        (
            Option(
                "Little: that token comes in by the residual sum anyway.",
                "So one would think; without such a head the model stuttered.",
            ),
            Option(
                "As much as its weights are sharp.",
                "Bright is not important: a map says where a head looks, no more.",
            ),
            Option(
                "Only removing it can tell.",
                "The dullest map of all was that of the head most needed.",
                is_right=True,
            ),
        ),
    ),
    Choose(
        "Why is a removed head also replaced by its mean output, and not only by zero?",
        Place("09", "What is a head worth?"),
        (
            Option(
                "The layers above are used to something there, and that is seldom 0.",
                "Part of what zero costs may be mere surprise.",
                is_right=True,
            ),
            Option(
                "The mean always costs less.",
                "Not always: one head cost 12 points by zero and over 30 by its mean.",
            ),
            Option(
                "With zeros the model cannot be run.",
                "It runs: the head then adds nothing.",
            ),
        ),
    ),
    Choose(
        "A second model is trained with the optimizer of the first. What does one see?",
        Place("08", "Mistake 1: the second model that never learns"),
        (
            Option(
                "An error: the parameters are not the optimizer's.",
                "No error is raised: the gradients are simply not used.",
            ),
            Option(
                "A loss that wobbles and does not fall.",
                "It looks alive because each batch differs; the weights never move.",
                is_right=True,
            ),
            Option(
                "A loss that falls more slowly.",
                "It does not fall at all: not one weight of the second model moves.",
            ),
        ),
    ),
)
