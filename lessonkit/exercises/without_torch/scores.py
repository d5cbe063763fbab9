"""Exercises of lesson 08 that need no PyTorch: BLEU's counts and its brevity penalty, chrF."""

import collections
import itertools
import math

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

WordList = list[str]
lesson_wording = read_lesson_wording("08")


def my_clipped_counts(hypothesis: WordList, reference: WordList, n: int) -> tuple[int, int]:
    """Count the n-grams that match, clipped, and all of the hypothesis."""
    counts = []
    for words in (hypothesis, reference):
        grams = zip(*(words[i:] for i in range(n)), strict=False)
        counts.append(collections.Counter(grams))
    said, wanted = counts
    return (said & wanted).total(), said.total()


def _clipped_counts_by_sacrebleu(
    hypothesis: WordList, reference: WordList, n: int
) -> tuple[int, int]:
    from sacrebleu.metrics import BLEU

    said, wanted = (" ".join(side) for side in (hypothesis, reference))
    score = BLEU(tokenize="none", force=True).corpus_score([said], [[wanted]])
    return score.counts[n - 1], score.totals[n - 1]


def _clipped_ngram_cases() -> list[tuple[WordList, WordList, int]]:
    sides = [list(words) for k in (1, 2, 3) for words in itertools.product("ab", repeat=k)]
    pairs = itertools.product(sides, repeat=2)
    cases = [(said, wanted, n) for said, wanted in pairs for n in (1, 2)][::3]
    more = [
        ("ab c", "a bc", 2),  # other words of the same letters
        ("The a", "the a", 1),
        ("a b c", "a d c", 3),  # the ends are the same, the middle is not
        ("b", "b a", 3),  # no n-gram, not less than none
        ("a b c d a", "a b c d", 4),
    ]
    return cases + [(said.split(), wanted.split(), n) for said, wanted, n in more]


clipped_counts = Exercise(
    my_clipped_counts,
    lesson_wording,
    worked=[
        ((["the", "the", "the"], ["the", "cat"], 1), (1, 3)),
        ((["a", "red", "cat"], ["a", "cat", "sleeps"], 1), (2, 3)),
        ((["a", "red", "cat"], ["a", "red", "dog"], 2), (1, 2)),
        ((["cat"], ["a", "cat"], 2), (0, 0)),
    ],
    cases=_clipped_ngram_cases(),
    expected=_clipped_counts_by_sacrebleu,
)


def my_brevity_penalty(output_length: int, reference_length: int) -> float:
    """Return what the precision is multiplied by (lengths in words)."""
    return min(1.0, math.exp(1 - reference_length / output_length))


def _brevity_penalty_of_sacrebleu(output_length: int, reference_length: int) -> float:
    from sacrebleu.metrics import BLEU

    said, wanted = (" ".join(["word"] * length) for length in (output_length, reference_length))
    score = BLEU(tokenize="none", force=True).corpus_score([said], [[wanted]])
    return float(score.bp)


brevity_penalty = Exercise(
    my_brevity_penalty,
    lesson_wording,
    worked=[((4, 4), 1.0), ((5, 10), math.exp(-1)), ((10, 5), 1.0)],
    cases=list(itertools.product((1, 2, 3, 7), repeat=2)),
    expected=_brevity_penalty_of_sacrebleu,
)


def my_chrf(output: str, reference: str, max_order: int) -> float:
    """Return chrF of one sentence, 0 to 100."""
    precisions, recalls = [], []
    for n in range(1, max_order + 1):
        counts = []
        for text in (output, reference):
            letters = text.replace(" ", "")
            grams = [letters[i : i + n] for i in range(len(letters) - n + 1)]
            counts.append(collections.Counter(grams))
        said, wanted = counts
        if said and wanted:
            matches = (said & wanted).total()
            precisions.append(matches / said.total())
            recalls.append(matches / wanted.total())
    precision = sum(precisions) / len(precisions)
    recall = sum(recalls) / len(recalls)
    if precision == 0:
        return 0.0
    return 100 * 5 * precision * recall / (4 * precision + recall)


def _chrf_of_sacrebleu(output: str, reference: str, max_order: int) -> float:
    from sacrebleu.metrics import CHRF

    metric = CHRF(char_order=max_order, word_order=0)
    return float(metric.sentence_score(output, [reference]).score)


chrf = Exercise(
    my_chrf,
    lesson_wording,
    worked=[
        (("ab", "ab", 2), 100.0),
        (("ab", "cd", 1), 0.0),
        # precision 1, recall a half: 5 * 1/2 / (4 + 1/2) = 5/9
        (("a", "ab", 1), 100 * 5 / 9),
        # single letters 2/3 and 2/2, pairs 1/2 and 1/1: means 7/12 and 1
        (("cab", "ab", 2), 100 * 5 * (7 / 12) / (4 * 7 / 12 + 1)),
    ],
    cases=[
        ("aab", "abb", 1),
        ("ab", "ba", 2),
        ("a b", "ab", 2),  # a blank does not count
        ("abc", "a", 3),  # the reference has no pairs
        ("a", "abc", 3),
        ("le chat", "le chats noirs", 6),
        ("The dog sleeps.", "the dogs sleep.", 6),
        ("is it not here?", "it is here.", 4),
        ("aaaa", "aa", 2),
    ],
    expected=_chrf_of_sacrebleu,
)
