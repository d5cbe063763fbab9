"""What may be wrong with a model without a label, and what would follow from it.

Not in the paper. The consequence is said to whoever names the wrong cause: it is an experiment
that separates that cause from the true one.
"""

NOTHING = "a"

CAUSES: dict[str, tuple[str, str]] = {
    NOTHING: (
        "nothing: the code is sound",
        "Then `diagnose(model).broken` would be empty. Is it?",
    ),
    "b": (
        "no causal mask: each position sees every later token",
        "Then a change of the last token of tgt_in would move the logits at position 0. Does it, "
        "with a target of seven tokens?",
    ),
    "c": (
        "the causal mask's diagonal is one too high",
        "Then a change of the token at position 1 would move the logits at position 0. Does it?",
    ),
    "d": (
        "the encoder looks at padding",
        "Then the memory, `model.encode(src)`, would change at the real places of a sentence when "
        "padding is appended. Does it?",
    ),
    "e": (
        "cross-attention looks at padding, the encoder does not",
        "Then the logits would change with padding after the source, while the memory at the real "
        "places stays. Is that so?",
    ),
    "f": (
        "self-attention returns its own input",
        "Then the memory at one place would not change with the source token at another. Exchange "
        "one, and look.",
    ),
    "g": (
        "positions are cut along the batch: all tokens of a sentence share one",
        "Then a sentence would have other logits in the second row of a batch than in the first, "
        "without any padding. Put it into both.",
    ),
    "h": (
        "the optimizer holds another model's weights",
        "Then no parameter would move in a `model.train_step`. Does none?",
    ),
    "i": (
        "gradients are never cleared",
        "Then the same step, made twice, would leave about twice the gradient in `.grad` the "
        "second time. Does it?",
    ),
    "j": (
        "padding counts in the loss",
        "Then `model.loss` would change when only the logits at padding change. Does it?",
    ),
    "k": (
        "beams leave their keys and values behind",
        "Then step by step the logits would be those of one pass, until two rows of the cache are "
        "exchanged. Does the law `cache` hold, and `cache_reordered` not?",
    ),
    "l": (
        "the cache keeps the newest token alone",
        "Then a prefix would have the same logits alone and inside a longer target, all in one "
        "pass, and others step by step. Does the law `cache` say so, and `no_future` not?",
    ),
    "m": (
        "the cache of one sentence is still there for the next",
        "Then the first sentence that a fresh model decodes would be right, and the second not. "
        "Is it so, with two sentences of one length?",
    ),
}
