"""Predictions of lesson 04: a road for gradients, the vocabulary's weight, and two mistakes."""

from lessonkit.exercises.predict import Choice, Number

lost_gradient = Number(
    "lost_gradient",
    "Stack 24 small networks without residual sums. The gradient at the lowest is smaller than at "
    "the highest, by some power of ten: 1 for ten times, 2 for a hundred times, and so on. Which?",
    low=0,
    high=20,
    near=1.5,
    digits=1,
)

untied_size = Number(
    "untied_size",
    "With one matrix for both embeddings and the softmax, the base model has 63 million "
    "parameters. How many million would it have with three, for 37,000 types and 512 components?",
    low=0,
    high=500,
    near=3,
    unit=" million",
)

loud_mistake = Choice(
    "loud_mistake",
    "Which of the two mistakes does the first loss of a training show? `factor`: the factor left "
    "out. `rows`: rows of standard deviation 1, with the factor. `both`, or `neither`.",
    options=("factor", "rows", "both", "neither"),
)

seeds_helped = Number(
    "seeds_helped",
    "Post-norm is trained from four seeds, with warm-up and without. For how many of the four is "
    "the loss at the end lower *with* warm-up?",
    low=0,
    high=4,
    near=0,
)
