"""Contrastive evaluation, of what BLEU hardly sees: one word that turns the meaning round.

Not in the paper. A model translates the pairs of `data/corpus/contrasts.tsv`, which differ in one
thing, and each translation must keep it.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import binomtest

from experiments.model_records import measure_model_into_record
from lessonkit.analysis.lexicon import read_embedded_corpus_tsv
from lessonkit.analysis.significance import CONFIDENCE_LEVEL, ConfidenceInterval
from transformer.config import BEAM_SIZE, LENGTH_PENALTY
from transformer.data.normalizers import normalize_whitespace
from transformer.models.translator import Translator
from transformer.support.errors import UserError

LANGUAGES = ("de", "en", "fr")
PHENOMENA = ("negation", "gender", "number", "roles")

CueWords = frozenset[str]  # words of which any will do


class SentenceWordingsAndCues(NamedTuple):
    """One of two sentences, in one language: every way to put it, with what each must hold.

    A model reads the first way. A sentence that lacks something (a negation) has no cues.
    """

    accepted: tuple[str, ...]
    cues: tuple[tuple[CueWords, ...], ...]  # in this order


class ContrastPair(NamedTuple):
    """Two sentences, by language, that differ in one of `PHENOMENA`, in a corpus's words."""

    corpus: str
    phenomenon: str
    sides: dict[str, tuple[SentenceWordingsAndCues, SentenceWordingsAndCues]]


def load_contrast_pairs() -> list[ContrastPair]:
    """Read the table of pairs, `data/corpus/contrasts.tsv` (its README says how it is written)."""
    alike = {
        (row["language"], word): frozenset(row["words"].split())
        for row in read_embedded_corpus_tsv("contrast_cues.tsv")
        for word in row["words"].split()
    }
    contrasts = []
    for row in read_embedded_corpus_tsv("contrasts.tsv"):
        sides = {}
        for lang in LANGUAGES:
            first = parse_contrast_sentence_wordings(lang, row[lang], 0, alike)
            second = parse_contrast_sentence_wordings(lang, row[lang], 1, alike)
            sides[lang] = first, second
        contrasts.append(ContrastPair(row["corpus"], row["phenomenon"], sides))
    return contrasts


def parse_contrast_sentence_wordings(
    lang: str, text: str, option: int, alike: Mapping[tuple[str, str], CueWords]
) -> SentenceWordingsAndCues:
    """Read one of the two sentences of a cell: "A man is {/*not} here. | Nobody ...".

    Ways to put it are divided by |; {a/b} stands where the sentences differ, and `option` 0 takes
    the first of these, 1 the second; * stands before a cue. `alike` has for a language and a word
    the words that count as one with it.
    """
    chosen = re.sub(r"\{([^}/]*)/([^}/]*)\}", lambda match: match[option + 1], text)
    ways = chosen.split("|")
    marked = [[split_lowercase_words(lang, part)[0] for part in way.split("*")[1:]] for way in ways]
    cues = [tuple(alike.get((lang, word), frozenset((word,))) for word in row) for row in marked]
    return SentenceWordingsAndCues(
        tuple(normalize_whitespace(way.replace("*", "")) for way in ways), tuple(cues)
    )


def split_lowercase_words(lang: str, text: str) -> list[str]:
    """Cut a text into lower-cased words: isn't is one, l'homme is two, l' and homme."""
    pattern = r"\w+'?" if lang == "fr" else r"\w+(?:'\w+)?"
    return re.findall(pattern, text.lower().replace("\u2019", "'"))


def has_own_cues_only(
    lang: str, translation: str, own: SentenceWordingsAndCues, other: SentenceWordingsAndCues
) -> bool:
    """Return whether a translation has the cues of its own side, and not those of the other.

    If a side has none, the other's must be absent. Only the words of cues and their order are
    checked: a sentence that is wrong in all else passes.
    """
    words = split_lowercase_words(lang, translation)
    if not any(own.cues):
        return not _has_cues_in_order(words, other)
    return _has_cues_in_order(words, own) and not (
        any(other.cues) and _has_cues_in_order(words, other)
    )


def _has_cues_in_order(words: Sequence[str], side: SentenceWordingsAndCues) -> bool:
    """Return whether the cues of one accepted translation stand among words, in their order."""

    def in_order(row: Sequence[CueWords]) -> bool:
        rest = iter(words)
        return all(any(word in cue for word in rest) for cue in row)

    return any(in_order(row) for row in side.cues)


def measure_contrasts(translator: Translator, contrasts: Sequence[ContrastPair]) -> dict[str, Any]:
    """Translate both sentences of each pair; no pairs are a UserError.

    Returns:
        phenomena: for each its pairs, and under "says" in how many of them the first sentence,
        the second and both came out right, with the share of "both" and its interval; a model
        that ignores the difference has 0 of "both". sentences: each with its translation, and
        whether it keeps its side.
    """
    if not contrasts:
        raise UserError("no pairs in the words of this model's corpus: add some to contrasts.tsv")
    src_lang, tgt_lang = translator.recipe.data.src_lang, translator.recipe.data.tgt_lang
    sources = [side.accepted[0] for contrast in contrasts for side in contrast.sides[src_lang]]
    translations = iter(translator.translate(sources))
    sentences = []
    for contrast in contrasts:
        first, second = contrast.sides[tgt_lang]
        source_sides = contrast.sides[src_lang]
        for source, own, other in zip(source_sides, (first, second), (second, first), strict=True):
            translation = next(translations)
            sentences.append(
                {
                    "phenomenon": contrast.phenomenon,
                    "source": source.accepted[0],
                    "said": translation,
                    "kept": has_own_cues_only(tgt_lang, translation, own, other),
                }
            )
    return {"phenomena": _count_by_phenomenon(sentences), "sentences": sentences}


def _count_by_phenomenon(sentences: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Count each phenomenon's pairs; the first and the second sentence take turns."""
    figures: dict[str, Any] = {}
    for name in PHENOMENA:
        kept = [sentence["kept"] for sentence in sentences if sentence["phenomenon"] == name]
        if not kept:
            continue
        first, second = kept[::2], kept[1::2]
        both = sum(one and other for one, other in zip(first, second, strict=True))
        figures[name] = {
            "pairs": len(first),
            "says": {
                "first": sum(first),
                "second": sum(second),
                "both": both,
                "share": round(both / len(first), 3),
                "interval": [round(end, 3) for end in wilson_interval(both, len(first))],
            },
        }
    return figures


def record_contrasts(model: str, file: Path) -> str:
    """Measure a model on the pairs in its corpus's words; write that, return a line for each."""

    def measure(translator: Translator) -> dict[str, Any]:
        data = translator.recipe.data
        for lang in (data.src_lang, data.tgt_lang):
            if lang not in LANGUAGES:
                known = ", ".join(LANGUAGES)
                raise UserError(f"this model has {lang}, and the pairs are in {known}")
        contrasts = [
            contrast for contrast in load_contrast_pairs() if contrast.corpus == data.corpus
        ]
        search = {"beam_size": BEAM_SIZE, "alpha": LENGTH_PENALTY}
        return search | measure_contrasts(translator, contrasts)

    record = measure_model_into_record(model, file, measure)
    return "\n".join(
        f"{name}: both sides right in {figures['says']['both']} of {figures['pairs']} pairs"
        for name, figures in record["phenomena"].items()
    )


def wilson_interval(hits: int, trials: int) -> ConfidenceInterval:
    """Return the interval of a share that was counted (Wilson 1927): 3 of 4 is 0.30 to 0.95.

    Unlike the share plus and minus so many standard errors it never leaves 0 to 1, and has a width
    if all or none were hits. The trials are independent of each other.
    """
    interval = binomtest(hits, trials).proportion_ci(
        confidence_level=CONFIDENCE_LEVEL, method="wilson"
    )
    return ConfidenceInterval(float(interval.low), float(interval.high))
