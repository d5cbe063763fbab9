"""What lesson 11 asks at its start, about lessons 10 and 09."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall

recall = Recall(
    "11",
    Choose(
        "Where length equals width, a recurrent layer and self-attention need about as many "
        "operations. Why is the recurrent one slower?",
        Place("10", "On this machine"),
        (
            Option(
                "Each of its steps waits for the one before.",
                "Many small products in a row, where attention needs two large ones.",
                is_right=True,
            ),
            Option(
                "It has more parameters to read.",
                "It is the number of steps in a row that costs time here, not their size.",
            ),
            Option(
                "The path between two words is longer in it.",
                "So it is, but that makes learning harder, not the computation slower.",
            ),
        ),
    ),
    Choose(
        "The LSTM without attention falls behind as sentences get longer. Why?",
        Place("10", "A sentence in one vector"),
        (
            Option(
                "It was trained for fewer steps.",
                "All three models had equally many steps of equally many tokens.",
            ),
            Option(
                "It cannot read more words than it has units.",
                "It reads any number; they all have to share the same few numbers.",
            ),
            Option(
                "Every sentence has to fit into one state of fixed size.",
                "A Transformer's memory grows with the sentence.",
                is_right=True,
            ),
        ),
    ),
    Choose(
        "Removing all the encoder's heads leaves the small model most of its BLEU. What is lost?",
        Place("09", "What is a head worth?"),
        (
            Option(
                "Nothing: these heads were superfluous.",
                "Of the articles' genders no more were right than a coin would guess.",
            ),
            Option(
                "What a word has to know of its neighbours.",
                "A gender that comes from the noun, say; the words themselves still pass.",
                is_right=True,
            ),
            Option(
                "The words themselves: the decoder reads an empty memory.",
                "Each word still reaches the decoder by the residual sum.",
            ),
        ),
    ),
)
