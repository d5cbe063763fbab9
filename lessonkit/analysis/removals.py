"""What a model's translations lose without each of its heads, in four readings.

Not in the paper; Michel et al. (2019), https://arxiv.org/abs/1905.10650, cut heads so.
`python -m experiments heads de-en de-en` writes the record that lesson 09 reads.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from lessonkit.analysis.heads import STACKS, all_heads
from lessonkit.analysis.interventions import heads_replaced, mean_outputs
from transformer.config import BEAM_SIZE
from transformer.data import corpora
from transformer.evaluation.compare import paired_bootstrap
from transformer.evaluation.scores import bleu, count_run_on
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support import machine
from transformer.support.errors import UserError
from transformer.support.files import write_json
from transformer.support.provenance import provenance

Figures = dict[str, float]

SENTENCES = 300  # of the validation text
MEANS_OVER = 200  # of those that follow, for the heads' mean outputs


def removal_scores(
    translator: Translator,
    sentences: Sequence[str],
    references: Sequence[str],
    others: Sequence[str],
) -> dict[str, Any]:
    """Score a model without each of its heads, and without each stack's.

    Args:
        translator: The model.
        sentences: Plain text.
        references: Their translations, one each.
        others: Sentences over which a head's mean output is taken.

    Returns:
        "whole", the figures with all heads; "zero" and "mean", by what stands in the removed
        heads' place, each with "heads" (by name: "cross 1.4") and "stacks" (all of a stack's
        heads removed). Figures, in points of BLEU: "greedy" and "beam" (of 4); "low", "high"
        and "p" of a paired bootstrap of the beam's translations against the whole model's.
        "greedy_runs_on" and "beam_runs_on" count the translations far too long (`count_run_on`).

    Raises:
        UserError: there are no sentences, or not as many references; the model is no
            Transformer.
    """
    model = translator.model
    if not isinstance(model, Transformer):
        raise UserError("a recurrent network has no heads to remove: give a Transformer")
    said, whole = _measure(translator, sentences, references)
    heads = all_heads(model)
    removed = {str(head): [head] for head in heads}
    removed |= {stack: [head for head in heads if head.stack == stack] for stack in STACKS}
    gold = [[reference] for reference in references]
    scores: dict[str, Any] = {"whole": whole}
    means = mean_outputs(translator, others)
    zeros = {head: torch.zeros_like(mean) for head, mean in means.items()}
    for way, outputs in (("zero", zeros), ("mean", means)):
        figures = {}
        for name, group in tqdm(removed.items(), desc=way, unit="removal"):
            with heads_replaced(model, {head: outputs[head] for head in group}):
                left, figures[name] = _measure(translator, sentences, references)
            compared = paired_bootstrap(said, left, gold)
            figures[name] |= {
                "low": round(compared.low, 2),
                "high": round(compared.high, 2),
                "p": round(compared.p_value, 4),
            }
        stacks = {stack: figures.pop(stack) for stack in STACKS}
        scores[way] = {"heads": figures, "stacks": stacks}
    return scores


def _measure(
    translator: Translator, sentences: Sequence[str], references: Sequence[str]
) -> tuple[list[str], Figures]:
    """Translate by beam and greedily; give the beam's translations, and the figures of both."""
    gold, figures = [[reference] for reference in references], {}
    for name, size in (("greedy", 1), ("beam", BEAM_SIZE)):
        said = translator.translate(sentences, beam_size=size)
        figures[name] = float(bleu(said, gold)["score"])
        figures[f"{name}_runs_on"] = count_run_on(said, gold)
    return said, figures


def record_removals(model: str, file: Path) -> None:
    """Measure a model without each of its heads on its validation text, and write the figures.

    Args:
        model: A model folder, or the name of a shipped one.
        file: JSON to write.
    """
    translator = Translator.load(model, machine.pick_device())
    data = translator.recipe.data
    text = corpora.load(data.corpus, "validation", data.src_lang, data.tgt_lang)
    src, tgt = text.src[:SENTENCES], text.tgt[:SENTENCES]
    others = text.src[SENTENCES : SENTENCES + MEANS_OVER]
    scores = removal_scores(translator, src, tgt, others)
    origin = provenance(translator.device) | {"model": model, "split": "validation"}
    sizes = {"sentences": len(src), "means_over": len(others)}
    write_json(file, origin | sizes | {"figures": scores})
