"""How good translations are, in points: BLEU and chrF++, with intervals (§6.1); trees (§6.3).

The scores are sacreBLEU's; each comes with its signature, which says how it was counted, and with
a 95% interval by resampling the sentences (Koehn 2004).
"""

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from sacrebleu.metrics import BLEU, CHRF

from transformer.data.normalizers import normalize_composed
from transformer.data.unspaced_scripts import split_words_or_characters
from transformer.data.word_splitting import split_words
from transformer.evaluation.bleu_tokenizers import bleu_tokenizer
from transformer.support.errors import require
from transformer.support.signatures import check_argument_types, check_type

NUM_BOOTSTRAP_RESAMPLES = 1000


def bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], lang: str = "en"
) -> dict[str, Any]:
    """Score cased plain text as WMT does (Post 2018), with sacreBLEU's tokenizer for a language.

    `references` are for each translation the accepted ones, one or more; `lang` is the code of
    their language (see `bleu_tokenizer`).

    Returns:
        score and interval (low, high) in points of 0 to 100, and signature. The score is 0 where
        no translation has four tokens, however right they are: look at chrF++ there.
    """
    check_type("lang", lang, str)
    # `force` silences a warning on standard error about the blanks of word models, no more.
    metric = BLEU(tokenize=bleu_tokenizer(lang), force=True)
    return _score_with_interval(metric, hypotheses, references)


def chrf_plus_plus(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Score by shared sequences of characters and of words (chrF2++; Popović 2017); see `bleu`."""
    return _score_with_interval(_ChrF(word_order=2), hypotheses, references)


def count_one_token_references(references: Sequence[Sequence[str]], lang: str) -> int:
    """Count the first references that are one token, or none, to the tokenizer of `bleu`."""
    metric = BLEU(tokenize=bleu_tokenizer(lang))
    return sum(len(metric.tokenizer(accepted[0]).split()) < 2 for accepted in references)


class _ChrF(CHRF):
    """sacreBLEU's chrF; the original (2.6) fails where only some samples share a character."""

    def _compute_f_score(self, statistics: list[int]) -> float:
        return float(super()._compute_f_score(statistics))


def _score_with_interval(
    metric: BLEU | CHRF, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, Any]:
    check_hypotheses(hypotheses, references)
    # To sacreBLEU é in one character and in two are different, and so are words with a soft hyphen
    # and without. No model writes the second of either: its text is normalized.
    composed = [list(map(normalize_composed, accepted)) for accepted in references]
    score = metric.corpus_score(
        list(map(normalize_composed, hypotheses)),
        _transpose_references(composed),
        n_bootstrap=NUM_BOOTSTRAP_RESAMPLES,
    )
    # float: JSON takes none of numpy's own numbers.
    mean, half_width = float(score._mean), float(score._ci)
    return {
        "score": round(score.score, 2),
        "interval": [
            round(max(mean - half_width, 0.0), 2),
            round(min(mean + half_width, 100.0), 2),
        ],
        "signature": str(metric.get_signature()),
    }


def _transpose_references(references: Sequence[Sequence[str]]) -> list[Any]:
    """Return the first references, the second ones, ..., as sacreBLEU wants them.

    None stands where a sentence has fewer than another: "" would count as a reference.
    """
    return list(zip_longest(*references))


def bleu_tokenised_lowercased(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], lang: str
) -> float:
    """Score lower-cased spaCy tokens without smoothing, as system 4's torchtext did, 0 to 100."""
    check_hypotheses(hypotheses, references)
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    score = metric.corpus_score(
        _tokenize_and_lowercase(hypotheses, lang),
        _transpose_references([_tokenize_and_lowercase(accepted, lang) for accepted in references]),
    )
    return round(score.score, 2)


def _tokenize_and_lowercase(texts: Sequence[str], lang: str) -> list[str]:
    return [" ".join(split_words(lang, text, lowercase=True)) for text in texts]


def count_run_on_translations(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> int:
    """Count the translations of more than twice the words of their longest reference.

    They mostly repeat themselves up to the length limit. In scripts without blanks each character
    counts as a word.
    """
    check_hypotheses(hypotheses, references)
    run_on = 0
    for hypothesis, accepted in zip(hypotheses, references, strict=True):
        longest = max(len(split_words_or_characters(reference)) for reference in accepted)
        if len(split_words_or_characters(hypothesis)) > 2 * longest:
            run_on += 1
    return run_on


def check_hypotheses(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Raise unless there are translations, and for each of them one or more references."""
    check_type("hypotheses", hypotheses, Sequence[str])
    check_type("references", references, Sequence[Sequence[str]])
    sizes = f"{len(hypotheses)} translations and {len(references)} lists of references"
    require(len(hypotheses) == len(references), f"{sizes}: give one list for each translation")
    require(len(hypotheses) > 0, "no translations to score: give at least one")
    for number, accepted in enumerate(references, start=1):
        require(len(accepted) > 0, f"translation {number} has no references: give one or more")


@check_argument_types
def count_tree_phrases(tree: str) -> Counter[tuple[str, int, int]]:
    """Count the phrases of a tree: (label, first word, last word + 1); words count from 0.

    What a model writes need not be a tree: a bracket without its other half is no phrase.
    """
    counts: Counter[tuple[str, int, int]] = Counter()
    open_brackets: list[tuple[str, int]] = []  # label, first word
    num_words = 0
    for token in tree.split():
        if token.startswith("("):
            open_brackets.append((token[1:], num_words))
        elif not token.startswith(")"):
            num_words += 1
        elif open_brackets and open_brackets[-1][0] == token[1:]:
            label, start = open_brackets.pop()
            counts[label, start, num_words] += 1
    return counts


@check_argument_types
def parse_f1(trees: Sequence[str], gold: Sequence[str]) -> float:
    """Score trees by labelled phrases: the harmonic mean of precision and recall, 0 to 100."""
    message = f"{len(trees)} trees for {len(gold)} sentences: give one for each"
    require(0 < len(gold) == len(trees), message)
    in_common = in_both = 0
    for tree, gold_tree in zip(trees, gold, strict=True):
        ours, right = count_tree_phrases(tree), count_tree_phrases(gold_tree)
        in_common += (ours & right).total()
        in_both += ours.total() + right.total()
    require(in_both > 0, "no tree has a phrase to score: write trees as (NP DT NN )NP")
    return 200 * in_common / in_both
