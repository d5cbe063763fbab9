"""Makes a shipped model of a training run: `python -m experiments ship RUN NAME`.

Not in the paper. The weights go into half precision, and all that the card says was measured
with them so. `tests/models/test_shipped.py` measures every card's slice again.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from transformer.config import Recipe, RecurrentConfig
from transformer.data import corpora
from transformer.data.corpora import default_split
from transformer.data.parallel import ParallelText
from transformer.evaluation.evaluate import evaluate_folder
from transformer.evaluation.scores import bleu
from transformer.models.checkpoint import load_tensors, save_tensors
from transformer.models.folder import (
    RUN,
    RunFolder,
    read_description,
    write_description,
    write_manifest,
)
from transformer.models.log import read_log
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import (
    CARD,
    check_folder,
    models_folder,
    read_json,
    require_checkout,
    write_atomically,
    write_json,
)

MOST_BYTES = 8_000_000  # of a shipped model's weights
SLICE = 100  # sentences of the test set, its first, that a test translates again

PAGE = """# {name}: {src_lang} to {tgt_lang}

{network} of {parameters:,} parameters, trained on {pairs:,} sentence pairs of the corpus
`{corpus}` alone. Use it by its name: `python -m transformer translate {name}`, or
`Translator.load("{name}")`.

| {corpus} {split}, beam {beam_size} | |
| --- | ---: |
| BLEU (sacreBLEU 13a) | {score:.2f} ({low:.2f} to {high:.2f}) |
| BLEU (spaCy tokens, lower case) | {bleu_tokenised_lowercased:.2f} |
| chrF | {chrf_score:.2f} |
{parses}| perplexity | {perplexity:.2f} |

Measured with `python -m transformer evaluate {name}`; the range is a 95% interval over resampled
sentences. sacreBLEU's signature: `{signature}`.

Trained on {date} on {hardware}: {steps:,} steps in {minutes:.1f} minutes, seed {seed}, commit
{commit}, with `{command}`. `recipe.json` has every setting, `log.jsonl` the curve.

What it is for: the lessons. It has read one kind of text and no other; on anything else it
errs, often fluently.

Training data: {licence} Cite: {citation}.
The weights are learned from that data: use them under its terms.
"""


def ship(run: Path, name: str) -> Path:
    """Make data/models/NAME of the model folder that training left, and measure it.

    Returns:
        The new folder. Beside a model folder's own files, without the checkpoints, it holds
        card.json (figures, a slice's BLEU, the data's terms) and README.md. After a UserError
        nothing is made.
    """
    require_checkout()
    if not name or Path(name).name != name:
        raise UserError(f"{name!r} is no name of a model: give one without a folder, as de-en")
    out = models_folder() / name
    if out.exists():
        raise UserError(f"{out} exists: remove it first, or give another name")
    check_folder(out)
    description = read_description(run)
    training = read_json(run / RUN)
    read_log(RunFolder(run).log)  # only to refuse a run without one
    tensors, about = load_tensors(RunFolder(run).model)
    halves = {key: tensor.half() for key, tensor in tensors.items()}
    if (size := sum(tensor.nbytes for tensor in halves.values())) > MOST_BYTES:
        raise UserError(f"the weights take {size:,} bytes, over {MOST_BYTES:,}: ship a smaller one")
    models_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=models_folder(), prefix=".") as temporary:
        made = Path(temporary) / "model"
        write_description(made, description)
        save_tensors(RunFolder(made).model, halves, **about)
        for path in (run / RUN, RunFolder(run).log):
            shutil.copy(path, made / path.name)
        write_manifest(made)
        card = _card(made)
        write_json(made / CARD, card)
        text = page(name, description.recipe, card, training)
        write_atomically(made / "README.md", text.encode())
        made.rename(out)  # whole or not at all
    return out


def slice_bleu(translator: Translator, text: ParallelText) -> float:
    """Score the translations of a text's first sentences; points of 0 to 100."""
    references = text.references or [[sentence] for sentence in text.tgt]
    score = bleu(translator.translate(text.src[:SLICE]), references[:SLICE])["score"]
    return float(score)


def page(name: str, recipe: Recipe, card: dict[str, Any], run: dict[str, Any]) -> str:
    """Write the card as a page for people."""
    figures = card["figures"]
    low, high = figures["bleu"]["interval"]
    lstm = isinstance(recipe.model, RecurrentConfig)
    return PAGE.format(
        name=name,
        network="An LSTM encoder-decoder" if lstm else "A Transformer",
        pairs=card["pairs"],
        licence=card["licence"].rstrip(".") + ".",
        citation=card["citation"].rstrip("."),
        score=figures["bleu"]["score"],
        signature=figures["bleu"]["signature"],
        low=low,
        high=high,
        chrf_score=figures["chrf"]["score"],
        parses=f"| labelled F1 | {figures['parse_f1']:.2f} |\n" if "parse_f1" in figures else "",
        **{key: figures[key] for key in ("corpus", "split", "src_lang", "tgt_lang")},
        **{key: figures[key] for key in ("parameters", "beam_size", "perplexity")},
        bleu_tokenised_lowercased=figures["bleu_tokenised_lowercased"],
        **{key: run[key] for key in ("date", "hardware", "steps", "minutes", "seed", "command")},
        commit=run["commit"][:7],
    )


def _card(folder: Path) -> dict[str, Any]:
    """Measure a shipped model, and name the terms of its data."""
    translator = Translator.load(folder)
    data = translator.recipe.data
    corpus = corpora.CORPORA[data.corpus]
    split = default_split(corpus.name)
    test = corpora.load(corpus.name, split, data.src_lang, data.tgt_lang)
    return {
        "figures": evaluate_folder(folder),
        "slice_bleu": slice_bleu(translator, test),
        "pairs": len(corpora.load(corpus.name, "train", data.src_lang, data.tgt_lang)),
        "licence": corpus.licence,
        "citation": corpus.citation,
    }
