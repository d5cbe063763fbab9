"""What lesson 02 asks at its start, about lessons 01 and 00."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall, Say

recall = Recall(
    "02",
    Choose(
        "No word is unknown to byte-pair encoding. Why?",
        Place("01", "Byte-pair encoding"),
        (
            Option(
                "Its vocabulary holds every word of the language.",
                "No list does; this one has the size that you choose.",
            ),
            Option(
                "It puts the most similar known word in its place.",
                "Nothing is replaced: decoding gives the very text back.",
            ),
            Option(
                "What it has no piece for, it spells in smaller ones.",
                "At worst in single bytes, and all of these are in the vocabulary.",
                is_right=True,
            ),
        ),
    ),
    Say(
        "The target is La souris dort. At one position the decoder reads souris. Which word is it "
        "asked for there?",
        Place("01", "One rectangle for many sentences"),
        answer="dort",
        says="tgt_out is tgt_in moved one step to the left.",
        otherwise="tgt_out stands one step ahead of tgt_in: after souris comes dort.",
        wrong={
            "souris": "That is what it has just read, and would only have to copy.",
            "la": "That comes before: the decoder is asked for what follows.",
        },
    ),
    Choose(
        "A Transformer reads all positions of a sentence at once. What does it therefore need that "
        "a recurrent network does not?",
        Place("00", "What the paper claims"),
        (
            Option(
                "To be told where each token stands.",
                "A recurrent network reads in order; attention does not see any.",
                is_right=True,
            ),
            Option(
                "Sentences that all have the same number of tokens.",
                "Short ones are padded, for both kinds of network: that is the batch's business.",
            ),
            Option(
                "More steps, the longer the sentence.",
                "That is the recurrent network, whose positions wait for one another.",
            ),
        ),
    ),
)
