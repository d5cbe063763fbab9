"""How good a model is on a text: scores of its translations, and perplexity (§6.1)."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transformer.config import BEAM_SIZE, LENGTH_PENALTY, DataConfig
from transformer.data import corpora
from transformer.data.batches import encode_pairs
from transformer.data.examples import Example, ExampleArrays
from transformer.data.parallel import ParallelText, parallel_text_from_lines
from transformer.data.text_files import read_aligned_files
from transformer.data.token_budget import TokenBudgetBatches
from transformer.data.word_splitting import TREE_LANGUAGE, has_word_splitting_rules
from transformer.evaluation import scores
from transformer.evaluation.baselines import measure_baselines
from transformer.evaluation.bleu_tokenizers import bleu_tokenizer, missing_tokenizer_in_words
from transformer.evaluation.kept_placeholders import placeholder_sentence_accuracy
from transformer.model import count_parameters
from transformer.models.folder import DATA, RUN, ModelDescription, Network
from transformer.models.translator import Translator
from transformer.support.errors import require
from transformer.support.files import read_json
from transformer.support.folders import find_model_folder
from transformer.support.formats import read_json_object
from transformer.support.signatures import check_argument_types
from transformer.training.devices import pick_device
from transformer.training.model_loss import validation_loss

MAX_LOG_OF_PERPLEXITY = 700.0  # nats per token; e to the power of more is no number


@check_argument_types
def evaluate_translator(
    translator: Translator,
    text: ParallelText,
    beam_size: int = BEAM_SIZE,
    alpha: float = LENGTH_PENALTY,
) -> dict[str, Any]:
    """Translate a text; measure the translations, and the model's surprise at the references.

    Perplexity and its logarithm, the loss, are per token of the model's own, eos included, of the
    pairs that are not too long for it, `perplexity_pairs`; sentences_per_second is of translation
    alone. The score of lower-cased tokens is left out for a language that has no rules for words,
    and `placeholders` (see `placeholder_sentence_accuracy`) of a text without any. A warning says
    where BLEU counts something else than words, or nothing.
    """
    references = text.accepted_translations
    examples = encode_fitting_pairs(translator, text)
    loss = _loss_of_examples(translator, examples)
    started = time.perf_counter()
    hypotheses = translator.translate(text.src, beam_size, alpha)
    seconds = time.perf_counter() - started
    figures: dict[str, Any] = {
        "bleu": scores.bleu(hypotheses, references, text.tgt_lang),
        "chrf++": scores.chrf_plus_plus(hypotheses, references),
    }
    _warn_where_bleu_says_little(references, text.tgt_lang)
    if has_word_splitting_rules(text.tgt_lang):
        figures["bleu_tokenised_lowercased"] = scores.bleu_tokenised_lowercased(
            hypotheses, references, text.tgt_lang
        )
    placeholders = placeholder_sentence_accuracy(text.src, hypotheses, references)
    if placeholders is not None:
        figures["placeholders"] = placeholders
    figures |= {
        "perplexity": round(math.exp(min(loss, MAX_LOG_OF_PERPLEXITY)), 3),
        "loss": round(loss, 4),
        "perplexity_pairs": len(examples),
        "sentences": len(text),
        "run_on": scores.count_run_on_translations(hypotheses, references),
        "sentences_per_second": round(len(text) / seconds, 1),
        "beam_size": beam_size,
        "alpha": alpha,
        "parameters": count_parameters(translator.model),
    }
    if text.tgt_lang == TREE_LANGUAGE:
        figures["parse_f1"] = round(scores.parse_f1(hypotheses, text.tgt), 2)
    return figures


def _warn_where_bleu_says_little(references: Sequence[Sequence[str]], lang: str) -> None:
    """Warn if BLEU has to do without the language's tokenizer, or most references are one token."""
    remark = missing_tokenizer_in_words(lang)
    if remark is not None:
        warnings.warn(remark, stacklevel=2)
    num_one_token = scores.count_one_token_references(references, lang)
    if 2 * num_one_token > len(references):
        warnings.warn(
            f"{num_one_token:,} of {len(references):,} references are one token for BLEU "
            f"({bleu_tokenizer(lang)}), which compares four in a row: look at chrF++",
            stacklevel=2,
        )


@check_argument_types
def text_loss(translator: Translator, text: ParallelText) -> float:
    """Return the mean surprise at the references, nats per token, of pairs that fit the model."""
    return _loss_of_examples(translator, encode_fitting_pairs(translator, text))


def _loss_of_examples(translator: Translator, examples: Sequence[Example]) -> float:
    """Return the mean surprise at the targets of some examples, nats per token."""
    max_tokens = max(translator.recipe.training.batch_tokens, translator.recipe.model.max_len)
    batches = TokenBudgetBatches(examples, max_tokens)
    return validation_loss(translator.model, batches.epoch(0), device=translator.device)


def encode_fitting_pairs(translator: Translator, text: ParallelText) -> ExampleArrays:
    """Encode a text as a model reads it, without the pairs that have a side too long for it."""
    max_tokens = translator.recipe.model.max_len - 1  # eos or bos is added
    return encode_pairs(translator.src_tokenizer, translator.tgt_tokenizer, text, max_tokens)


def evaluate_saved_model(
    folder: str | Path,
    split: str | None = None,
    beam_size: int = BEAM_SIZE,
    alpha: float = LENGTH_PENALTY,
    build: Callable[[ModelDescription], Network] = ModelDescription.build,
    *,
    files: tuple[Path, Path] | None = None,
) -> dict[str, Any]:
    """Measure a model folder, or a shipped model by its name, on a split of its own corpus.

    The first test set, unless another split is named; beam and alpha are chosen on yet another
    (§6.1). With `files`, sources and references line by line, on these instead. `build` is that of
    `Translator.load`. Besides what `evaluate_translator` returns, it says what was measured, the
    precision that the model was trained in, and the scores of `measure_baselines`; of these one
    needs the training text, which is not downloaded for it.
    """
    translator = Translator.load(folder, pick_device(), build=build)
    data = translator.recipe.data
    trained_in = read_json(find_model_folder(folder) / RUN)["precision"]
    text, names = _text_to_measure(folder, data, split, files)
    measured = {
        **names,
        "src_lang": data.src_lang,
        "tgt_lang": data.tgt_lang,
        "trained_in": trained_in,
    }
    measured |= evaluate_translator(translator, text, beam_size, alpha)
    train_text = corpora.load_without_download(data.corpus, "train", data.src_lang, data.tgt_lang)
    if train_text is None:
        is_known = corpora.is_corpus(data.corpus)
        remedy = f" (corpora fetch {data.corpus} gets it)" if is_known else ""
        warnings.warn(
            f"{data.corpus}, the corpus that {folder} was trained on, is not on this computer: the "
            f"baseline nearest_training_source is left out{remedy}",
            stacklevel=2,
        )
    return measured | {"baselines": measure_baselines(text, train_text)}


def _text_to_measure(
    folder: str | Path, data: DataConfig, split: str | None, files: tuple[Path, Path] | None
) -> tuple[ParallelText, dict[str, Any]]:
    """Return the text that `evaluate_saved_model` is asked to measure on, and what it is called."""
    if files is not None:
        pairs = read_aligned_files(*files)
        src, tgt = [first for first, _ in pairs], [second for _, second in pairs]
        text = parallel_text_from_lines(data.src_lang, data.tgt_lang, src, tgt)
        return text, {"files": [path.name for path in files]}
    require(
        corpora.is_corpus(data.corpus),
        f"{folder} was trained on {data.corpus!r}, which is no corpus on this computer: add it "
        "here too (corpora add), or measure on files (evaluate MODEL --src FILE --ref FILE)",
    )
    _warn_of_changed_corpus(find_model_folder(folder), data.corpus)
    if split is None:
        split = corpora.default_test_split(data.corpus)
    text = corpora.load(data.corpus, split, data.src_lang, data.tgt_lang)
    return text, {"corpus": data.corpus, "split": split}


def _warn_of_changed_corpus(folder: Path, corpus: str) -> None:
    """Warn if a corpus has changed since a model was trained on it, as its data.json tells."""
    # A shipped model has none.
    settings = read_json_object(folder / DATA) if (folder / DATA).is_file() else {}
    changed = corpora.changed_corpus_files(corpus, settings)
    if changed:
        message = f"{corpus} has changed since {folder} was trained on it ({', '.join(changed)})"
        warnings.warn(f"{message}: it may be measured on what it learned", stacklevel=4)
