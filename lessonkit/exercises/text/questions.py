"""What lesson 01 asks at its start, about lesson 00."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall, Say

recall = Recall(
    "01",
    Choose(
        "To translate a sentence by hand you called encode once and decode many times. Why is "
        "once enough for encode?",
        Place("00", "Build it: translate by hand"),
        (
            Option("After the first token the source is not needed.", "Every token needs it."),
            Option(
                "The source stays the same while the translation grows.",
                "So does the encoder's output, and every step reads it.",
                is_right=True,
            ),
            Option(
                "The decoder takes over the encoder's weights after the first step.",
                "It has its own; what it takes over is the encoder's output.",
            ),
        ),
    ),
    Say(
        "A model's loss is 0 nats. What is its perplexity? (A number.)",
        Place("00", "Train a Transformer"),
        answer=1,
        says="e to the power of 0: it hesitates between one token and no other.",
        otherwise="Perplexity is e to the power of the loss.",
        wrong={
            0: "That is the loss. Perplexity is e to its power, and no choice is among 0 tokens.",
            100: "It is no percentage: perplexity is e to the power of the loss.",
        },
    ),
    Choose(
        "La stayed probable with saleswoman hidden from the decoder, and was lost with it hidden "
        "before the encoder. What follows?",
        Place("00", "Test what you see"),
        (
            Option(
                "The encoder had carried the gender to another place.",
                "The decoder finds it at The, which no longer holds The alone.",
                is_right=True,
            ),
            Option(
                "The decoder has to look at the noun itself.",
                "Then hiding it from the decoder would have been enough to lose La.",
            ),
            Option(
                "The model opens nearly every sentence with La.",
                "Then hiding the noun before the encoder would have changed nothing.",
            ),
        ),
    ),
)
