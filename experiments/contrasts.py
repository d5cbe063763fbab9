"""What BLEU hardly sees: is the one word kept that turns the sense round? Not in the paper.

`data/corpus/contrasts.tsv` has pairs of sentences that differ in one thing. A model is asked twice
about each: which of the two translations it thinks the likelier, and what it says itself.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from transformer.config import BEAM_SIZE, LENGTH_PENALTY, PAD_ID
from transformer.data.batches import Example, collate
from transformer.data.parallel import tidy
from transformer.evaluation.significance import share_interval
from transformer.models.folder import RUN
from transformer.models.shipped import find_model
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import check_file, read_json, write_json
from transformer.support.machine import pick_device
from transformer.support.paths import corpus_folder
from transformer.support.provenance import provenance

LANGUAGES = ("de", "en", "fr")
PHENOMENA = ("negation", "gender", "number", "roles")
COLUMNS = ("corpus", "phenomenon", *LANGUAGES)

Cue = frozenset[str]  # words of which any will do


class Side(NamedTuple):
    """One of two sentences, in one language.

    Attributes:
        accepted: Every way to put it; the first is the one given to a model to read.
        cues: For each of them what an output must hold, in this order; none at all where
            the sentence is the one that lacks something (a negation).
    """

    accepted: tuple[str, ...]
    cues: tuple[tuple[Cue, ...], ...]


class Contrast(NamedTuple):
    """Two sentences that differ in one thing.

    Attributes:
        corpus: Whose words they are made of.
        phenomenon: One of `PHENOMENA`.
        sides: By language, the first and the second sentence.
    """

    corpus: str
    phenomenon: str
    sides: dict[str, tuple[Side, Side]]


def load_contrasts(file: Path | None = None) -> list[Contrast]:
    """Read the table of pairs.

    Args:
        file: None means the course's own; `contrast_cues.tsv` must lie beside it.

    Raises:
        UserError: a file is missing, or a line is not as `data/corpus/README.md` says.
    """
    file = file or corpus_folder() / "contrasts.tsv"
    alike = _read_cues(file.with_name("contrast_cues.tsv"))
    contrasts = []
    for place, row in _rows(file, COLUMNS):
        corpus, phenomenon, *texts = row
        if phenomenon not in PHENOMENA:
            raise UserError(f"{place}: {phenomenon!r} is none of {', '.join(PHENOMENA)}")
        sides = {
            lang: _read_sides(place, lang, text, alike)
            for lang, text in zip(LANGUAGES, texts, strict=True)
        }
        contrasts.append(Contrast(corpus, phenomenon, sides))
    return contrasts


def _rows(file: Path, columns: Sequence[str]) -> Iterable[tuple[str, list[str]]]:
    """Give each row of a table with its place, for messages; lines that open with # are remarks."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {file}: {error}; get it again with git checkout") from error
    head, *rows = [
        (f"{file.name}, line {number}", line.split("\t"))
        for number, line in enumerate(lines, start=1)
        if line and not line.startswith("#")
    ] or [(file.name, [])]
    for place, row in [head, *rows]:
        if len(row) != len(columns) or not all(row):
            raise UserError(f"{place}: {len(row)} columns, none empty: give {', '.join(columns)}")
    if tuple(head[1]) != tuple(columns):
        raise UserError(f"{head[0]}: the first line must name the columns: {', '.join(columns)}")
    return rows


def _read_cues(file: Path) -> dict[tuple[str, str], Cue]:
    """Read which words count as one, by language and word."""
    alike = {}
    for place, (lang, text) in _rows(file, ("language", "words")):
        for word in text.split():
            if (lang, word) in alike:
                raise UserError(f"{place}: {word!r} stands twice: a word belongs to one line")
            alike[lang, word] = frozenset(text.split())
    return alike


def _read_sides(
    place: str, lang: str, text: str, alike: dict[tuple[str, str], Cue]
) -> tuple[Side, Side]:
    """Take a cell apart: "A man is {/*not} here. | ..." is two sentences, each in several ways."""
    first, second = (
        _make_side(place, lang, [_choose(place, way, option) for way in text.split("|")], alike)
        for option in (0, 1)
    )
    if not all(a or b for a, b in zip(first.cues, second.cues, strict=True)):
        raise UserError(f"{place}: {text!r} has no cue: put * before the word that tells")
    for side in (first, second):
        if any(side.cues) and not all(side.cues):
            raise UserError(f"{place}: {text!r} has cues for some translations only")
    if set(first.accepted) & set(second.accepted):
        raise UserError(f"{place}: {text!r} says the same twice: the two must differ")
    return first, second


def _choose(place: str, way: str, option: int) -> str:
    """Take the first or the second part of every {a/b}."""
    for braces in re.findall(r"\{([^}]*)\}", way):
        if braces.count("/") != 1:
            raise UserError(f"{place}: {{{braces}}} must have two parts: write {{a/b}}")
    return re.sub(r"\{([^}/]*)/([^}/]*)\}", lambda found: found[option + 1], way)


def _make_side(
    place: str, lang: str, ways: Sequence[str], alike: dict[tuple[str, str], Cue]
) -> Side:
    for way in ways:
        if re.search(r"\*(?!\w)", way):
            raise UserError(f"{place}: no word after * in {way!r}: put it before the cue")
    marked = [[split_words(lang, part)[0] for part in way.split("*")[1:]] for way in ways]
    cues = [tuple(alike.get((lang, word), frozenset((word,))) for word in row) for row in marked]
    return Side(tuple(tidy(way.replace("*", "")) for way in ways), tuple(cues))


def split_words(lang: str, text: str) -> list[str]:
    """Cut a text into lower-cased words: isn't is one, l'homme is two, l' and homme."""
    pattern = r"\w+'?" if lang == "fr" else r"\w+(?:'\w+)?"
    return re.findall(pattern, text.lower().replace("\u2019", "'"))


WAYS = ("says", "prefers", "prefers_per_token")
BATCH_SENTENCES = 64


def keeps(lang: str, said: str, own: Side, other: Side) -> bool:
    """Say whether a translation has the cues of its own side, and not those of the other.

    Where a side has none, the other's must be absent. Cues see words and their order; a
    sentence that is wrong in all else passes.
    """
    words = split_words(lang, said)
    if not any(own.cues):
        return not _has_cues(words, other)
    return _has_cues(words, own) and not (any(other.cues) and _has_cues(words, other))


def _has_cues(words: Sequence[str], side: Side) -> bool:
    """Say whether the cues of one accepted translation stand among words, in their order."""

    def in_order(row: Sequence[Cue]) -> bool:
        rest = iter(words)
        return all(any(word in cue for word in rest) for cue in row)

    return any(in_order(row) for row in side.cues)


@torch.inference_mode()
def log_probabilities(
    translator: Translator, pairs: Sequence[tuple[str, str]]
) -> list[tuple[float, int]]:
    """Measure how likely a model thinks each target, given its source.

    Args:
        translator: The model.
        pairs: Source and target sentences.

    Returns:
        For each pair the log probability of the whole target (nats) and its tokens, both
        with eos.
    """
    source, target = translator.src_tokenizer, translator.tgt_tokenizer
    found = []
    for start in range(0, len(pairs), BATCH_SENTENCES):
        some = pairs[start : start + BATCH_SENTENCES]
        examples = [Example(source.encode(src), target.encode(tgt)) for src, tgt in some]
        batch = collate(examples).to(translator.device)
        log_probs = translator.model(batch.src, batch.tgt_in).float().log_softmax(dim=-1)
        of_tokens = log_probs.gather(-1, batch.tgt_out[..., None]).squeeze(-1)
        totals = of_tokens.masked_fill(batch.tgt_out == PAD_ID, 0.0).sum(dim=1)
        tokens = (batch.tgt_out != PAD_ID).sum(dim=1)
        found += list(zip(totals.tolist(), tokens.tolist(), strict=True))
    return found


def measure_contrasts(
    translator: Translator,
    contrasts: Sequence[Contrast],
    beam_size: int = BEAM_SIZE,
    alpha: float = LENGTH_PENALTY,
) -> dict[str, Any]:
    """Ask a model about both sentences of each pair.

    Args:
        translator: The model.
        contrasts: Pairs in its words.
        beam_size, alpha: Of the search.

    Returns:
        phenomena: for each its pairs and, for each of `WAYS`, in how many of them the first
        sentence, the second and both came out right, with the share of "both" and its
        interval (see `share_interval`); a model deaf to the difference has 0 of "both".
        sentences: for each sentence phenomenon, source, said, kept (by `keeps`), and by how
        many nats the best accepted translation leads the other side's, in all (margin) and
        per token (margin_per_token).

    Raises:
        UserError: there are no pairs.
    """
    if not contrasts:
        raise UserError("no pairs in the words of this model's corpus: add some to contrasts.tsv")
    src_lang, tgt_lang = translator.recipe.data.src_lang, translator.recipe.data.tgt_lang
    asked = [
        (contrast, source.accepted[0], own, other)
        for contrast in contrasts
        for source, own, other in zip(
            contrast.sides[src_lang],
            contrast.sides[tgt_lang],
            contrast.sides[tgt_lang][::-1],
            strict=True,
        )
    ]
    said = translator.translate([source for _, source, _, _ in asked], beam_size, alpha)
    sentences = [
        {"phenomenon": contrast.phenomenon, "source": source, "said": text}
        | {"kept": keeps(tgt_lang, text, own, other)}
        | _margins(translator, source, own, other)
        for text, (contrast, source, own, other) in zip(said, asked, strict=True)
    ]
    return {"phenomena": _tally(sentences), "sentences": sentences}


def _margins(translator: Translator, source: str, own: Side, other: Side) -> dict[str, float]:
    """Measure by how much the best translation of its own side leads the other's (nats)."""
    targets = [*own.accepted, *other.accepted]
    scores = log_probabilities(translator, [(source, target) for target in targets])
    parted = scores[: len(own.accepted)], scores[len(own.accepted) :]
    total = [max(total for total, _ in some) for some in parted]
    mean = [max(total / tokens for total, tokens in some) for some in parted]
    return {
        "margin": round(total[0] - total[1], 3),
        "margin_per_token": round(mean[0] - mean[1], 3),
    }


def _tally(sentences: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Count each phenomenon's pairs; the first and the second sentence take turns."""
    figures: dict[str, Any] = {}
    for name in PHENOMENA:
        some = [sentence for sentence in sentences if sentence["phenomenon"] == name]
        if not some:
            continue
        figures[name] = {"pairs": len(some) // 2}
        for way, right in zip(WAYS, zip(*map(_right, some), strict=True), strict=True):
            first, second = right[::2], right[1::2]
            both = sum(a and b for a, b in zip(first, second, strict=True))
            interval = share_interval(both, len(first))
            figures[name][way] = {"first": sum(first), "second": sum(second), "both": both}
            figures[name][way] |= {"share": round(both / len(first), 3)}
            figures[name][way] |= {"interval": [round(end, 3) for end in interval]}
    return figures


def _right(sentence: dict[str, Any]) -> tuple[bool, bool, bool]:
    """Give the verdict of each of `WAYS`."""
    return sentence["kept"], sentence["margin"] > 0, sentence["margin_per_token"] > 0


def record_contrasts(model: str, file: Path) -> dict[str, Any]:
    """Measure a model on the pairs in its corpus's words, and write the figures with their origin.

    Args:
        model: A model folder, or the name of a shipped one.
        file: JSON to write.

    Returns:
        What is written: recipe, corpus, src_lang, tgt_lang, beam_size, alpha, what
        `measure_contrasts` gives, training and evaluation.

    Raises:
        UserError: the model cannot be had, there are no pairs in its corpus's words or its
            languages, or the file cannot be written.
    """
    check_file(file)
    folder = find_model(model)
    training = read_json(folder / RUN)  # fails before the work, if at all
    translator = Translator.load(folder, pick_device())
    data = translator.recipe.data
    for lang in (data.src_lang, data.tgt_lang):
        if lang not in LANGUAGES:
            raise UserError(f"this model has {lang}, and the pairs are in {', '.join(LANGUAGES)}")
    contrasts = [contrast for contrast in load_contrasts() if contrast.corpus == data.corpus]
    record: dict[str, Any] = {"recipe": translator.recipe.name, "corpus": data.corpus}
    record |= {"src_lang": data.src_lang, "tgt_lang": data.tgt_lang}
    record |= {"beam_size": BEAM_SIZE, "alpha": LENGTH_PENALTY}
    record |= measure_contrasts(translator, contrasts)
    record |= {"training": training, "evaluation": provenance(translator.device)}
    write_json(file, record)
    return record
