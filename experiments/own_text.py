"""Records of translators of a user's own text: trained, or taken up, and measured on its test set.

Not in the paper. No sentence of the text is recorded, for it has licences of its own: a record
holds figures, counts, and the names of the packages that the text came from.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attention_course.options import parse_settings
from attention_course.origin import load_model_origin
from lessonkit.analysis.bleu_comparison import compare_bleu
from transformer.config import Recipe
from transformer.data import corpora
from transformer.data.downloads import own_corpora_folder
from transformer.data.grouping import grouping_key
from transformer.data.own_corpora import (
    DESCRIPTION_FILE_NAME,
    own_corpus_names,
    parse_languages,
)
from transformer.evaluation.bleu_tokenizers import DEFAULT_BLEU_TOKENIZER, bleu_tokenizer
from transformer.evaluation.evaluate import evaluate_saved_model
from transformer.models.folder import DATA, RUN, holds_run, read_recipe
from transformer.models.translator import Translator
from transformer.recipes.own_text import recipe_for_corpus
from transformer.support.errors import require
from transformer.support.files import read_json, write_json
from transformer.support.folders import find_model_folder
from transformer.support.formats import read_json_object
from transformer.training.devices import pick_device
from transformer.training.preparation import START_FROM_KEY
from transformer.training.recipe import train_recipe
from transformer.training.start_model import with_network_of

# What a record says of the corpus, of all that its description holds: no file of one computer.
RECORDED_CORPUS_KEYS = ("licence", "packages", "pairs_read", "pairs_dropped", "pairs", "sha256")
TEST_SPLIT = "test"


def record_own_text_run(
    corpus: str,
    direction: str,
    file: Path,
    out: Path | None = None,
    settings: Sequence[str] = (),
    start_from: str | None = None,
    compare_with: str | None = None,
) -> None:
    """Train on a corpus of the user's own, or take up a run that has ended; record its scores.

    Args:
        corpus: One of the user's own.
        direction: "en-uk" or "uk-en".
        file: The record.
        out: The run's folder; None: runs/ and the record's name. One that was stopped goes on.
        settings: `KEY=VALUE` pairs that change the recipe for the corpus's size.
        start_from: A model to begin with, as of `train_recipe`.
        compare_with: Another model of the same corpus and direction, with which the translations of
            the test set are compared.

    Raises:
        UserError: the folder holds a run of other settings, or of another version of the corpus; or
            the two models cannot be compared.
    """
    names = own_corpus_names()
    known = ", ".join(names) or "none"
    require(corpus in names, f"{corpus!r} is no corpus of your own: add it (there: {known})")
    src_lang, tgt_lang = parse_languages(direction)
    changes: dict[str, Any] = {"src_lang": src_lang, "tgt_lang": tgt_lang}
    changes |= parse_settings(settings, None)
    folder = out or Path("runs") / file.stem
    if compare_with is not None:
        _check_comparable(find_model_folder(compare_with), corpus, src_lang, tgt_lang)
    if not (folder / RUN).is_file():
        _train_or_resume(corpus, changes, folder, start_from)
    _check_run_matches_arguments(folder, corpus, changes, start_from)
    record = _evaluate_finished_run(folder, corpus)
    is_known = None if start_from is None else _is_known_by_test_source(folder, start_from)
    if is_known is not None:
        record["known_test_sources"] = sum(is_known)
    if compare_with is not None:
        record["comparison"] = _compare_with_model(folder, compare_with, is_known)
    write_json(file, record)


def _train_or_resume(
    corpus: str, changes: Mapping[str, Any], folder: Path, start_from: str | None
) -> None:
    """Begin a run or go on with it; Ctrl-C is passed on once it is saved."""
    recipe = recipe_for_corpus(corpus)
    if start_from is not None:
        recipe = with_network_of(recipe, read_recipe(find_model_folder(start_from)))
    result = train_recipe(
        recipe.override(dict(changes)), folder, resume=holds_run(folder), start_from=start_from
    )
    if result.interrupted:
        raise KeyboardInterrupt


def _check_run_matches_arguments(
    folder: Path, corpus: str, changes: Mapping[str, Any], start_from: str | None
) -> None:
    """Refuse a run of another corpus or version of it, of other settings, or begun otherwise."""
    recipe = read_recipe(folder)
    wanted = recipe.override({"corpus": corpus, **changes})
    differing = [
        f"{key} {_setting(recipe, key)}, not {_setting(wanted, key)}"
        for key in ("corpus", *changes)
        if _setting(recipe, key) != _setting(wanted, key)
    ]
    remedy = "choose another --out, or remove the folder"
    require(not differing, f"{folder} holds a run with {', '.join(differing)}: {remedy}")
    has_start = START_FROM_KEY in read_json(folder / RUN)
    began = "with the weights of a trained model" if has_start else "without --start-from"
    require(has_start == (start_from is not None), f"the run in {folder} began {began}: {remedy}")
    changed = corpora.changed_corpus_files(corpus, read_json_object(folder / DATA))
    message = f"{corpus} has changed since {folder} was trained on it ({', '.join(changed)})"
    require(not changed, f"{message}: train on it anew")


def _setting(recipe: Recipe, key: str) -> Any:
    """Return a recipe's setting, whatever section it is in."""
    sections = (recipe.data, recipe.model, recipe.training)
    return next(vars(section)[key] for section in sections if key in vars(section))


def _check_comparable(other: Path, corpus: str, src_lang: str, tgt_lang: str) -> None:
    """Refuse a model of another corpus or direction, and what `compare_bleu` cannot count."""
    data = read_recipe(other).data
    theirs, ours = (
        f"{data.corpus} {data.src_lang}-{data.tgt_lang}",
        f"{corpus} {src_lang}-{tgt_lang}",
    )
    require(theirs == ours, f"{other} was trained on {theirs}: compare with a model of {ours}")
    tokenizer = bleu_tokenizer(tgt_lang)
    message = f"two models are compared by BLEU ({DEFAULT_BLEU_TOKENIZER}), and {tgt_lang} has "
    require(tokenizer == DEFAULT_BLEU_TOKENIZER, f"{message}{tokenizer}: leave --compare-with out")


def _evaluate_finished_run(folder: Path, corpus: str) -> dict[str, Any]:
    """Return a run's origin and its figures on the test set, and what its corpus was made of."""
    record = load_model_origin(folder)
    for part in ("training", "evaluation"):
        record[part]["command"] = _with_folder_names_only(record[part]["command"])
    if START_FROM_KEY in record["training"]:
        start = record["training"][START_FROM_KEY]
        start["model"] = _with_folder_names_only(start["model"])
    description = read_json(own_corpora_folder() / corpus / DESCRIPTION_FILE_NAME)
    record["corpus"] = {key: description.get(key) for key in RECORDED_CORPUS_KEYS}
    figures = evaluate_saved_model(folder, TEST_SPLIT)
    # It tells of the machine and of what else it does.
    del figures["sentences_per_second"]
    return record | {"figures": figures}


def _with_folder_names_only(command: str) -> str:
    """Return a command in which the paths of one computer are as if they lay in runs/."""
    words = shlex.split(command)
    return shlex.join(
        f"runs/{Path(word).name}" if Path(word).is_absolute() else word for word in words
    )


def _is_known_by_test_source(folder: Path, start_from: str) -> list[bool] | None:
    """Return for each test source whether the start model's training text has it, on any side.

    Up to case and punctuation; None where that text is not on this computer.
    """
    data, theirs = read_recipe(folder).data, read_recipe(find_model_folder(start_from)).data
    text = corpora.load_without_download(theirs.corpus, "train", theirs.src_lang, theirs.tgt_lang)
    if text is None:
        return None
    known = set(map(grouping_key, (*text.src, *text.tgt)))
    test = corpora.load(data.corpus, TEST_SPLIT, data.src_lang, data.tgt_lang)
    return [grouping_key(source) in known for source in test.src]


def _compare_with_model(
    folder: Path, other: str, is_known: Sequence[bool] | None
) -> dict[str, Any]:
    """Return how far a run is ahead of another model by BLEU, on the test set and on new sources.

    New are the sources that the start model's training text lacks, as `is_known` says of each.
    """
    data = read_recipe(folder).data
    text = corpora.load(data.corpus, TEST_SPLIT, data.src_lang, data.tgt_lang)
    theirs, ours = (
        Translator.load(model, pick_device()).translate(text.src) for model in (other, folder)
    )
    parts = {"all": list(range(len(text)))}
    if is_known is not None:
        parts["new_sources"] = [i for i in parts["all"] if not is_known[i]]
    compared: dict[str, Any] = {"with": _with_folder_names_only(other)}
    for name, rows in parts.items():
        points = compare_bleu(
            [theirs[i] for i in rows],
            [ours[i] for i in rows],
            [text.accepted_translations[i] for i in rows],
        )
        rounded = {key: round(value, 4) for key, value in points._asdict().items()}
        compared[name] = {"sentences": len(rows)} | rounded
    return compared
