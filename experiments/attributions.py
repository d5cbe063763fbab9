"""Attention, value zeroing and the others judged by one measure, with intervals.

Not in the paper. `python -m experiments attributions demo-en-fr demo-en-fr` writes the
record that lesson 11 reads.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lessonkit.analysis.alignment import (
    METHODS,
    Links,
    alignment_error_rate,
    diagonal_links,
    hiding,
    strongest_links,
    word_attribution,
)
from transformer.data import corpora
from transformer.data.parallel import ParallelText, aligned_tokens
from transformer.evaluation.compare import RESAMPLES, SEED
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import write_json
from transformer.training.devices import pick_device, provenance


def error_difference(
    first: Sequence[Links], second: Sequence[Links], gold: Sequence[Links]
) -> tuple[float, float, float]:
    """Subtract the first's error rate from the second's: the difference, its low and its high.

    They hold the middle 95% of a paired bootstrap over sentences, which has a fixed seed.
    """
    whole = alignment_error_rate(second, gold) - alignment_error_rate(first, gold)
    counts = [
        np.array([(len(a & b), len(a) + len(b)) for a, b in zip(found, gold, strict=True)])
        for found in (first, second)
    ]
    draws = np.random.default_rng(SEED).choice(len(gold), (RESAMPLES, len(gold)))
    sums = [c[draws].sum(1) for c in counts]
    # a draw of sentences without any link: nothing is right on either side
    rates = [1 - 2 * each[..., 0] / np.maximum(each[..., 1], 1) for each in sums]
    low, high = np.percentile(rates[1] - rates[0], (2.5, 97.5))
    return whole, float(low), float(high)


def attribution_scores(translator: Translator, text: ParallelText) -> dict[str, Any]:
    """Judge every method of `METHODS` on a text by its gold alignments, and by what hiding says.

    Returns:
        By method: "error", its alignment error rate; "difference", "low" and "high" against
        the attention weights (see `error_difference`); "agrees", the share of target words
        whose strongest source word (or "<eos>") is the one that hurts most when hidden. And
        for "place alone" and "best possible", a link for each word, the error alone.
    """
    gold = text.alignments
    if gold is None:
        raise UserError("a text without gold alignments cannot judge any: give the embedded corpus")
    links: dict[str, list[Links]] = {}
    strongest: dict[str, list[int]] = {}
    for name, method in METHODS.items():
        found = [
            word_attribution(translator, src, tgt, method).weights[0, 0]
            for src, tgt in zip(text.src, text.tgt, strict=True)
        ]
        links[name] = [strongest_links(weights) for weights in found]
        strongest[name] = [key for weights in found for key in weights.argmax(-1).tolist()]
    first, *_ = METHODS
    (told,) = (strongest[name] for name, method in METHODS.items() if method is hiding)
    scores: dict[str, Any] = {}
    for name in METHODS:
        same = sum(a == b for a, b in zip(strongest[name], told, strict=True)) / len(told)
        difference, low, high = error_difference(links[first], links[name], gold)
        figures = {"error": alignment_error_rate(links[name], gold), "difference": difference}
        figures |= {"low": low, "high": high}
        scores[name] = {key: round(value, 4) for key, value in figures.items()}
        scores[name]["agrees"] = round(same, 4)
    for name, bound in _bounds(text, gold).items():
        scores[name] = {"error": round(alignment_error_rate(bound, gold), 4)}
    return scores


def _bounds(text: ParallelText, gold: Sequence[Links]) -> dict[str, list[Links]]:
    """Give what knows no word, and the best that one link for each target word can be."""
    sizes = [
        (len(aligned_tokens(src)), len(aligned_tokens(tgt)))
        for src, tgt in zip(text.src, text.tgt, strict=True)
    ]
    one_each = [frozenset({tgt: (src, tgt) for src, tgt in links}.values()) for links in gold]
    return {"place alone": [diagonal_links(*pair) for pair in sizes], "best possible": one_each}


def record_attributions(model: str, file: Path) -> dict[str, Any]:
    """Judge what a model's words take from their source, on the test sentences; write that."""
    translator = Translator.load(model, pick_device())
    data = translator.recipe.data
    text = corpora.load("embedded", "test", data.src_lang, data.tgt_lang)
    scores = attribution_scores(translator, text)
    origin = provenance(translator.device) | {"model": model, "split": "test"}
    write_json(file, origin | {"sentences": len(text), "figures": scores})
    return scores
