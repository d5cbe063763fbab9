"""What lesson 09 asks at its start, about lessons 08 and 07."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall

recall = Recall(
    "09",
    Choose(
        "English goes to French and back, and returns almost unchanged. What does that say of the "
        "French?",
        Place("08", "There and back again"),
        (
            Option(
                "That its meaning came through.",
                "Whether it is French is another matter: le femme comes back as the woman.",
                is_right=True,
            ),
            Option(
                "That it is correct.",
                "With every article masculine the mark was nearly the best.",
            ),
            Option(
                "That its words stand in the right order.",
                "With all neighbours swapped the judge took off only a few points.",
            ),
        ),
    ),
    Choose(
        "On a random split of Tatoeba a program that only remembers scores 49 BLEU. Why?",
        Place("08", "Mistake 2: a test set that has been read before"),
        (
            Option(
                "Short sentences always score high.",
                "With the test set kept apart the same program falls to 22.",
            ),
            Option(
                "The same pairs were drawn twice.",
                "The pairs differ: it is one of their two sentences that is the same.",
            ),
            Option(
                "Sentences with several translations lie on both sides.",
                "So the answer is in the training set, beside another French sentence.",
                is_right=True,
            ),
        ),
    ),
    Choose(
        "A recipe was trained from three seeds. Which score is the recipe's?",
        Place("07", "What the better recipe bought"),
        (
            Option(
                "The best of the three.",
                "The best of several is partly luck, and more so the more there are.",
            ),
            Option(
                "Their mean, with its interval.",
                "And three runs say so little of their spread that the interval is wide.",
                is_right=True,
            ),
            Option(
                "That of the run with the best test score.",
                "That is to choose by the test set, the best of the three by another name.",
            ),
        ),
    ),
)
