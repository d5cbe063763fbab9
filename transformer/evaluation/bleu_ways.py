"""One model's output scored in five ways, to show what a bare "BLEU" may mean (§6.1, Table 2).

`python -m transformer.evaluation.bleu_ways MODEL --record FILE` measures a model on its test set.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics import BLEU

from transformer.config import BEAM_SIZE, EOS_ID, PAD_ID
from transformer.data.batches import TokenBudgetBatches, encode_pairs
from transformer.data.parallel import ParallelText
from transformer.data.words import split_words
from transformer.evaluation.evaluate import bleu, bleu_tokenised_lowercased, record_measure
from transformer.support.errors import exit_status
from transformer.trained.translator import Translator

WAYS = (
    "teacher-forced",
    "begin and end tokens",
    "lower-cased tokens",
    "mean of sentences",
    "sacreBLEU 13a",
)


def score_five_ways(translator: Translator, text: ParallelText, beam_size: int) -> dict[str, Any]:
    """Score one model on one text by the five counts of `WAYS`, in points of 0 to 100.

    Args:
        translator: The model.
        text: Sources, and one reference for each.
        beam_size: Of the search; the teacher-forced output needs none.

    Returns:
        points by the name of the way; and interval and signature of the last one.
    """
    hypotheses = translator.translate(text.src, beam_size)
    references = [[sentence] for sentence in text.tgt]
    standard = bleu(hypotheses, references)
    forced, forced_references = teacher_forced(translator, text)
    points = {
        "teacher-forced": bleu(forced, [[sentence] for sentence in forced_references])["score"],
        "begin and end tokens": with_begin_and_end(hypotheses, text.tgt, text.tgt_lang),
        "lower-cased tokens": bleu_tokenised_lowercased(hypotheses, references, text.tgt_lang),
        "mean of sentences": mean_of_sentences(hypotheses, text.tgt),
        "sacreBLEU 13a": standard["score"],
    }
    return {"points": {way: points[way] for way in WAYS}} | {
        key: standard[key] for key in ("interval", "signature")
    }


@torch.inference_mode()
def teacher_forced(translator: Translator, text: ParallelText) -> tuple[list[str], list[str]]:
    """Let the model guess each token with the reference's earlier tokens before it.

    No user could have such a translation: it needs the reference.

    Returns:
        The guesses, each cut at its first eos, and the references in the same order.
    """
    tokenizer = translator.tgt_tokenizer
    longest = translator.recipe.model.max_len
    examples = encode_pairs(translator.src_tokenizer, tokenizer, text, longest - 1)
    budget = max(translator.recipe.training.batch_tokens, longest)
    guesses, references = [], []
    for batch in TokenBudgetBatches(examples, budget).epoch(0):
        batch = batch.to(translator.device)
        best = translator.model(batch.src, batch.tgt_in).argmax(dim=-1)
        for guess, wanted in zip(best.tolist(), batch.tgt_out.tolist(), strict=True):
            length = sum(token != PAD_ID for token in wanted)  # as far as there is a reference
            guesses.append(tokenizer.decode(_until_eos(guess[:length])))
            references.append(tokenizer.decode(_until_eos(wanted)))
    return guesses, references


def with_begin_and_end(hypotheses: Sequence[str], references: Sequence[str], lang: str) -> float:
    """Score words with a begin and an end token on both sides, which every output gets right."""

    def marked(text: str) -> str:
        return " ".join(["<bos>", *split_words(lang, text), "<eos>"])

    metric = BLEU(tokenize="none", force=True)
    score = metric.corpus_score([*map(marked, hypotheses)], [[*map(marked, references)]])
    return round(score.score, 2)


def mean_of_sentences(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Score each sentence for itself and take the mean, where BLEU counts over the corpus."""
    metric = BLEU(effective_order=True)
    pairs = zip(hypotheses, references, strict=True)
    scores = [metric.sentence_score(guess, [reference]).score for guess, reference in pairs]
    return round(sum(scores) / len(scores), 2)


def record_five_ways(model: str, file: Path, beam_size: int) -> dict[str, Any]:
    """Measure a model on its corpus's test set, and write the figures with their origin.

    Raises:
        UserError: the model or the corpus cannot be had, or the file cannot be written.
    """

    def measure(translator: Translator, text: ParallelText) -> dict[str, Any]:
        return {"beam_size": beam_size} | score_five_ways(translator, text, beam_size)

    return record_measure(model, file, None, measure)


def _until_eos(ids: list[int]) -> list[int]:
    return ids[: ids.index(EOS_ID)] if EOS_ID in ids else ids


def main() -> int:
    """Score the model named on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m transformer.evaluation.bleu_ways",
        description="Score one model's output on its test set in five ways.",
    )
    parser.add_argument("model", metavar="MODEL", help="a model folder, or a shipped model")
    parser.add_argument("--record", type=Path, required=True, metavar="FILE", help="JSON to write")
    parser.add_argument("--beam", type=int, default=BEAM_SIZE, metavar="K")
    options = parser.parse_args()
    record = record_five_ways(options.model, options.record, options.beam)
    print(json.dumps(record["points"], indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
