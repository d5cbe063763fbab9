"""What a score is worth: the BLEU of one model counted in five ways.

Systems that report the same figure did not always count the same thing (§6.1, Table 2).
"""

from collections.abc import Sequence
from typing import Any

import torch
from sacrebleu.metrics import BLEU

from transformer.config import EOS_ID
from transformer.data.parallel import ParallelText
from transformer.data.token_budget import TokenBudgetBatches
from transformer.data.word_splitting import has_word_splitting_rules, split_words
from transformer.evaluation.bleu_tokenizers import bleu_tokenizer
from transformer.evaluation.evaluate import encode_fitting_pairs
from transformer.evaluation.scores import bleu, bleu_tokenised_lowercased, chrf_plus_plus
from transformer.models.translator import Translator
from transformer.support.signatures import check_argument_types


@check_argument_types
def score_five_ways(translator: Translator, text: ParallelText, beam_size: int) -> dict[str, Any]:
    """Score one model on one text, which has one reference each, in five ways (§6.1, Table 2).

    Returns:
        points (0 to 100) by the name of the way, teacher-forced without the pairs that are too
        long; interval and signature of the last one; and chrf++, as of `chrf_plus_plus`. Two ways
        need a language's rules for words, and are left out where there are none.
    """
    hypotheses = translator.translate(text.src, beam_size)
    references = [[sentence] for sentence in text.tgt]
    standard = bleu(hypotheses, references, text.tgt_lang)
    forced, forced_references = teacher_forced_translations(translator, text)
    lang = text.tgt_lang
    forced_score = bleu(forced, [[sentence] for sentence in forced_references], lang)["score"]
    points = {"teacher-forced": forced_score}
    if has_word_splitting_rules(lang):
        points |= {
            "begin and end tokens": bleu_with_begin_and_end_tokens(hypotheses, text.tgt, lang),
            "lower-cased tokens": bleu_tokenised_lowercased(hypotheses, references, lang),
        }
    points |= {
        "mean of sentences": mean_sentence_bleu(hypotheses, text.tgt, lang),
        f"sacreBLEU {bleu_tokenizer(lang)}": standard["score"],
    }
    record = {key: standard[key] for key in ("interval", "signature")}
    return {"points": points} | record | {"chrf++": chrf_plus_plus(hypotheses, references)}


@torch.inference_mode()
def teacher_forced_translations(
    translator: Translator, text: ParallelText
) -> tuple[list[str], list[str]]:
    """Let the model predict each token after the reference's earlier tokens (teacher forcing).

    No user could have such a translation, because it needs the reference. Pairs with an empty
    side, or longer than the model takes, are left out.

    Returns:
        The predictions, each up to its first eos, and the references, both in the batches' order.
    """
    tokenizer = translator.tgt_tokenizer
    budget = max(translator.recipe.training.batch_tokens, translator.recipe.model.max_len)
    predictions, references = [], []
    for batch in TokenBudgetBatches(encode_fitting_pairs(translator, text), budget).epoch(0):
        batch = batch.to(translator.device)
        best = translator.model(batch.src, batch.tgt_in).argmax(dim=-1)
        for predicted, reference in zip(best.tolist(), batch.tgt_out.tolist(), strict=True):
            length = reference.index(EOS_ID)
            predicted = predicted[: length + 1]  # as far as there is a reference
            if EOS_ID in predicted:
                predicted = predicted[: predicted.index(EOS_ID)]
            predictions.append(tokenizer.decode(predicted))
            references.append(tokenizer.decode(reference[:length]))
    return predictions, references


def bleu_with_begin_and_end_tokens(
    hypotheses: Sequence[str], references: Sequence[str], lang: str
) -> float:
    """Score words with a begin and an end token on both sides, which every output gets right."""

    def mark(texts: Sequence[str]) -> list[str]:
        return [" ".join(["<bos>", *split_words(lang, text), "<eos>"]) for text in texts]

    bleu_of_words = BLEU(tokenize="none", force=True)
    score = bleu_of_words.corpus_score(mark(hypotheses), [mark(references)])
    return round(score.score, 2)


def mean_sentence_bleu(
    hypotheses: Sequence[str], references: Sequence[str], lang: str = "en"
) -> float:
    """Score each sentence for itself and take the mean; BLEU proper counts over the corpus."""
    metric = BLEU(tokenize=bleu_tokenizer(lang), effective_order=True)
    scores = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        scores.append(metric.sentence_score(hypothesis, [reference]).score)
    return round(sum(scores) / len(scores), 2)
