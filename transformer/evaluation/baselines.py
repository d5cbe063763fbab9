"""What a text's scores stand beside: those of translations that need no model.

Not in the paper. In some kinds of text most of a translation can be had by copying, or was seen in
training: a score means little without what these two have there.
"""

from collections.abc import Sequence
from typing import Any

from transformer.data.parallel import ParallelText
from transformer.evaluation.scores import bleu, chrf_plus_plus
from transformer.evaluation.translation_memory import translate_from_memory
from transformer.support.signatures import check_argument_types


@check_argument_types
def measure_baselines(
    text: ParallelText, train_text: ParallelText | None = None
) -> dict[str, dict[str, float] | None]:
    """Score what translates a text without a model.

    Returns:
        BLEU and chrF++, in points, of "copied_source": the sources as they are; and of
        "nearest_training_source": for each the translation of the training source that is most
        similar (see `translate_from_memory`), None without the training text.
    """
    nearest = None
    if train_text is not None:
        translations = translate_from_memory(train_text.src, train_text.tgt, text.src)
        nearest = _bleu_and_chrf(translations, text)
    return {"copied_source": _bleu_and_chrf(text.src, text), "nearest_training_source": nearest}


def _bleu_and_chrf(hypotheses: Sequence[str], text: ParallelText) -> dict[str, float]:
    """Return the scores of some translations of a text."""
    references = text.accepted_translations
    scored: dict[str, dict[str, Any]] = {
        "bleu": bleu(hypotheses, references, text.tgt_lang),
        "chrf++": chrf_plus_plus(hypotheses, references),
    }
    return {name: figures["score"] for name, figures in scored.items()}
