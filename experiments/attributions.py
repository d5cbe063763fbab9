"""Attention and hiding judged by one measure, the error of their alignments.

Not in the paper. `python -m experiments attributions demo-en-fr demo-en-fr` writes the
record that lesson 11 reads.
"""

from pathlib import Path
from typing import Any

from lessonkit.analysis.alignment import (
    METHODS,
    alignment_error_rate,
    strongest_links,
    word_attribution,
)
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import write_json
from transformer.training.devices import pick_device, provenance


def attribution_scores(translator: Translator, text: ParallelText) -> dict[str, Any]:
    """Give for each of `METHODS` its "error", the alignment error rate on a text's gold links."""
    gold = text.alignments
    if gold is None:
        raise UserError("a text without gold alignments cannot judge any: give the embedded corpus")
    scores = {}
    for name, method in METHODS.items():
        found = [
            strongest_links(word_attribution(translator, src, tgt, method).weights[0, 0])
            for src, tgt in zip(text.src, text.tgt, strict=True)
        ]
        scores[name] = {"error": round(alignment_error_rate(found, gold), 4)}
    return scores


def record_attributions(model: str, file: Path) -> dict[str, Any]:
    """Judge what a model's words take from their source, on the test sentences; write that."""
    translator = Translator.load(model, pick_device())
    data = translator.recipe.data
    text = corpora.load("embedded", "test", data.src_lang, data.tgt_lang)
    scores = attribution_scores(translator, text)
    origin = provenance(translator.device) | {"model": model, "split": "test"}
    write_json(file, origin | {"sentences": len(text), "figures": scores})
    return scores
