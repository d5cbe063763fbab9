"""One figure counted in several ways: a BLEU in five, a mean loss in two (§6.1, Table 2).

Systems that report the same figure did not always count the same thing: system 4's perplexity is
of the mean over batches. `python -m experiments bleu MODEL --record FILE` measures a model
on its test set, `python -m experiments loss ...` on its validation text.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics import BLEU

from transformer.config import EOS_ID, PAD_ID
from transformer.data.batches import TokenBudgetBatches, collate
from transformer.data.parallel import ParallelText
from transformer.data.words import split_words
from transformer.evaluation.evaluate import fitting_pairs, record_measure
from transformer.evaluation.scores import bleu, bleu_tokenised_lowercased
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.training.loss import validation_loss

BLEU_WAYS = (
    "teacher-forced",
    "begin and end tokens",
    "lower-cased tokens",
    "mean of sentences",
    "sacreBLEU 13a",
)
LOSS_WAYS = ("mean over tokens", "mean over batches")
BATCH_SENTENCES = 128  # of system 4


def score_five_ways(translator: Translator, text: ParallelText, beam_size: int) -> dict[str, Any]:
    """Score one model on one text by the five counts of `BLEU_WAYS` (§6.1, Table 2).

    Args:
        translator: The model.
        text: Sources, and one reference for each.
        beam_size: Of the search; the teacher-forced output needs none.

    Returns:
        points (0 to 100) by the name of the way, teacher-forced without the pairs that are too
        long; and interval and signature of the last one.
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
    assert tuple(points) == BLEU_WAYS
    return {"points": points} | {key: standard[key] for key in ("interval", "signature")}


@torch.inference_mode()
def teacher_forced(translator: Translator, text: ParallelText) -> tuple[list[str], list[str]]:
    """Let the model guess each token with the reference's earlier tokens before it.

    No user could have such a translation: it needs the reference. Pairs with an empty side, or
    longer than the model takes, are left out.

    Returns:
        The guesses, each cut at its first eos, and the references, both in the batches' order.

    Raises:
        UserError: no pair is left.
    """
    tokenizer = translator.tgt_tokenizer
    budget = max(translator.recipe.training.batch_tokens, translator.recipe.model.max_len)
    guesses, references = [], []
    for batch in TokenBudgetBatches(fitting_pairs(translator, text), budget).epoch(0):
        batch = batch.to(translator.device)
        best = translator.model(batch.src, batch.tgt_in).argmax(dim=-1)
        for guess, wanted in zip(best.tolist(), batch.tgt_out.tolist(), strict=True):
            length = sum(token != PAD_ID for token in wanted)  # as far as there is a reference
            guesses.append(tokenizer.decode(_until_eos(guess[:length])))
            references.append(tokenizer.decode(_until_eos(wanted)))
    return guesses, references


def _until_eos(ids: list[int]) -> list[int]:
    return ids[: ids.index(EOS_ID)] if EOS_ID in ids else ids


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


def loss_two_ways(
    translator: Translator, text: ParallelText, batch_sentences: int = BATCH_SENTENCES
) -> dict[str, float]:
    """Measure the loss, and average it in the two `LOSS_WAYS`.

    Not in the paper: system 4 reports the second. The sentences are sorted by length and cut into
    batches. Short sentences fill a batch with fewer tokens: in the second mean each of their
    tokens weighs more.

    Args:
        translator: The model.
        text: Sources and references. Pairs with a side longer than the model takes are left out.
        batch_sentences: Of a batch.

    Returns:
        Nats per token, by the name of the way.

    Raises:
        UserError: no pair is left, or a batch would be empty.
    """
    if batch_sentences < 1:
        raise UserError(f"batch_sentences is {batch_sentences}: a batch has one or more")
    examples = fitting_pairs(translator, text)
    examples = sorted(examples, key=lambda pair: (len(pair.src), len(pair.tgt)))
    losses, tokens = [], []
    for first in range(0, len(examples), batch_sentences):
        batch = examples[first : first + batch_sentences]
        losses.append(validation_loss(translator.model, [collate(batch)], device=translator.device))
        tokens.append(sum(len(pair.tgt) + 1 for pair in batch))  # with eos
    total = sum(loss * count for loss, count in zip(losses, tokens, strict=True))
    return dict(zip(LOSS_WAYS, (total / sum(tokens), sum(losses) / len(losses)), strict=True))


def record_two_ways(model: str, file: Path) -> dict[str, Any]:
    """Measure a model on its corpus's validation text, and write the figures with their origin.

    Raises:
        UserError: the model or the corpus cannot be had, or the file cannot be written.
    """

    def measure(translator: Translator, text: ParallelText) -> dict[str, Any]:
        losses = loss_two_ways(translator, text)
        perplexities = {way: math.exp(loss) for way, loss in losses.items()}
        return {"batch_sentences": BATCH_SENTENCES, "loss": losses, "perplexity": perplexities}

    return record_measure(model, file, "validation", measure)
