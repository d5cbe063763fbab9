"""How good translations are, in points: BLEU and chrF, with their intervals (§6.1); trees (§6.3).

The scores are sacreBLEU's; each comes with its signature, which says how it was
counted, and with a 95% interval by resampling the sentences (Koehn 2004).
"""

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from sacrebleu.metrics import BLEU, CHRF

from transformer.data.tokenizers import split_words
from transformer.support.checks import check_list, check_text, check_texts
from transformer.support.errors import UserError, require, short_repr

RESAMPLES = 1000


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Score cased plain text as WMT does (sacreBLEU 13a; Post 2018).

    `references` are for each translation the accepted ones, one or more.

    Returns:
        score and interval (low, high) in points of 0 to 100, and signature.
    """
    # Its only effect: no warning on standard error about the blanks of word models.
    return _score(BLEU(force=True), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Score by shared character sequences (chrF2; Popović 2015); see `bleu`."""
    return _score(_ChrF(), hypotheses, references)


class _ChrF(CHRF):
    """sacreBLEU's chrF; the original (2.6) fails where only some samples share a character."""

    def _compute_f_score(self, statistics: list[int]) -> float:
        return float(super()._compute_f_score(statistics))


def _score(
    metric: BLEU | CHRF, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, Any]:
    check_hypotheses(hypotheses, references)
    score = metric.corpus_score(hypotheses, _by_rank(references), n_bootstrap=RESAMPLES)
    mean, half = float(score._mean), float(score._ci)  # numpy's own floats are not for JSON
    return {
        "score": round(score.score, 2),
        "interval": [round(max(mean - half, 0.0), 2), round(min(mean + half, 100.0), 2)],
        "signature": str(metric.get_signature()),
    }


def _by_rank(references: Sequence[Sequence[str]]) -> list[Any]:
    """Give first references, second ones, ...; None where there are fewer: "" would count."""
    return [*zip_longest(*references)]


def bleu_tokenised_lowercased(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], lang: str
) -> float:
    """Score lower-cased spaCy tokens without smoothing, as system 4's torchtext did, 0 to 100."""
    check_hypotheses(hypotheses, references)
    said, *groups = (
        [" ".join(split_words(lang, text, lowercase=True)) for text in texts]
        for texts in (hypotheses, *references)
    )
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    return round(metric.corpus_score(said, _by_rank(groups)).score, 2)


def count_run_on(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> int:
    """Count the translations of more than twice the words of their longest reference.

    They mostly repeat themselves up to the length limit.
    """
    check_hypotheses(hypotheses, references)
    longest = [max(len(reference.split()) for reference in group) for group in references]
    said = [len(text.split()) for text in hypotheses]
    return sum(words > 2 * most for words, most in zip(said, longest, strict=True))


def check_hypotheses(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuse what cannot be scored: no translations, or references that do not fit them."""
    check_texts("translations", hypotheses)
    check_list("references", references, "lists of texts")
    sizes = f"{len(hypotheses)} translations and {len(references)} lists of references"
    require(len(hypotheses) == len(references), f"{sizes}: give one list for each translation")
    require(len(hypotheses) > 0, "no translations to score: give at least one")
    for number, group in enumerate(references, start=1):
        if isinstance(group, str) or not group:
            message = f"translation {number} has {short_repr(group)} for references"
            raise UserError(f"{message}: give a list of some")
        check_texts(f"references of translation {number}", group)


def phrases(tree: str) -> Counter[tuple[str, int, int]]:
    """Count the phrases of a tree: (label, first word, last word + 1); words count from 0.

    What a model says need not be a tree: a bracket without its other half is no phrase.
    """
    check_text("a tree", tree)
    found: Counter[tuple[str, int, int]] = Counter()
    open_brackets: list[tuple[str, int]] = []  # label, first word
    words = 0
    for token in tree.split():
        if token.startswith("("):
            open_brackets.append((token[1:], words))
        elif not token.startswith(")"):
            words += 1
        elif open_brackets and open_brackets[-1][0] == token[1:]:
            label, start = open_brackets.pop()
            found[label, start, words] += 1
    return found


def parse_f1(found: Sequence[str], gold: Sequence[str]) -> float:
    """Score trees by labelled phrases: the harmonic mean of precision and recall, 0 to 100."""
    check_texts("trees", found)
    check_texts("gold", gold)
    message = f"{len(found)} trees for {len(gold)} sentences: give one for each"
    require(0 < len(gold) == len(found), message)
    said, right = [phrases(tree) for tree in found], [phrases(tree) for tree in gold]
    common = sum((a & b).total() for a, b in zip(said, right, strict=True))
    total = sum(each.total() for each in (*said, *right))
    require(total > 0, "no tree has a phrase to score: write trees as (NP DT NN )NP")
    return 200 * common / total
