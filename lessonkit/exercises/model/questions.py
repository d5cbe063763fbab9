"""What lesson 04 asks at its start, about lessons 03 and 02."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall

recall = Recall(
    "04",
    Choose(
        "One matrix turns the encoding of position 10 into that of 15. Which one turns that of 45 "
        "into that of 50?",
        Place("03", "A shift is a rotation"),
        (
            Option(
                "The same one.",
                "It turns each pair by an angle that depends on the distance alone.",
                is_right=True,
            ),
            Option(
                "Another one, for each position has its own.",
                "The position does not occur in the matrix, only the distance.",
            ),
            Option(
                "None: a sine is not linear.",
                "Not in its angle; but sine and cosine together are turned by a matrix.",
            ),
        ),
    ),
    Choose(
        "Trained up to length 6, the network with waves failed at length 12. Why?",
        Place("03", "An experiment: reverse, and then longer"),
        (
            Option(
                "It has no encoding for positions beyond 6.",
                "That would be a learned table; the waves are a formula for any position.",
            ),
            Option(
                "The waves repeat after about six positions.",
                "The fastest one does; all together do not.",
            ),
            Option(
                "The layers had not learnt what to do with those encodings.",
                "Nothing in training asked for it: to have an encoding is not to use it.",
                is_right=True,
            ),
        ),
    ),
    Choose(
        "What is gained by eight heads of 64 numbers over one head of 512?",
        Place("02", "Several heads"),
        (
            Option(
                "Fewer parameters.",
                "Exactly as many: each head is narrower by the factor by which there are more.",
            ),
            Option(
                "Weights of their own for each of several questions.",
                "One head would have to average them into a single row of weights.",
                is_right=True,
            ),
            Option(
                "Fewer multiplications, because each head is narrower than the model.",
                "As many; only the maps and the softmaxes grow in number.",
            ),
        ),
    ),
)
