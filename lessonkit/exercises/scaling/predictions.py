"""Predictions of lesson 13: what a step costs, where it goes, and who can share it."""

from lessonkit.exercises.predict import Choice, Number

both_passes = Number(
    "both_passes",
    "Count the operations that the forward pass spends on matrix products. How many times that "
    "number do the forward and backward passes need together?",
    low=1,
    high=10,
    near=0.2,
    digits=1,
)

p100_share = Number(
    "p100_share",
    "Footnote 5 reckons that a P100 sustains 9.5 TFLOPS. What share of that did the products of "
    "the base model need, at 0.4 seconds a step on eight of them?",
    low=0,
    high=200,
    near=8,
    unit="%",
)

time_in_products = Number(
    "time_in_products",
    "What share of a step's seconds does the processor spend in matrix products, with a model of "
    "width 128, in float32?",
    low=0,
    high=100,
    near=10,
    unit="%",
)

sixty_four = Number(
    "sixty_four",
    "A matrix of 4,096 rows and columns is multiplied by one vector, then by 64 vectors together. "
    "How many times as long do the 64 take?",
    low=1,
    high=64,
    near=5,
)

weights_moved = Number(
    "weights_moved",
    "Adam makes one step, at the rate that the base model has at step 100,000, and the weights "
    "are kept in bfloat16. What share of them changes at all?",
    low=0,
    high=100,
    near=10,
    unit="%",
)

products_in_sixteen = Choice(
    "products_in_sixteen",
    "Weights in float32, products in bfloat16, five seeds. Against float32 throughout, what does "
    "the interval of the difference in BLEU say: `higher`, `lower`, `no difference` (within one "
    "point either way), or `not shown`?",
    options=("higher", "lower", "no difference", "not shown"),
)

noisier = Choice(
    "noisier",
    "A model that was made a second ago, and one after 150 steps. For which does the gradient of "
    "a batch depend more on which sentences were drawn: the `new` one, the `trained` one, or is "
    "it the `same`?",
    options=("new", "trained", "same"),
)

losses_apart = Choice(
    "losses_apart",
    "Ten steps in one process, and the same ten shared by two. How far apart are the losses: not "
    "at all (`equal`), in the seventh digit or so (`rounding`), or so far that a table would show "
    "it (`visible`)?",
    options=("equal", "rounding", "visible"),
)

share_of_the_big = Choice(
    "share_of_the_big",
    "The big model has more than three times the base model's weights, and so more than three "
    "times the gradients to exchange. On the same GPUs and batches, is the share of exchange in "
    "its step `smaller`, about the `same`, or `larger`?",
    options=("smaller", "same", "larger"),
)
