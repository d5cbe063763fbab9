"""How good a model is on a text: scores of its translations, and perplexity (§6.1)."""

import math
import time
from pathlib import Path
from typing import Any

from transformer.config import BEAM_SIZE, LENGTH_PENALTY
from transformer.data import corpora
from transformer.data.batches import Example, TokenBudgetBatches, encode_pairs
from transformer.data.parallel import ParallelText
from transformer.data.tokenizers import TREE_LANG
from transformer.evaluation import scores
from transformer.model import count_parameters
from transformer.models.folder import LOG, RUN, read_recipe
from transformer.models.translator import Translator
from transformer.support.files import find_model, read_json
from transformer.support.provenance import provenance
from transformer.training.devices import pick_device
from transformer.training.loss import validation_loss
from transformer.training.report import read_log


def evaluate_translator(
    translator: Translator,
    text: ParallelText,
    beam_size: int = BEAM_SIZE,
    alpha: float = LENGTH_PENALTY,
) -> dict[str, Any]:
    """Translate a text, and measure the translations and the model's surprise at the references.

    Perplexity and its logarithm, the loss, are per token of the model's own, eos included, of pairs
    that are not too long for it; sentences_per_second is of translation alone.
    """
    references = text.references or [[sentence] for sentence in text.tgt]
    loss = text_loss(translator, text)
    started = time.perf_counter()
    said = translator.translate(text.src, beam_size, alpha)
    seconds = time.perf_counter() - started
    lowercased = scores.bleu_tokenised_lowercased(said, references, text.tgt_lang)
    figures = {
        "bleu": scores.bleu(said, references),
        "chrf": scores.chrf(said, references),
        "bleu_tokenised_lowercased": lowercased,
        "perplexity": round(math.exp(min(loss, 700.0)), 3),
        "loss": round(loss, 4),
        "sentences": len(text),
        "run_on": scores.count_run_on(said, references),
        "sentences_per_second": round(len(text) / seconds, 1),
        "beam_size": beam_size,
        "alpha": alpha,
        "parameters": count_parameters(translator.model),
    }
    if text.tgt_lang == TREE_LANG:
        figures["parse_f1"] = round(scores.parse_f1(said, text.tgt), 2)
    return figures


def text_loss(translator: Translator, text: ParallelText) -> float:
    """Measure the mean surprise at the references, nats per token, of pairs that fit the model."""
    budget = max(translator.recipe.training.batch_tokens, translator.recipe.model.max_len)
    batches = TokenBudgetBatches(fitting_pairs(translator, text), budget)
    return validation_loss(translator.model, batches.epoch(0), device=translator.device)


def fitting_pairs(translator: Translator, text: ParallelText) -> list[Example]:
    """Encode a text as a model reads it, without the pairs that have a side too long for it."""
    longest = translator.recipe.model.max_len - 1  # eos or bos is added
    return encode_pairs(translator.src_tokenizer, translator.tgt_tokenizer, text, longest)


def evaluate_folder(
    folder: str | Path,
    split: str | None = None,
    beam_size: int = BEAM_SIZE,
    alpha: float = LENGTH_PENALTY,
) -> dict[str, Any]:
    """Measure a model folder, or a shipped model by its name, on a split of its own corpus.

    The first test set, unless another split is named; beam and alpha are chosen on yet another
    (§6.1). Besides what `evaluate_translator` gives, it says what was measured, and the precision
    that the model was trained in.
    """
    translator = Translator.load(folder, pick_device())
    data = translator.recipe.data
    what = {"corpus": data.corpus, "split": split or corpora.default_test_split(data.corpus)}
    what |= {"src_lang": data.src_lang, "tgt_lang": data.tgt_lang}
    trained_in = read_json(find_model(folder) / RUN)["precision"]
    figures = evaluate_translator(translator, corpora.load(*what.values()), beam_size, alpha)
    return what | {"trained_in": trained_in} | figures


def origin_of(folder: str | Path) -> dict[str, Any]:
    """Give a model's recipe, training and log, and what measures it, to be recorded."""
    folder = find_model(folder)
    return {
        "recipe": read_recipe(folder).to_dict(),
        "training": read_json(folder / RUN),
        "evaluation": provenance(pick_device()),
        "log": read_log(folder / LOG),
    }
