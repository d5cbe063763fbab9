"""Make a shipped model of a training run: `python -m experiments ship RUN NAME`.

Not in the paper. The weights go into half precision, and all that the card says was measured
with these. `tests/models/test_shipped.py` measures every card's slice again.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from transformer.config import PAPER_PARTS_NAME, Recipe, network_in_words
from transformer.data import corpora
from transformer.data.corpora import default_test_split
from transformer.data.parallel import ParallelText
from transformer.evaluation.bleu_tokenizers import bleu_tokenizer
from transformer.evaluation.evaluate import evaluate_saved_model
from transformer.evaluation.scores import bleu
from transformer.models.folder import (
    LOG,
    RUN,
    WEIGHTS,
    read_description,
    read_recipe,
    write_description,
    write_manifest,
)
from transformer.models.translator import Translator
from transformer.models.weights import load_tensors, save_tensors
from transformer.support.errors import UserError, require
from transformer.support.files import check_writable_folder, read_json, write_atomically, write_json
from transformer.support.folders import (
    CARD_FILE_NAME,
    find_model_folder,
    models_folder,
    shipped_model_names,
)
from transformer.support.provenance import provenance
from transformer.training.devices import pick_device
from transformer.training.report import read_log

MAX_WEIGHT_BYTES = 8_000_000
NUM_SLICE_SENTENCES = 100  # sentences of the test set, its first, that a test translates again

README_TEMPLATE_FILE = Path(__file__).with_name("card.md")  # of a shipped model's README

# Scores that not every model has, and baselines, as a card calls them.
SCORE_LABELS = {
    "bleu_tokenised_lowercased": "BLEU (spaCy tokens, lower case)",
    "parse_f1": "labelled F1",
}
BASELINE_LABELS = {
    "copied_source": "the source, copied",
    "nearest_training_source": "the translation of the most similar training sentence",
}


def ship_model(folder: Path, name: str) -> Path:
    """Make data/models/NAME of the model folder that training left, and measure it.

    Beside a model folder's own files, without the checkpoints, it holds card.json (figures, a
    slice's BLEU, the data's terms) and README.md. After a UserError nothing is made.
    """
    if not name or Path(name).name != name:
        raise UserError(f"{name!r} is no name of a model: give one without a folder, as de-en")
    out = models_folder() / name
    if out.exists():
        raise UserError(f"{out} exists: remove it first, or give another name")
    check_writable_folder(out)
    description = read_description(folder)
    training = read_json(folder / RUN)
    read_log(folder / LOG)  # only to refuse a run without one
    tensors, about = load_tensors(folder / WEIGHTS)
    halves = {key: tensor.half() for key, tensor in tensors.items()}
    if (size := sum(tensor.nbytes for tensor in halves.values())) > MAX_WEIGHT_BYTES:
        raise UserError(
            f"the weights take {size:,} bytes, over {MAX_WEIGHT_BYTES:,}: ship a smaller one"
        )
    models_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=models_folder(), prefix=".") as temporary:
        model = Path(temporary) / "model"
        write_description(model, description)
        save_tensors(model / WEIGHTS, halves, **about)
        for path in (folder / RUN, folder / LOG):
            shutil.copy(path, model / path.name)
        write_manifest(model)
        card = _measure_card(model)
        write_json(model / CARD_FILE_NAME, card)
        text = shipped_readme_text(name, description.recipe, card, training)
        write_atomically(model / "README.md", text.encode())
        model.rename(out)  # whole or not at all
    return out


def remeasure_shipped_model(model: str, file: Path) -> None:
    """Measure a shipped model again; write its card and README anew, and a record of that."""
    folder = find_model_folder(model)
    message = f"{model} is no shipped model: give one of {', '.join(shipped_model_names())}"
    require(model in shipped_model_names() and folder == models_folder() / model, message)
    training = read_json(folder / RUN)
    card = _measure_card(folder)
    origin = provenance(pick_device())
    write_json(
        file,
        {"model": model, "training": training, "evaluation": origin, "figures": card["figures"]},
    )
    write_json(folder / CARD_FILE_NAME, card)
    text = shipped_readme_text(model, read_recipe(folder), card, training)
    write_atomically(folder / "README.md", text.encode())


def slice_bleu(translator: Translator, text: ParallelText) -> float:
    """Score the translations of a text's first sentences; points of 0 to 100."""
    translations = translator.translate(text.src[:NUM_SLICE_SENTENCES])
    references = text.accepted_translations[:NUM_SLICE_SENTENCES]
    return float(bleu(translations, references, text.tgt_lang)["score"])


def shipped_readme_text(
    name: str, recipe: Recipe, card: dict[str, Any], run: dict[str, Any]
) -> str:
    """Write the card as a page for people."""
    figures = card["figures"]
    filled = run | {
        "name": name,
        "network": _kind_of_network(recipe),
        "pairs": card["pairs"],
        "licence": card["licence"].rstrip(".") + ".",
        "citation": card["citation"].rstrip("."),
        "figures": figures,
        "bleu": figures["bleu"],
        "bleu_tokenizer": bleu_tokenizer(figures["tgt_lang"]),
        "chrf": figures["chrf++"],
        "more_scores": "".join(
            f"| {label} | {figures[name]:.2f} |\n"
            for name, label in SCORE_LABELS.items()
            if name in figures
        ),
        "baselines": "\n".join(
            f"| {BASELINE_LABELS[name]} | {points['bleu']:.2f} | {points['chrf++']:.2f} |"
            for name, points in figures["baselines"].items()
            if points is not None
        ),
    }
    return README_TEMPLATE_FILE.read_text(encoding="utf-8").format_map(filled)


def _kind_of_network(recipe: Recipe) -> str:
    """Return "A Transformer", "A Transformer, with the parts `modern`," or the like."""
    name = network_in_words(recipe.model)
    others = "" if recipe.parts == PAPER_PARTS_NAME else f", with the parts `{recipe.parts}`,"
    return f"{name[0].upper()}{name[1:]}{others}"


def _measure_card(folder: Path) -> dict[str, Any]:
    """Return the figures of a shipped model, and the terms of its data."""
    translator = Translator.load(folder)
    data = translator.recipe.data
    corpus = corpora.find_corpus(data.corpus)
    split = default_test_split(corpus.name)
    test = corpora.load(corpus.name, split, data.src_lang, data.tgt_lang)
    figures = evaluate_saved_model(folder)
    # It tells of the machine and of what else it does.
    del figures["sentences_per_second"]
    return {
        "figures": figures,
        "slice_bleu": slice_bleu(translator, test),
        "pairs": len(corpora.load(corpus.name, "train", data.src_lang, data.tgt_lang)),
        "licence": corpus.licence,
        "citation": corpus.citation,
    }
