"""What the page's weights in 8 bits cost: translations that stay the same, and BLEU.

Not in the paper. The page that translates in the browser has the shipped models with
`engines.int8_weights`; here Python translates with the same numbers.
"""

import gzip
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load
from torch import Tensor

from engines.int8_weights import SCALE_SUFFIX, write_int8_model
from transformer.data import corpora
from transformer.evaluation.scores import bleu
from transformer.models.folder import WEIGHTS
from transformer.models.translator import Translator
from transformer.models.weights import load_weights
from transformer.support.files import read_json, write_json
from transformer.support.folders import models_folder
from transformer.support.provenance import provenance


def dequantized(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights as float32, of int8 matrices and the scales of their groups.

    Args:
        tensors: As `engines.int8_weights` writes them, by name.
    """
    weights = {}
    for name, tensor in tensors.items():
        if tensor.dtype == torch.int8:
            scales = tensors[name + SCALE_SUFFIX].float()  # (rows, groups)
            steps = scales.repeat_interleave(tensor.shape[1] // scales.shape[1], dim=1)
            weights[name] = tensor * steps
        elif not (name.endswith(SCALE_SUFFIX) and name.removesuffix(SCALE_SUFFIX) in tensors):
            weights[name] = tensor.float()
    return weights


def load_int8_translator(model: str) -> Translator:
    """Return a shipped model with the weights that the page has of it."""
    translator = Translator.load(model)
    with tempfile.TemporaryDirectory() as folder:
        write_int8_model(models_folder() / model, Path(folder))
        path = Path(folder) / WEIGHTS
        weights = load(gzip.decompress(path.read_bytes()))
        load_weights(translator.model, dequantized(weights), path)
    return translator


def record_int8_agreement(root: Path, file: Path) -> None:
    """Translate each test set with the page's models, as shipped and in 8 bits; record both."""
    names = read_json(root / "docs" / "live" / "models.json")["models"]
    models = {name: _compare(name) for name in names}
    origin = provenance(torch.device("cpu"))
    write_json(file, {"models": models, "evaluation": origin})


def _compare(model: str) -> dict[str, Any]:
    """Return how many translations of a model's test set are equal, and both BLEU scores."""
    shipped, int8 = Translator.load(model), load_int8_translator(model)
    data = shipped.recipe.data
    split = corpora.default_test_split(data.corpus)
    text = corpora.load(data.corpus, split, data.src_lang, data.tgt_lang)
    before, after = (translator.translate(text.src) for translator in (shipped, int8))
    scores = [
        bleu(translations, text.accepted_translations, data.tgt_lang)["score"]
        for translations in (before, after)
    ]
    return {
        "split": split,
        "sentences": len(text),
        "equal": sum(a == b for a, b in zip(before, after, strict=True)),
        "bleu": scores[0],
        "bleu_int8": scores[1],
    }
