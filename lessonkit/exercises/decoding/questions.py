"""What lesson 06 asks at its start, about lessons 05 and 04."""

from lessonkit.exercises.recall import Choose, Option, Place, Recall, Say

recall = Recall(
    "06",
    Choose(
        "What does the decoder read in training?",
        Place("05", "What the model is asked"),
        (
            Option(
                "What it has itself written so far.",
                "So it does when it translates. In training it would build on its own mistakes.",
            ),
            Option(
                "The right translation, one step behind what it is asked for.",
                "And the causal mask keeps every position from its own answer.",
                is_right=True,
            ),
            Option(
                "The right translation, each token at the very position that asks for it.",
                "Then it need only copy: the loss falls, and nothing is learnt.",
            ),
        ),
    ),
    Say(
        "A component of value 3 survives dropout with p = 0.5. What is its value then? (A number.)",
        Place("05", "Dropout"),
        answer=6,
        says="Divided by 1 - p, so that its mean over many draws stays 3.",
        otherwise="What stays is divided by 1 - p.",
        wrong={
            3: "Half of the draws give 0, so the mean would be 1.5: what stays has to grow.",
            1.5: "It is divided by 1 - p, not multiplied: what stays has to grow.",
            0: "That is what becomes of it when it is dropped.",
        },
    ),
    Choose(
        "Where does the paper put the layer norm?",
        Place("04", "Around every sub-layer: add, then normalise"),
        (
            Option(
                "In front of each sub-layer.",
                "That is pre-norm, which our recipes use; the paper's comes later.",
            ),
            Option(
                "On a sub-layer's output, before the sum.",
                "It is the sum that is normalised, what went in included.",
            ),
            Option(
                "After the sum of a sub-layer's input and output.",
                "Post-norm: the norm stands on the road of the residual sums.",
                is_right=True,
            ),
        ),
    ),
)
