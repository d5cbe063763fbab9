"""The page that translates in the browser, with a model of one's own in it.

Not in the paper. What is written is a folder for any server of files:

    index.html, style.css, icon.svg,
    preview.png, js/                      the page (docs/live/ of the repository)
    models.json                           the model that it offers, with sentences to try
    models/NAME/                          its recipe, tokenizers, weights and check sums
    LICENSE                               of the page's code
"""

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engines.tables import check_paper_parts
from engines.tokenizer_json import check_tokenizer_exportable
from transformer.config import Recipe, network_in_words
from transformer.data import corpora
from transformer.data.own_corpora import SAMPLE_SEED, own_corpus_names
from transformer.model import Transformer
from transformer.models.folder import (
    MANIFEST,
    RECIPE,
    SRC_TOKENIZER,
    TGT_TOKENIZER,
    WEIGHTS,
    read_model,
    write_manifest,
)
from transformer.support.errors import UserError, require
from transformer.support.files import (
    check_writable_folder,
    folder_written_whole,
    read_json,
    write_json,
)
from transformer.support.folders import course_live_page_folder, find_model_folder, licence_file
from transformer.support.signatures import check_argument_types

MODEL_LIST_FILE_NAME = "models.json"
# The course's own page has lists of its models' words, too.
COPIED_PAGE_FILES = ("index.html", "style.css", "icon.svg", "preview.png", "js")
COPIED_MODEL_FILES = (RECIPE, SRC_TOKENIZER, TGT_TOKENIZER, WEIGHTS)
NUM_SAMPLES = 4
MAX_RANDOM_SAMPLE_CHARACTERS = 80
MAX_GIVEN_SAMPLE_CHARACTERS = 1000


@check_argument_types
def write_live_page(
    model: str | Path, out: Path, sentences: Sequence[str] = (), replace: bool = False
) -> Path:
    """Write the live page with this model in it, a folder or a shipped one; return `out`.

    Args:
        model: What the page offers.
        out: The folder to write.
        sentences: That the page offers to try. Where none is given: those of a shipped model, or
            some of the test set, drawn by a seeded chance, if its corpus is the user's own or the
            embedded one.
        replace: Whether an earlier page in `out` is replaced, at once (see `replace_folder`).

    Raises:
        UserError: `out` exists (with `replace`: and is no such page) or cannot be written, or the
            page cannot run the model. Nothing is then made.
    """
    if replace and out.is_dir():
        require(
            (out / MODEL_LIST_FILE_NAME).is_file(),
            f"{out} holds no {MODEL_LIST_FILE_NAME}, so it is no page",
        )
    else:
        require(not out.exists(), f"{out} exists: add --replace, or give another folder")
    for sentence in sentences:
        fits = bool(sentence.strip()) and len(sentence) <= MAX_GIVEN_SAMPLE_CHARACTERS
        message = f"a sentence to try has {len(sentence):,} characters"
        require(fits, f"{message}: give 1 to {MAX_GIVEN_SAMPLE_CHARACTERS:,}, not blanks alone")
    check_writable_folder(out)
    folder = find_model_folder(model)
    name = folder.resolve().name
    recipe = _require_page_supports_model(model, folder)
    listed = _models_json_fields(name, recipe, list(sentences))
    with folder_written_whole(out, replace) as page:
        _copy_page(page)
        _copy_model(folder, page / "models" / name)
        write_json(page / MODEL_LIST_FILE_NAME, listed)
    return out


def _require_page_supports_model(model: str | Path, folder: Path) -> Recipe:
    """Return a model's recipe; raise where the page has no code for such a model."""
    description, network = read_model(folder)
    if not isinstance(network, Transformer):
        kind = network_in_words(description.recipe.model)
        raise UserError(f"{model} is {kind}, and the page runs Transformers: name another")
    check_paper_parts(network)
    check_tokenizer_exportable(description.src_tokenizer)
    check_tokenizer_exportable(description.tgt_tokenizer)
    return description.recipe


def _models_json_fields(name: str, recipe: Recipe, sentences: list[str]) -> dict[str, Any]:
    """Return the content of models.json: this model alone, what it is and whose terms hold."""
    data = recipe.data
    shipped = read_json(course_live_page_folder() / MODEL_LIST_FILE_NAME)["models"].get(name, {})
    is_shipped = (shipped.get("src_lang"), shipped.get("tgt_lang")) == (
        data.src_lang,
        data.tgt_lang,
    )
    licence = corpora.corpus_licence(data.corpus).rstrip(".")
    trained = f"trained on the corpus {data.corpus} (licence: {licence})"
    terms = (
        f"The page's code is the course's, under the MIT licence (LICENSE). The model {name} was "
        f"{trained}: use it under the terms of that text."
    )
    described = {
        "src_lang": data.src_lang,
        "tgt_lang": data.tgt_lang,
        "group": "The model of this page",
        "about": shipped["about"] if is_shipped else f"It was {trained}.",
        "samples": sentences or (shipped["samples"] if is_shipped else _draw_sentences(recipe)),
    }
    return {"terms": terms, "models": {name: described}}


def _draw_sentences(recipe: Recipe) -> list[str]:
    """Return some short sources of the test set; none where that would have to be fetched."""
    data = recipe.data
    if data.corpus not in {*own_corpus_names(), "embedded"}:
        return []
    split = corpora.default_test_split(data.corpus)
    sources = corpora.load(data.corpus, split, data.src_lang, data.tgt_lang).src
    short = sorted({source for source in sources if len(source) <= MAX_RANDOM_SAMPLE_CHARACTERS})
    return random.Random(SAMPLE_SEED).sample(short, min(NUM_SAMPLES, len(short)))


def _copy_page(page: Path) -> None:
    """Copy the page's own files, and the licence of its code."""
    for name in COPIED_PAGE_FILES:
        source = course_live_page_folder() / name
        copy = shutil.copytree if source.is_dir() else shutil.copyfile
        copy(source, page / name)
    shutil.copyfile(licence_file(), page / "LICENSE")


def _copy_model(folder: Path, copy: Path) -> None:
    """Copy what the page reads of a model, and prove that the copy is one."""
    copy.mkdir(parents=True)
    for name in COPIED_MODEL_FILES:
        shutil.copyfile(folder / name, copy / name)
    # A model that is saved meanwhile is found out by the sums that came with it.
    if (folder / MANIFEST).is_file():
        shutil.copyfile(folder / MANIFEST, copy / MANIFEST)
    read_model(copy)
    write_manifest(copy)
