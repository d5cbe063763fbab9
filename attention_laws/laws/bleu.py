"""A score is high for right translations, and for nothing else (§6.1: BLEU of a corpus)."""

import unicodedata
from collections.abc import Callable
from functools import wraps

from attention_laws.adapter import Pipeline
from attention_laws.law import assert_not_none, pipeline_law
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)

LAW_MODULE_SORT_KEY = 10
MAX_SENTENCES, MIN_SENTENCES = 40, 8
# BLEU counts four words in a row, of which short sentences have few.
MIN_WORDS_PER_REFERENCE = 5
MAX_TRAIN_PAIRS_FOR_REFERENCES = 2000


def targets_usable_as_references(pipeline: Pipeline) -> list[str]:
    """Return up to 40 distinct targets of some length, those of the test set first."""
    texts = [
        target for _, target in (*pipeline.test, *pipeline.train[:MAX_TRAIN_PAIRS_FOR_REFERENCES])
    ]
    long_enough = [text for text in texts if len(text.split()) >= MIN_WORDS_PER_REFERENCE]
    return list(dict.fromkeys(long_enough))[:MAX_SENTENCES]


def _only_with_enough_references(
    check: Callable[[Pipeline, list[str]], Finding],
) -> Callable[..., Finding]:
    """Try a law only if there are enough references."""

    @wraps(check)
    def checked(pipeline: Pipeline) -> Finding:
        texts = targets_usable_as_references(pipeline)
        if len(texts) < MIN_SENTENCES:
            reason = f"only {len(texts)} targets have {MIN_WORDS_PER_REFERENCE} words or more"
            return not_tried_finding(f"{reason}: give {MIN_SENTENCES}")
        return check(pipeline, texts)

    return checked


def _pipeline_corpus_bleu(pipeline: Pipeline, hypotheses: list[str], texts: list[str]) -> float:
    return float(assert_not_none(pipeline.score)(list(hypotheses), list(texts)))


@pipeline_law("score")
@_only_with_enough_references
def references_score_100(pipeline: Pipeline, texts: list[str]) -> Finding:
    """References score 100 against themselves.

    Means: each word of a reference is passed as if it were a whole reference, a list of
    references has one level too few, or both sides are tokenized differently
    Look: at the nesting of the references: one list for each position, or for each sentence?
    """
    score = _pipeline_corpus_bleu(pipeline, texts, texts)
    if abs(score - 100) <= 0.01:
        return kept_finding(f"{len(texts)} references score {score:.2f} against themselves")
    hint = ": a share, not in percent?" if abs(score - 1) <= 1e-4 else ""
    seen = f"{len(texts)} references score {score:.4g} against themselves{hint}"
    return broken_finding(
        f"{seen}; {texts[0]!r} alone {_pipeline_corpus_bleu(pipeline, texts[:1], texts[:1]):.4g}"
    )


@pipeline_law("score")
@_only_with_enough_references
def hypotheses_and_references_are_not_swapped(pipeline: Pipeline, texts: list[str]) -> Finding:
    """Hypotheses and references are not swapped.

    Means: the library takes references first (NLTK) or last (sacreBLEU), and is called otherwise
    Look: at the order of the score's arguments
    """
    too_long = [" ".join((texts * 2)[i : i + 4]) for i in range(len(texts))]
    score = _pipeline_corpus_bleu(pipeline, too_long, texts)
    swapped_score = _pipeline_corpus_bleu(pipeline, texts, too_long)
    if score == swapped_score:
        return not_tried_finding(f"it scores {score:.1f} either way: swapping would change nothing")
    seen = f"translations four times too long score {score:.1f}, too short {swapped_score:.1f}"
    if score < swapped_score:
        return broken_finding(
            f"{seen}: BLEU punishes what is short, by e^-3 here, so they are swapped"
        )
    return kept_finding(seen)


@pipeline_law("score")
@_only_with_enough_references
def bleu_is_corpus_level(pipeline: Pipeline, texts: list[str]) -> Finding:
    """A corpus's score is not the mean of its sentences' scores.

    Means: BLEU was averaged over sentences; published figures count over the corpus
    Look: at the loop around the score: it should stand after it, not in it
    """
    by_length = sorted(texts, key=lambda text: len(text.split()))
    for i in (0, 1):
        short, long = by_length[i], " ".join([by_length[-1 - i]] * 2)
        # A translation of the short sentence without its last word.
        hypothesis = " ".join(short.split()[:-1])
        long_score = _pipeline_corpus_bleu(pipeline, [long], [long])
        short_score = _pipeline_corpus_bleu(pipeline, [hypothesis], [short])
        together = _pipeline_corpus_bleu(pipeline, [long, hypothesis], [long, short])
        mean = (long_score + short_score) / 2
        if abs(long_score - short_score) < 1:
            return not_tried_finding(f"{hypothesis!r} for {short!r} costs it less than a point")
        if abs(together - mean) > 0.01:
            seen = f"sentences that score {long_score:.1f} and {short_score:.1f} score "
            return kept_finding(f"{seen}{together:.1f} together, their mean is {mean:.1f}")
    seen = f"{hypothesis!r} for {short!r} scores {short_score:.2f}, a right translation of "
    seen += f"{len(long.split())} words {long_score:.2f}, both {together:.2f}: the mean"
    return broken_finding(seen)


@pipeline_law("score", "encode_tgt", "decode")
@_only_with_enough_references
def scored_text_is_detokenized(pipeline: Pipeline, texts: list[str]) -> Finding:
    """Text is scored, not tokens: a translation of which every token is right scores 100.

    Means: decode joins tokens with blanks, and the score cuts them again: 'l' homme' is not l'homme
    Look: at decode: does it undo all that encode did?
    """
    encode, decode = assert_not_none(pipeline.encode_tgt), assert_not_none(pipeline.decode)
    decoded, expected = [], []
    for text in texts:
        round_trip = decode(encode(text))
        # Everything is there except blanks, case and accents.
        if remove_case_accents_and_blanks(round_trip) == remove_case_accents_and_blanks(text):
            decoded.append(round_trip)
            expected.append(text)
    if len(decoded) < MIN_SENTENCES:
        return not_tried_finding(f"only {len(decoded)} of {len(texts)} references come back whole")
    score = _pipeline_corpus_bleu(pipeline, decoded, expected)
    if score > 99.99:
        return kept_finding(f"{len(decoded)} references, encoded and decoded, score {score:.2f}")
    pairs = zip(decoded, expected, strict=True)
    different = (pair for pair in pairs if pair[0] != pair[1])
    round_trip, text = next(different, (decoded[0], expected[0]))
    seen = f"{text!r} comes back as {round_trip!r}; "
    seen += f"all right, {len(decoded)} of them score {score:.1f}"
    if text_without_case_and_accents(round_trip) == text_without_case_and_accents(text):
        return warned_finding(f"{seen}: case or accents are lost, and the score distinguishes them")
    return broken_finding(
        f"{seen}: blanks alone cost the rest, tokens are scored as if they were text"
    )


def text_without_case_and_accents(text: str) -> str:
    """Return text without case and accents, with one blank between words."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(c for c in letters if not unicodedata.combining(c)).split())


def remove_case_accents_and_blanks(text: str) -> str:
    """Return text without case, accents and blanks."""
    return text_without_case_and_accents(text).replace(" ", "")
