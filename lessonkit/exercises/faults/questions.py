"""What lesson 12 asks at its start, about lessons 11 and 10."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall

recall = Recall(
    "12",
    Choose(
        "Three runs each, and the 95% interval of a difference is -1.2 to +2.2 BLEU. What may one "
        "say of the two variants?",
        Place("11", "The table, scaled down"),
        (
            Option(
                "They are equally good.",
                "For that the interval would have to stay within a difference worth having.",
            ),
            Option(
                "The one with the higher mean is better.",
                "The interval holds 0: chance alone could have done it.",
            ),
            Option(
                "That nothing is shown.",
                "Neither a difference nor its absence.",
                is_right=True,
            ),
        ),
    ),
    Choose(
        "The widest network came out far behind. What had that row of the table measured?",
        Place("11", "The row that fell"),
        (
            Option(
                "What width does to a model of this kind.",
                "At half the rate the wide network ended beside the base.",
            ),
            Option(
                "A learning rate that suits one width and not the other.",
                "One thing changed is not each at its best.",
                is_right=True,
            ),
            Option(
                "How little text there was.",
                "The text was the same; at half the rate it was enough.",
            ),
        ),
    ),
    Choose(
        "The homework's self-attention hands back its own input, and three more things are wrong. "
        "What does the loss do in training?",
        Place("10", "What the faults cost"),
        (
            Option(
                "It falls, to a level somewhat higher.",
                "Nothing in such a curve says that the code is wrong.",
                is_right=True,
            ),
            Option(
                "It stays at the level of a blind guess.",
                "It falls far below that: much can be learnt all the same.",
            ),
            Option(
                "It falls at first, and rises when the rate is at its highest.",
                "So the wide network's did, at too high a rate. Here the rate was not the fault.",
            ),
        ),
    ),
)
