"""What lesson 13 asks at its start, about lessons 12 and 11."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall

recall = Recall(
    "13",
    Choose(
        "A change to the training code makes it twice as fast, and the loss curve looks as it "
        "did. What shows that it still computes the same?",
        Place("12", "What scores show, and what they do not"),
        (
            Option(
                "The curve: a fault would make it rise.",
                "Six of the faulty models had the sound one's curve, or a better one.",
            ),
            Option(
                "A law: from equal weights and an equal batch both must give equal numbers.",
                "It takes seconds, and no seed can blur it.",
                is_right=True,
            ),
            Option(
                "BLEU within a point of what it was.",
                "Two faulty models were within a point too. One seed shows nothing there.",
            ),
        ),
    ),
    Choose(
        "Five runs each, and the interval of the difference is -0.4 to +0.3 BLEU. One point would "
        "be worth having. What may one say?",
        Place("11", "The table, scaled down"),
        (
            Option(
                "Nothing is shown, since 0 lies within.",
                "That is so of a wide interval. This one leaves no room for a whole point.",
            ),
            Option(
                "There is no difference worth having.",
                "The interval stays within one point either way.",
                is_right=True,
            ),
            Option(
                "The first is better, by 0.05.",
                "That is the middle of the interval, and 0 lies within.",
            ),
        ),
    ),
    Choose(
        "By the clock, a new version takes half the time. What must be run before one believes it?",
        Place("12", "Hunt the fault"),
        (
            Option(
                "The new version, with another seed.",
                "That says how much its own time varies, but not whether the clock is fair.",
            ),
            Option(
                "The new version, on a larger model.",
                "That is another comparison. This one still has no control.",
            ),
            Option(
                "The old version twice, as if one of them were the new.",
                "First change nothing: what the clock finds between equals is its error.",
                is_right=True,
            ),
        ),
    ),
)
