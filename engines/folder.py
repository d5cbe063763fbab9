"""A trained model in the form that another engine serves: weights, tokenizers, how to use them.

Not in the paper. What is written needs nothing of the course:

    model.bin, config.json, *_vocabulary.json  for CTranslate2 (see `to_ctranslate2`)
    encoder.onnx, decoder.onnx                 for ONNX Runtime (see `to_onnx`)
    src_tokenizer.json, tgt_tokenizer.json     for both, read by the library `tokenizers`
    translate.py                               uses them: to run, to import or to rewrite
    README.md                                  what to install, and whose terms hold

`to_transformers` says what stands in the place of the first three for transformers.
"""

import importlib.util
import os
from pathlib import Path
from typing import NamedTuple

from engines.tokenizer_json import (
    check_tokenizer_exportable,
    token_names_by_id,
    write_tokenizer_json,
)
from transformer.config import Recipe, network_in_words
from transformer.data.corpora import corpus_licence
from transformer.data.tokenizers import BPETokenizer
from transformer.model import Transformer
from transformer.models.folder import SRC_TOKENIZER, TGT_TOKENIZER, read_model
from transformer.support.errors import UserError, require, unknown_name_error
from transformer.support.files import (
    check_writable_folder,
    folder_written_whole,
    read_json,
    write_atomically,
)
from transformer.support.folders import CARD_FILE_NAME, find_model_folder

SCRIPT = "translate.py"


class ExportEngine(NamedTuple):
    """What a model can be exported to."""

    title: str  # its name, for people
    writer: str  # the package that writes its files
    packages: str  # what serving needs, for pip
    search: str  # how translate.py searches, in a few lines


ENGINES = {
    "ctranslate2": ExportEngine(
        "CTranslate2",
        "ctranslate2",
        "ctranslate2 tokenizers",
        "It searches as the paper does, with 4 beams, a length penalty of 0.6 and at most 50\n"
        "tokens more than the source has: hypotheses are ranked by ((5 + length) / 6) ** 0.6, not\n"
        "by the engine's own length ** 0.6. `translate(sentences, beam_size=1)` is greedy.",
    ),
    "onnx": ExportEngine(
        "ONNX Runtime",
        "onnx",
        "onnxruntime tokenizers",
        "It searches greedily, with keys and values cached: `greedy_search` is the loop around\n"
        "the two graphs, whose caches can be reordered along their second axis for a search with\n"
        "beams.",
    ),
    "transformers": ExportEngine(
        "transformers",
        "safetensors",
        "transformers torch",
        "It searches as the paper does, with 4 beams, a length penalty of 0.6 and at most 50\n"
        "tokens more than the source has: hypotheses are ranked by ((5 + length) / 6) ** 0.6, not\n"
        "by length ** 0.6 as `generate` alone does.\n"
        "`translate(sentences, beam_size=1)` is greedy.\n"
        "`AutoModelForSeq2SeqLM` and `AutoTokenizer` load the folder; the Hub takes it as it is.\n"
        "Before you train it further, say that its sinusoids are fixed, which loading forgets:\n"
        "`model.model.encoder.embed_positions.requires_grad_(False)`, and the decoder's too.",
    ),
}

README_TEMPLATE = """# {name} for {title}: {src_lang} to {tgt_lang}

    pip install {packages}
    python translate.py < sentences.txt > translations.txt

`translate.py` is short, and made to be read or imported; nothing of the course is needed.
{search}

The tokenizers write a text as the training text was written, cut it off at {max_len} tokens,
and add the end mark.

Made with `attention-course export {model} --to {engine}`, and trained on the corpus
`{corpus}` (licence: {licence}). The weights are learned from that data: use them under its
terms.
"""


def export_model(model: str | Path, engine: str, out: Path, replace: bool = False) -> Path:
    """Write a trained model, a folder or a shipped one, for one of `ENGINES`; return `out`.

    With `replace` it takes the place of an earlier export at once (see `replace_folder`).

    Raises:
        UserError: `out` exists (with `replace`: and is no export) or cannot be made, the engine's
            package is not installed, the model cannot be read, or the engine has no form for it.
            Nothing is then made.
    """
    if engine not in ENGINES:
        raise unknown_name_error("engine", engine, ENGINES)
    if replace and out.is_dir():
        # Nobody's other files are deleted by a slip of the finger.
        require((out / SCRIPT).is_file(), f"{out} holds no {SCRIPT}, so it is no export: remove it")
    elif os.path.lexists(out):
        raise UserError(f"{out} exists: remove it first (--replace), or give another folder")
    check_writable_folder(out)
    package = ENGINES[engine].writer
    if importlib.util.find_spec(package) is None:
        raise UserError(
            f"{package} is not installed: python -m pip install {package}, or install the course "
            "with its extra [export]"
        )
    description, network = read_model(find_model_folder(model))
    if not isinstance(network, Transformer):
        kind = network_in_words(description.recipe.model)
        raise UserError(f"{model} is {kind}, and only Transformers are exported: name another")
    source = check_tokenizer_exportable(description.src_tokenizer)
    target = check_tokenizer_exportable(description.tgt_tokenizer)
    readme = _readme_text(model, engine, description.recipe)
    with folder_written_whole(out, replace) as folder:
        _write_engine_files(folder, engine, network, source, target)
        write_atomically(folder / "README.md", readme.encode())
    return out


def _write_engine_files(
    folder: Path, engine: str, network: Transformer, source: BPETokenizer, target: BPETokenizer
) -> None:
    """Write weights, tokenizers and translate.py."""
    if engine == "ctranslate2":
        from engines import to_ctranslate2

        to_ctranslate2.write_ctranslate2_model(
            network, token_names_by_id(source), token_names_by_id(target), folder
        )
    elif engine == "onnx":
        from engines import to_onnx

        to_onnx.write_onnx_graphs(network, folder)
    else:
        from engines import to_transformers

        to_transformers.write_transformers_model(network, source, target, folder)
    if engine != "transformers":  # It has one tokenizer for both sides.
        write_tokenizer_json(source, network.config.max_len, folder / SRC_TOKENIZER)
        write_tokenizer_json(target, network.config.max_len, folder / TGT_TOKENIZER)
    script = Path(__file__).with_name(f"serve_{engine}.py")
    write_atomically(folder / SCRIPT, script.read_bytes())


def _readme_text(model: str | Path, engine: str, recipe: Recipe) -> str:
    """Return what a person needs to serve the model; for the Hub it has a head of its own."""
    head = ""
    if engine == "transformers":
        from engines.to_transformers import hub_card_front_matter

        card = find_model_folder(model) / CARD_FILE_NAME
        figures = read_json(card)["figures"] if card.exists() else None
        head = hub_card_front_matter(Path(model).name, recipe.data, figures)
    return head + README_TEMPLATE.format(
        name=Path(model).name,
        model=model,
        engine=engine,
        **ENGINES[engine]._asdict(),
        src_lang=recipe.data.src_lang,
        tgt_lang=recipe.data.tgt_lang,
        max_len=recipe.model.max_len,
        corpus=recipe.data.corpus,
        licence=corpus_licence(recipe.data.corpus).rstrip("."),
    )
