"""How good a model is: BLEU and chrF with interval, and perplexity (§6.1).

The scores are sacreBLEU's; each comes with its signature, which says how it was
counted, and with a 95% interval by resampling the sentences (Koehn 2004).
"""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sacrebleu.metrics import BLEU, CHRF

from transformer.data import corpora
from transformer.data.batches import TokenBudgetBatches, encode_pairs
from transformer.data.parallel import ParallelText
from transformer.data.words import split_words
from transformer.decoding import BEAM_SIZE
from transformer.errors import UserError, unknown_name
from transformer.machine import pick_device
from transformer.model_folder import RUN
from transformer.provenance import provenance
from transformer.training.checkpoint import read_json, write_json
from transformer.training.loss import validation_loss
from transformer.translator import Translator

RESAMPLES = 1000


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Score detokenised, cased text as WMT does (sacreBLEU 13a; Post 2018).

    Args:
        hypotheses: Translations.
        references: For each of them every accepted translation.

    Returns:
        score and interval (low, high) in points of 0 to 100, and signature.
    """
    return _score(BLEU(), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Score by shared character sequences (chrF2; Popović 2015); the shape is `bleu`'s."""
    return _score(CHRF(), hypotheses, references)


def bleu_tokenised_lowercased(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], lang: str
) -> float:
    """Score lower-cased spaCy tokens without smoothing, as system 4's torchtext did.

    It runs some points above or below `bleu`'s: compare it only with figures of its kind.

    Args:
        hypotheses: Translations.
        references: For each of them every accepted translation.
        lang: The language, for its tokeniser.
    """

    def tokenised(text: str) -> str:
        return " ".join(split_words(lang, text, lowercase=True))

    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    cut = [[tokenised(reference) for reference in group] for group in references]
    score = metric.corpus_score([tokenised(text) for text in hypotheses], _streams(cut))
    return round(score.score, 2)


def _streams(references: Sequence[Sequence[str]]) -> list[list[str]]:
    """Turn a list of references for each sentence into sacreBLEU's: one per rank, "" for none."""
    most = max(len(group) for group in references)
    return [[group[i] if i < len(group) else "" for group in references] for i in range(most)]


def _score(
    metric: BLEU | CHRF, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, Any]:
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} translations and {len(references)} references: give one list "
            "of references for each translation"
        )
    if not hypotheses:
        raise UserError("no translations to score: give at least one")
    score = metric.corpus_score(hypotheses, _streams(references), n_bootstrap=RESAMPLES)
    low, high = score._mean - score._ci, score._mean + score._ci
    return {
        "score": round(score.score, 2),
        "interval": [round(low, 2), round(high, 2)],
        "signature": str(metric.get_signature()),
    }


def evaluate_translator(
    translator: Translator, text: ParallelText, beam_size: int = BEAM_SIZE
) -> dict[str, Any]:
    """Translate a text, and measure the translations and the model's surprise at the references.

    Args:
        translator: The model.
        text: Sources and references.
        beam_size: Of the search; 1 is greedy.

    Returns:
        bleu, chrf (see `bleu`), bleu_tokenised_lowercased, perplexity (per token of the
        model's own, eos included), loss (its logarithm, nats), sentences,
        sentences_per_second (translation alone) and beam_size.
    """
    references = text.references or [[sentence] for sentence in text.tgt]
    started = time.perf_counter()
    hypotheses = translator.translate(text.src, beam_size)
    seconds = time.perf_counter() - started
    loss = text_loss(translator, text)
    return {
        "bleu": bleu(hypotheses, references),
        "chrf": chrf(hypotheses, references),
        "bleu_tokenised_lowercased": bleu_tokenised_lowercased(
            hypotheses, references, text.tgt_lang
        ),
        "perplexity": round(math.exp(loss), 3),
        "loss": round(loss, 4),
        "sentences": len(text),
        "sentences_per_second": round(len(text) / seconds, 1),
        "beam_size": beam_size,
    }


def text_loss(translator: Translator, text: ParallelText) -> float:
    """Measure the mean surprise at the references, nats per token, eos included."""
    longest = translator.recipe.model.max_len - 1
    examples = encode_pairs(translator.src_tokenizer, translator.tgt_tokenizer, text, longest)
    batches = TokenBudgetBatches(examples, translator.recipe.training.batch_tokens)
    return validation_loss(translator.model, batches.epoch(0), device=translator.device, bf16=False)


def evaluate_folder(
    folder: Path,
    corpus: str | None = None,
    split: str | None = None,
    beam_size: int = BEAM_SIZE,
    record: Path | None = None,
) -> dict[str, Any]:
    """Measure a model folder on a split of a corpus.

    Args:
        folder: Of the model.
        corpus: Name; None means the one it was trained on.
        split: Name; None means the corpus's first test set.
        beam_size: Of the search; 1 is greedy.
        record: A file to write the figures to, with the training run's and this one's origin.

    Raises:
        UserError: the folder is no model's, or the text cannot be had.
    """
    device = pick_device()
    translator = Translator.load(folder, device)
    data = translator.recipe.data
    corpus = corpus or data.corpus
    split = split or default_split(corpus)
    text = corpora.load(corpus, split, data.src_lang, data.tgt_lang)
    where = {"corpus": corpus, "split": split, "src_lang": data.src_lang, "tgt_lang": data.tgt_lang}
    figures = where | evaluate_translator(translator, text, beam_size)
    if record is not None:
        origin = {
            "recipe": translator.recipe.to_dict(),
            "training": read_json(folder / RUN),
            "evaluation": provenance(device),
        }
        write_json(record, origin | {"figures": figures})
    return figures


def default_split(corpus: str) -> str:
    """Name a corpus's first test set.

    Raises:
        UserError: the corpus is unknown.
    """
    if corpus not in corpora.CORPORA:
        raise unknown_name("corpus", corpus, corpora.CORPORA)
    return next(split for split in corpora.CORPORA[corpus].splits if split.startswith("test"))
