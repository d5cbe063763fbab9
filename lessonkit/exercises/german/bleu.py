"""Two exercises of lesson 07, the parts of BLEU; sacreBLEU's own counts judge them."""

import collections
import itertools
import math

from sacrebleu.metrics import BLEU

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("07")

Words = list[str]


def my_brevity_penalty(hyp_lengths: list[int], ref_lengths: list[int]) -> float:
    """Give BLEU's factor for a whole text, from its sentences' lengths."""
    hyp_len, ref_len = sum(hyp_lengths), sum(ref_lengths)
    if hyp_len == 0:
        return 0.0
    return min(1.0, math.exp(1 - ref_len / hyp_len))


def mean_of_sentences(hyp_lengths: list[int], ref_lengths: list[int]) -> float:
    """Punish each short sentence, and average."""
    pairs = zip(hyp_lengths, ref_lengths, strict=True)
    return sum(my_brevity_penalty([hyp], [ref]) for hyp, ref in pairs) / len(ref_lengths)


def ratio_turned_round(hyp_lengths: list[int], ref_lengths: list[int]) -> float:
    """Divide the wrong length by the other."""
    return my_brevity_penalty(ref_lengths, hyp_lengths)


def rewards_length(hyp_lengths: list[int], ref_lengths: list[int]) -> float:
    """Leave out the cap at 1."""
    hyp_len = sum(hyp_lengths)
    return math.exp(1 - sum(ref_lengths) / hyp_len) if hyp_len else 0.0


def plain_ratio(hyp_lengths: list[int], ref_lengths: list[int]) -> float:
    """Take the ratio of the lengths with no exponential."""
    return min(1.0, sum(hyp_lengths) / sum(ref_lengths))


def _penalty_by_sacrebleu(hyp_lengths: list[int], ref_lengths: list[int]) -> float:
    lengths = sum(hyp_lengths), sum(ref_lengths)
    return float(BLEU.compute_bleu([1] * 4, [1] * 4, *lengths).bp)


def _lengths() -> list[tuple[list[int], list[int]]]:
    """All texts of one sentence up to 5 words, and of two up to 4."""
    one = itertools.product(range(6), range(1, 6))
    cases = [([hyp], [ref]) for hyp, ref in one]
    for hyps in itertools.product((1, 2, 4), repeat=2):
        cases += [(list(hyps), list(refs)) for refs in itertools.product((1, 3, 4), repeat=2)]
    return cases


brevity_penalty = Exercise(
    my_brevity_penalty,
    words,
    worked=[
        (([4], [4]), 1.0),
        (([2, 2], [4, 4]), math.exp(-1)),
        (([0], [3]), 0.0),
    ],
    cases=_lengths(),
    expected=_penalty_by_sacrebleu,
    wrong={
        "mean_of_sentences": mean_of_sentences,
        "ratio_turned_round": ratio_turned_round,
        "rewards_length": rewards_length,
        "plain_ratio": plain_ratio,
    },
    properties={
        "the penalty lies between 0 and 1": lambda value, hyp, ref: 0 <= value <= 1,
    },
)


def my_clipped_precision(hypotheses: list[Words], references: list[Words], n: int) -> float:
    """Give the share of a text's n-grams that its references have too."""
    matches = total = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        counts = []
        for words in (hypothesis, reference):
            grams = zip(*(words[i:] for i in range(n)), strict=False)
            counts.append(collections.Counter(grams))
        matches += (counts[0] & counts[1]).total()
        total += counts[0].total()
    return matches / total if total else 0.0


def _grams(words: Words, n: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]


def _share(matches: int, total: int) -> float:
    return matches / total if total else 0.0


def not_clipped(hypotheses: list[Words], references: list[Words], n: int) -> float:
    """Count an n-gram as often as it is said."""
    matches = total = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        allowed = _grams(reference, n)
        matches += sum(gram in allowed for gram in _grams(hypothesis, n))
        total += len(_grams(hypothesis, n))
    return _share(matches, total)


def distinct_only(hypotheses: list[Words], references: list[Words], n: int) -> float:
    """Count each different n-gram of a sentence once."""
    matches = total = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        found = set(_grams(hypothesis, n))
        matches += len(found & set(_grams(reference, n)))
        total += len(found)
    return _share(matches, total)


def recall(hypotheses: list[Words], references: list[Words], n: int) -> float:
    """Divide by the references' n-grams."""
    return my_clipped_precision(references, hypotheses, n)


def averaged_over_sentences(hypotheses: list[Words], references: list[Words], n: int) -> float:
    """Give each sentence the same weight, long or short."""
    pairs = zip(hypotheses, references, strict=True)
    each = [my_clipped_precision([hyp], [ref], n) for hyp, ref in pairs]
    return sum(each) / len(each)


def clipped_over_text(hypotheses: list[Words], references: list[Words], n: int) -> float:
    """Let a word be excused by another sentence's reference."""
    found = collections.Counter(gram for words in hypotheses for gram in _grams(words, n))
    allowed = collections.Counter(gram for words in references for gram in _grams(words, n))
    return _share(sum((found & allowed).values()), sum(found.values()))


def _precision_by_sacrebleu(hypotheses: list[Words], references: list[Words], n: int) -> float:
    metric = BLEU(tokenize="none", force=True)
    score = metric.corpus_score(
        [" ".join(words) for words in hypotheses], [[" ".join(words) for words in references]]
    )
    return _share(score.counts[n - 1], score.totals[n - 1])


def _texts() -> list[tuple[list[Words], list[Words], int]]:
    """All pairs of sentences of up to three words, and some texts of two; a few longer ones."""
    sentences = [list(words) for k in (1, 2, 3) for words in itertools.product("ab", repeat=k)]
    pairs = list(itertools.product(sentences, repeat=2))
    cases = [([hyp], [ref], n) for hyp, ref in pairs for n in (1, 2)]
    some = [pair for pair in pairs[::5] if pair[0] != pair[1]]
    for (hyp_1, ref_1), (hyp_2, ref_2) in list(itertools.product(some, repeat=2))[::8]:
        cases += [([hyp_1, hyp_2], [ref_1, ref_2], n) for n in (1, 2)]
    more = [
        (["ab c"], ["a bc"], 2),  # other words of the same letters
        (["The a"], ["the a"], 1),
        (["a b c"], ["a d c"], 3),  # the ends are the same, the middle is not
        (["a b c", "b"], ["a b c", "b a"], 3),  # the second has no n-gram, not less than none
        (["a b c d a", "a"], ["a b c d", "a"], 4),
    ]
    return cases + [
        ([text.split() for text in hyps], [text.split() for text in refs], n)
        for hyps, refs, n in more
    ]


clipped_precision = Exercise(
    my_clipped_precision,
    words,
    worked=[
        (([["the", "the", "the"]], [["the", "cat"]], 1), 1 / 3),
        (([["a", "red", "cat"]], [["a", "cat", "sleeps"]], 1), 2 / 3),
        (([["a", "red", "cat"]], [["a", "red", "dog"]], 2), 1 / 2),
        (([["cat"]], [["a", "cat"]], 2), 0.0),
    ],
    cases=_texts(),
    expected=_precision_by_sacrebleu,
    wrong={
        "not_clipped": not_clipped,
        "distinct_only": distinct_only,
        "recall": recall,
        "averaged_over_sentences": averaged_over_sentences,
        "clipped_over_text": clipped_over_text,
    },
)
