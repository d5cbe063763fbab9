"""What heads contribute, and whether attention shows alignments: records of lesson 13.

Not in the paper. Heads are removed as by Michel et al. (2019, https://arxiv.org/abs/1905.10650).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from lessonkit.analysis.activations import mean_head_outputs, transformer_of_translator
from lessonkit.analysis.alignment import (
    alignment_error_rate,
    strongest_links,
    word_attention,
    word_occlusion,
)
from lessonkit.analysis.bleu_comparison import compare_bleu
from lessonkit.analysis.heads import STACK_NAMES, all_heads
from lessonkit.analysis.interventions import patch_heads
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.evaluation.scores import bleu
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import write_json
from transformer.support.provenance import provenance
from transformer.training.devices import pick_device

# The first sentences of the validation text are translated without each head; the heads' mean
# outputs are over those that follow.
NUM_SENTENCES, NUM_MEAN_SENTENCES = 300, 200


def scores_without_each_head(
    translator: Translator,
    sentences: Sequence[str],
    references: Sequence[str],
    others: Sequence[str],
) -> dict[str, Any]:
    """Score a Transformer without each of its heads, and without all of each stack's.

    A head's mean output is that over `others`.

    Returns:
        "whole", the figures with all heads; "zero" and "mean", by what stands in the removed
        heads' place, each with "heads", by name ("cross 1.4"), and "stacks" (all of a stack's
        heads removed). Figures, in points of BLEU: "beam" (of 4), and `compare_bleu` with the
        whole model's: "low", "high" and "p".
    """
    model = transformer_of_translator(translator)
    gold = [[reference] for reference in references]
    translations = translator.translate(sentences)
    scores: dict[str, Any] = {"whole": {"beam": float(bleu(translations, gold)["score"])}}
    heads = all_heads(model)
    removals = {str(head): [head] for head in heads}
    removals |= {stack: [head for head in heads if head.stack == stack] for stack in STACK_NAMES}
    means = mean_head_outputs(translator, others)
    zeros = {head: torch.zeros_like(mean) for head, mean in means.items()}
    for replacement, outputs in (("zero", zeros), ("mean", means)):
        figures = {}
        for name, removed in tqdm(removals.items(), desc=replacement, unit="removal"):
            with patch_heads(model, {head: outputs[head] for head in removed}):
                ablated = translator.translate(sentences)
            figures[name] = _removal_figures(translations, ablated, gold)
        stacks = {stack: figures.pop(stack) for stack in STACK_NAMES}
        scores[replacement] = {"heads": figures, "stacks": stacks}
    return scores


def _removal_figures(
    translations: Sequence[str], ablated: Sequence[str], gold: Sequence[Sequence[str]]
) -> dict[str, float]:
    """Score translations without some heads beside those with all."""
    comparison = compare_bleu(translations, ablated, gold)
    return {
        "beam": float(bleu(ablated, gold)["score"]),
        "low": round(comparison.low, 2),
        "high": round(comparison.high, 2),
        "p": round(comparison.p_value, 4),
    }


def record_head_removals(model: str, file: Path) -> None:
    """Measure a model without each of its heads on its validation text, and write the figures."""
    translator = Translator.load(model, pick_device())
    data = translator.recipe.data
    text = corpora.load(data.corpus, "validation", data.src_lang, data.tgt_lang)
    src, tgt = text.src[:NUM_SENTENCES], text.tgt[:NUM_SENTENCES]
    others = text.src[NUM_SENTENCES : NUM_SENTENCES + NUM_MEAN_SENTENCES]
    scores = scores_without_each_head(translator, src, tgt, others)
    about = {
        "split": "validation",
        "sentences": len(src),
        "means_over": len(others),
        "p": "two-sided, by approximate randomization",
    }
    _write_record(file, translator, model, about, scores)


def record_attribution_error_rates(model: str, file: Path) -> str:
    """Record how well attributions of a model's words find their source words (test sentences)."""
    translator = Translator.load(model, pick_device())
    data = translator.recipe.data
    text = corpora.load("embedded", "test", data.src_lang, data.tgt_lang)
    scores = alignment_error_by_attribution(translator, text)
    _write_record(file, translator, model, {"split": "test", "sentences": len(text)}, scores)
    return "\n".join(
        f"{name}: alignment error {figures['error']:.3f}" for name, figures in scores.items()
    )


def _write_record(
    file: Path, translator: Translator, model: str, about: dict[str, Any], figures: dict[str, Any]
) -> None:
    """Write a record with its origin."""
    origin = provenance(translator.device) | {"model": model}
    write_json(file, origin | about | {"figures": figures})


def alignment_error_by_attribution(translator: Translator, text: ParallelText) -> dict[str, Any]:
    """Return the "error" of each attribution: the alignment error rate on a text's gold links."""
    gold = text.alignments
    if gold is None:
        raise UserError("a text without gold alignments cannot judge any: give the embedded corpus")
    scores = {}
    for name, attribution in (("attention weights", word_attention), ("hiding", word_occlusion)):
        links = [
            strongest_links(attribution(translator, src, tgt).weights.mean(dim=(0, 1)))
            for src, tgt in zip(text.src, text.tgt, strict=True)
        ]
        scores[name] = {"error": round(alignment_error_rate(links, gold), 4)}
    return scores
