"""What lesson 03 asks at its start, about lessons 02 and 01."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall, Say

recall = Recall(
    "03",
    Say(
        "The 64 components of a query and of a key are independent, with mean 0 and variance 1. "
        "What is the variance of their dot product? (A number.)",
        Place("02", "Why divide by the square root?"),
        answer=64,
        says="64 terms of variance 1; divided by 8, the root, it has variance 1 again.",
        otherwise="Each of the 64 terms has variance 1, and variances of independent terms add.",
        wrong={
            8: "That is the standard deviation, by which the scores are divided.",
            1: "That is what the division by the root brings it back to.",
            4096: "Each term has variance 1, and there are 64 of them.",
        },
    ),
    Choose(
        "Why are forbidden scores set to minus infinity, rather than their weights to 0 after the "
        "softmax?",
        Place("02", "The decoder must not look ahead: the causal mask"),
        (
            Option(
                "Both give the same output; setting the scores is merely faster.",
                "Set to 0 afterwards, a row no longer sums to 1.",
            ),
            Option(
                "After the softmax they have already taken their share.",
                "And so a later token would still change an earlier one.",
                is_right=True,
            ),
            Option(
                "A weight of 0 cannot be differentiated.",
                "It can, and minus infinity makes it 0 as well.",
            ),
        ),
    ),
    Choose(
        "What does a token budget do for batches that sorting by length does not?",
        Place("01", "How much is padding?"),
        (
            Option(
                "It leaves no padding at all.",
                "Some is left wherever lengths differ: it has a little more than sorting.",
            ),
            Option(
                "It cuts long sentences.",
                "None is cut: a batch of long ones has fewer rows.",
            ),
            Option(
                "It keeps all batches about equally large.",
                "Long sentences come in few rows, short ones in many.",
                is_right=True,
            ),
        ),
    ),
)
