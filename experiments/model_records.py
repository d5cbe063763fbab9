"""Records of one measurement of one model: with the model's own training run, and their origin.

Not in the paper.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lessonkit.analysis.bleu_variants import score_five_ways
from transformer.data import corpora
from transformer.models.folder import RUN
from transformer.models.translator import Translator
from transformer.support.files import read_json, write_json
from transformer.support.folders import find_model_folder
from transformer.support.provenance import provenance
from transformer.training.devices import pick_device


def record_bleu_five_ways(model: str, file: Path, beam: int) -> dict[str, Any]:
    """Score a model on its corpus's first test set; return the points."""

    def measure(translator: Translator) -> dict[str, Any]:
        data = translator.recipe.data
        split = corpora.default_test_split(data.corpus)
        text = corpora.load(data.corpus, split, data.src_lang, data.tgt_lang)
        about = {"split": split, "sentences": len(text), "beam_size": beam}
        return about | score_five_ways(translator, text, beam)

    points: dict[str, Any] = measure_model_into_record(model, file, measure)["points"]
    return points


def measure_model_into_record(
    model: str, file: Path, measure: Callable[[Translator], dict[str, Any]]
) -> dict[str, Any]:
    """Take one measure of a model, and write it with its origin."""
    folder = find_model_folder(model)
    training = read_json(folder / RUN)  # fails before the work, if at all
    translator = Translator.load(folder, pick_device())
    data = translator.recipe.data
    record: dict[str, Any] = {"recipe": translator.recipe.name, "corpus": data.corpus}
    record |= {"src_lang": data.src_lang, "tgt_lang": data.tgt_lang} | measure(translator)
    record |= {"training": training, "evaluation": provenance(translator.device)}
    write_json(file, record)
    return record
