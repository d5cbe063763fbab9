"""Whether translations of a program's messages keep the placeholders, which it replaces.

Not in the paper. A message that lost its "%s" is of no use, however well it reads.
"""

from collections import Counter
from collections.abc import Sequence

from transformer.data.placeholders import find_placeholders
from transformer.evaluation.scores import check_hypotheses


def placeholder_sentence_accuracy(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, float] | None:
    """Return how many translations hold exactly the placeholders that they should, in any order.

    Those are the placeholders of the source or of a reference, each as often as it stands there.

    Returns:
        "sentences", those of which the source or a reference has placeholders, and "kept", the per
        cent of them that are right; None where there is no such sentence.
    """
    check_hypotheses(hypotheses, references)
    num_sentences = num_kept = 0
    for source, hypothesis, accepted in zip(sources, hypotheses, references, strict=True):
        right = [Counter(find_placeholders(text)) for text in (source, *accepted)]
        if any(right):
            num_sentences += 1
            num_kept += Counter(find_placeholders(hypothesis)) in right
    if num_sentences == 0:
        return None
    return {"sentences": num_sentences, "kept": round(100 * num_kept / num_sentences, 1)}
