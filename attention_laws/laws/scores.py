"""A score is high for what is right, and for nothing else (§6.1: BLEU of a corpus)."""

import unicodedata
from collections.abc import Callable
from functools import wraps

from attention_laws.adapter import Pipeline
from attention_laws.law import law, needed
from attention_laws.report import Finding, broken, kept, not_tried, warned

SENTENCES = 40
WORDS = 5  # BLEU counts four words in a row: in shorter sentences there are few


def references(pipeline: Pipeline) -> list[str]:
    """Give up to 40 targets of some length, of the test set first, none twice."""
    texts = [target for _, target in (*pipeline.test, *pipeline.train[:2000])]
    long_enough = [text for text in texts if len(text.split()) >= WORDS]
    return list(dict.fromkeys(long_enough))[:SENTENCES]


def _with_references(check: Callable[[Pipeline, list[str]], Finding]) -> Callable[..., Finding]:
    """Try a law where there are references enough."""

    @wraps(check)
    def tried(pipeline: Pipeline) -> Finding:
        texts = references(pipeline)
        if len(texts) < 8:
            return not_tried(f"only {len(texts)} targets have {WORDS} words or more: give 8")
        return check(pipeline, texts)

    return tried


def _score(pipeline: Pipeline, hypotheses: list[str], texts: list[str]) -> float:
    return float(needed(pipeline.score)(list(hypotheses), list(texts)))


@law("score")
@_with_references
def references_score_100(pipeline: Pipeline, texts: list[str]) -> Finding:
    """References score 100 against themselves.

    Means: each word of a reference is passed as if it were a whole reference, a list of
    references has one level too few, or both sides are tokenised differently
    Look: at the nesting of the references: one list for each rank, or for each sentence?
    """
    found = _score(pipeline, texts, texts)
    if abs(found - 100) <= 0.01:
        return kept(f"{len(texts)} references score {found:.2f} against themselves")
    hint = ": a share, not in percent?" if abs(found - 1) <= 1e-4 else ""
    seen = f"{len(texts)} references score {found:.4g} against themselves{hint}"
    return broken(f"{seen}; {texts[0]!r} alone {_score(pipeline, texts[:1], texts[:1]):.4g}")


@law("score")
@_with_references
def hypotheses_and_references_are_not_swapped(pipeline: Pipeline, texts: list[str]) -> Finding:
    """Translations and references are not exchanged.

    Means: the library takes references first (NLTK) or last (sacreBLEU), and is called otherwise
    Look: at the order of the score's arguments
    """
    longer = [" ".join((texts * 2)[place : place + 4]) for place in range(len(texts))]
    right, exchanged = _score(pipeline, longer, texts), _score(pipeline, texts, longer)
    if right == exchanged:
        return not_tried(f"it scores {right:.1f} either way: an exchange would change nothing")
    shown = f"translations four times too long score {right:.1f}, too short {exchanged:.1f}"
    if right < exchanged:
        return broken(f"{shown}: BLEU punishes what is short, by e^-3 here, so it is the reverse")
    return kept(shown)


@law("score")
@_with_references
def bleu_is_corpus_level(pipeline: Pipeline, texts: list[str]) -> Finding:
    """A corpus's score is not the mean of its sentences' scores.

    Means: BLEU was averaged over sentences; published figures count over the corpus
    Look: at the loop around the score: it should stand after it, not in it
    """
    by_length = sorted(texts, key=lambda text: len(text.split()))
    for place in (0, 1):
        short, long = by_length[place], " ".join([by_length[-1 - place]] * 2)
        words = short.split()
        hypothesis = " ".join(words[:-1])
        alone = [_score(pipeline, [long], [long]), _score(pipeline, [hypothesis], [short])]
        together = _score(pipeline, [long, hypothesis], [long, short])
        mean = sum(alone) / 2
        if abs(alone[0] - alone[1]) < 1:
            return not_tried(f"{hypothesis!r} for {short!r} costs it less than a point")
        if abs(together - mean) > 0.01:
            both = f"sentences that score {alone[0]:.1f} and {alone[1]:.1f} score {together:.1f}"
            return kept(f"{both} together, their mean is {mean:.1f}")
    seen = f"{hypothesis!r} for {short!r} scores {alone[1]:.2f}, a right translation of "
    seen += f"{len(long.split())} words {alone[0]:.2f}, both {together:.2f}: the mean"
    return broken(seen)


@law("score", "encode_tgt", "decode")
@_with_references
def scored_text_is_detokenized(pipeline: Pipeline, texts: list[str]) -> Finding:
    """What is scored is text: a translation of which every token is right scores 100.

    Means: decode joins tokens with blanks, and the score cuts them again: 'l' homme' is not l'homme
    Look: at decode: does it undo all that encode did?
    """
    encode, decode = needed(pipeline.encode_tgt), needed(pipeline.decode)
    tokens, wanted = [], []
    for text in texts:
        given = decode(encode(text))
        if squeezed(given) == squeezed(text):  # all is there, but for blanks, case and accents
            tokens.append(given)
            wanted.append(text)
    if len(tokens) < 8:
        return not_tried(f"only {len(tokens)} of {len(texts)} references come back whole")
    found = _score(pipeline, tokens, wanted)
    if found > 99.99:
        return kept(f"{len(tokens)} references, encoded and decoded, score {found:.2f}")
    pairs = zip(tokens, wanted, strict=True)
    given, text = next((pair for pair in pairs if pair[0] != pair[1]), (tokens[0], wanted[0]))
    seen = f"{text!r} comes back as {given!r}; all right, {len(tokens)} of them score {found:.1f}"
    if folded(given) == folded(text):
        return warned(f"{seen}: case or accents are lost, and the score looks at them")
    return broken(f"{seen}: blanks alone cost the rest, tokens are scored as if they were text")


def folded(text: str) -> str:
    """Write without case and accents, a blank between words."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(c for c in letters if not unicodedata.combining(c)).split())


def squeezed(text: str) -> str:
    """Write without case, accents and blanks."""
    return folded(text).replace(" ", "")
