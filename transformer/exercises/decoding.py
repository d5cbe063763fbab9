"""Exercises of lesson 06: the length penalty, a beam's step, and the parts of BLEU.

The whole beam search stands in `transformer.exercises.decoding_search`.
"""

import itertools
import math

from sacrebleu.metrics import BLEU

from transformer.exercises.check import Exercise, Property, Wrong
from transformer.exercises.decoding_search import beam as beam
from transformer.exercises.toys import Table as Table


def my_penalised(total: float, length: int, alpha: float) -> float:
    """Divide a total log probability by the length penalty."""
    return total / ((5 + length) / 6) ** alpha


def multiplied(total: float, length: int, alpha: float) -> float:
    """Multiply where it should divide."""
    return total * ((5 + length) / 6) ** alpha


def plain_mean(total: float, length: int, alpha: float) -> float:
    """Leave the 5 out."""
    return total / length**alpha


def factor_for_exponent(total: float, length: int, alpha: float) -> float:
    """Take alpha for a factor."""
    return total / (alpha * (5 + length) / 6)


penalised = Exercise(
    my_penalised,
    minutes=5,
    difficulty="easy",
    hints=(
        "First the penalty alone: ((5 + length) / (5 + 1)), raised to the power alpha.",
        "With alpha 0 the penalty is 1 and the total stays as it is.",
        "total / ((5 + length) / 6) ** alpha",
    ),
    worked=[
        ((-3.0, 1, 0.6), -3.0),  # six sixths
        ((-8.0, 7, 2.0), -2.0),  # twelve sixths, squared
        ((-8.0, 7, 1.0), -4.0),
    ],
    cases=[
        (total, length, alpha)
        for total in (-1.0, -4.0)
        for length in (1, 2, 13)
        for alpha in (0.5, 0.6, 1.0)
    ],
    expected=lambda total, length, alpha: (
        -math.exp(math.log(-total) - alpha * (math.log(5 + length) - math.log(6)))
    ),
    wrong=[
        Wrong(
            multiplied,
            "Longer outputs come out worse now. The totals are negative: divide, and a larger "
            "penalty brings them nearer to 0.",
        ),
        Wrong(
            plain_mean,
            "At alpha 1 this is the mean per token. Wu et al. soften it: 5 is added to the "
            "length, and the whole is divided by 6.",
        ),
        Wrong(factor_for_exponent, "alpha is an exponent, not a factor: a ** alpha."),
    ],
)


def my_step(
    totals: list[float], log_probs: list[list[float]], beam_size: int
) -> list[tuple[int, int]]:
    """Choose the best of all continuations, as pairs (row, token)."""
    candidates = []
    for row, scores in enumerate(log_probs):
        for token, score in enumerate(scores):
            candidates.append((totals[row] + score, row, token))
    candidates.sort(key=lambda candidate: -candidate[0])
    return [(row, token) for _, row, token in candidates[:beam_size]]


Rows = list[list[float]]
Chosen = list[tuple[int, int]]


def each_its_best(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Let every prefix keep its own best continuation."""
    best = [(row, scores.index(max(scores))) for row, scores in enumerate(log_probs)]
    best.sort(key=lambda pair: -(totals[pair[0]] + log_probs[pair[0]][pair[1]]))
    return best[:beam_size]


def forgets_totals(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Compare the last tokens alone."""
    return my_step([0.0] * len(totals), log_probs, beam_size)


def worst_first(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Sort upwards, and take the beginning."""
    return my_step([-t for t in totals], [[-p for p in row] for row in log_probs], beam_size)


def token_then_row(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Give the pair the wrong way round."""
    return [(token, row) for row, token in my_step(totals, log_probs, beam_size)]


def multiplies(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Multiply logarithms, as if they were probabilities."""
    products = [[-totals[i] * p for p in row] for i, row in enumerate(log_probs)]
    return my_step([0.0] * len(totals), products, beam_size)


def _steps() -> list[tuple[list[float], Rows, int]]:
    """Small beams without ties."""
    small = [
        ([-1.0], [[-0.5, -2.0, -3.0]], 2),
        ([-1.0, -1.25], [[-3.0, -2.5], [-0.5, -0.75]], 2),
        ([-0.5, -4.0], [[-1.0, -2.0], [-0.25, -3.0]], 2),
        ([-2.0, -0.5], [[-0.25, -1.5], [-3.0, -0.75]], 1),
        ([-0.125, -2.0], [[-5.0, -6.0], [-2.0, -9.0]], 1),
    ]
    large = [
        (
            [-0.31 * (row + 1) ** 1.3 for row in range(rows)],
            [
                [-0.17 * ((7 * row + 5 * token) % 11 + 1) ** 1.1 for token in range(5)]
                for row in range(rows)
            ],
            rows,
        )
        for rows in (2, 3)
    ]
    return small + large


def _by_ranking(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Choose a pair where fewer than beam_size others are better: no sorting of candidates."""
    pairs = list(itertools.product(range(len(totals)), range(len(log_probs[0]))))
    sums = {(row, token): totals[row] + log_probs[row][token] for row, token in pairs}
    ranks = {pair: sum(other > sums[pair] for other in sums.values()) for pair in pairs}
    return sorted((p for p in pairs if ranks[p] < beam_size), key=ranks.__getitem__)


step = Exercise(
    my_step,
    minutes=10,
    difficulty="medium",
    hints=(
        "Make a list of all candidates first: every row with every token, and their sums.",
        "The sum of a candidate is totals[row] + log_probs[row][token].",
        "Sort all candidates of all rows together, the largest sum first, and cut the list at "
        "beam_size.",
    ),
    worked=[
        (([-1.0, -1.25], [[-3.0, -2.5], [-0.5, -0.75]], 2), [(1, 0), (1, 1)]),
        (([-1.0], [[-0.5, -2.0, -3.0]], 2), [(0, 0), (0, 1)]),
    ],
    cases=_steps(),
    expected=_by_ranking,
    wrong=[
        Wrong(
            each_its_best,
            "Each prefix keeps its best continuation here: greedy searches side by side. "
            "All candidates compete, and one prefix may fill the whole beam.",
        ),
        Wrong(
            forgets_totals,
            "You compare the new tokens alone. What has the prefix cost so far? Add its total.",
        ),
        Wrong(
            worst_first,
            "These are the least probable ones. Log probabilities are negative, and the best are "
            "nearest to 0.",
        ),
        Wrong(token_then_row, "The pairs stand the wrong way round: give (row, token)."),
        Wrong(
            multiplies,
            "Probabilities are multiplied; their logarithms are added.",
        ),
    ],
)


def my_matches(hypothesis: list[str], reference: list[str], n: int) -> int:
    """Count the n-grams that both sides have, clipped."""
    sides = []
    for words in (hypothesis, reference):
        last = len(words) - n
        sides.append([tuple(words[i : i + n]) for i in range(last + 1)])
    mine, wanted = sides
    return sum(min(mine.count(gram), wanted.count(gram)) for gram in set(mine))


def _grams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def unclipped(hypothesis: list[str], reference: list[str], n: int) -> int:
    """Count each n-gram as often as it is said."""
    return sum(gram in _grams(reference, n) for gram in _grams(hypothesis, n))


def distinct(hypothesis: list[str], reference: list[str], n: int) -> int:
    """Count each n-gram once."""
    return len(set(_grams(hypothesis, n)) & set(_grams(reference, n)))


def in_place(hypothesis: list[str], reference: list[str], n: int) -> int:
    """Ask for the same n-gram at the same place."""
    pairs = zip(_grams(hypothesis, n), _grams(reference, n), strict=False)
    return sum(mine == wanted for mine, wanted in pairs)


def single_words(hypothesis: list[str], reference: list[str], n: int) -> int:
    """Forget n."""
    return my_matches(hypothesis, reference, 1)


def _crossed_out(hypothesis: list[str], reference: list[str], n: int) -> int:
    """Cross each match out of the reference, as one does on paper."""
    left = _grams(reference, n)
    for gram in _grams(hypothesis, n):
        if gram in left:
            left.remove(gram)
    return len(_grams(reference, n)) - len(left)


_WORDS = [list(words) for k in (1, 2, 3) for words in itertools.product("ab", repeat=k)]

matches = Exercise(
    my_matches,
    minutes=15,
    difficulty="medium",
    hints=(
        "Write all n-grams of both sides down first: words[i : i + n] for every i that fits.",
        "Count how often each occurs on either side; collections.Counter does it, with tuples.",
        "Of an n-gram that the output has 3 times and the reference twice, 2 are right: min(3, 2).",
    ),
    worked=[
        ((["the", "the", "the"], ["the", "cat"], 1), 1),
        ((["a", "b", "a", "b"], ["a", "b", "c"], 2), 1),
        ((["a"], ["a", "b"], 2), 0),
    ],
    cases=[(a, b, n) for a in _WORDS for b in _WORDS for n in (1, 2)],
    expected=_crossed_out,
    wrong=[
        Wrong(
            unclipped,
            "An n-gram counts as often as the output says it, even if the reference has it only "
            "once. Then 'the the the' is perfect. Clip the counts.",
        ),
        Wrong(
            distinct,
            "Each n-gram counts once, however often both sides have it. Use counts, not sets.",
        ),
        Wrong(
            in_place,
            "You ask for the same n-gram at the same place. BLEU does not care where it stands: "
            "one word too many at the beginning must not spoil everything.",
        ),
        Wrong(single_words, "These are single words, whatever n is."),
    ],
    properties=[
        Property(
            "no more matches than the output has n-grams",
            lambda value, a, b, n: 0 <= value <= len(_grams(a, n)),
        )
    ],
)


def my_brevity(hypothesis_length: int, reference_length: int) -> float:
    """Give the factor that punishes outputs that are too short."""
    if hypothesis_length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / hypothesis_length)


def ratio(hypothesis_length: int, reference_length: int) -> float:
    """Take the ratio of the lengths itself."""
    return min(1.0, hypothesis_length / reference_length)


def punishes_length(hypothesis_length: int, reference_length: int) -> float:
    """Punish outputs that are too long."""
    return my_brevity(reference_length, hypothesis_length)


def fraction_turned(hypothesis_length: int, reference_length: int) -> float:
    """Divide the wrong way round in the exponent."""
    if hypothesis_length >= reference_length:
        return 1.0
    return math.exp(1 - hypothesis_length / reference_length)


def rewards_length(hypothesis_length: int, reference_length: int) -> float:
    """Forget that the factor is at most 1."""
    return math.exp(1 - reference_length / hypothesis_length)


def _by_sacrebleu(hypothesis_length: int, reference_length: int) -> float:
    counts = [1, 1, 1, 1]
    return float(BLEU.compute_bleu(counts, counts, hypothesis_length, reference_length).bp)


brevity = Exercise(
    my_brevity,
    minutes=5,
    difficulty="easy",
    hints=(
        "There are two cases. Which of them gives 1?",
        "An output at least as long as the reference is not punished here: precision does that.",
        "Otherwise math.exp(1 - reference_length / hypothesis_length).",
    ),
    worked=[((7, 7), 1.0), ((9, 7), 1.0), ((5, 10), math.exp(-1))],
    cases=[(a, b) for a in (1, 2, 3, 5, 8) for b in (1, 2, 3, 5, 8)],
    expected=_by_sacrebleu,
    wrong=[
        Wrong(ratio, "Near 1 this is close, but the paper of BLEU takes e to a power."),
        Wrong(
            punishes_length,
            "You punish outputs that are too *long*. Those lose precision already.",
        ),
        Wrong(
            fraction_turned,
            "The exponent is positive, so the factor is above 1: turn the fraction round.",
        ),
        Wrong(
            rewards_length,
            "A long output gets more than 1: a reward for length. Where is the limit?",
        ),
    ],
    properties=[Property("between 0 and 1", lambda value, *lengths: 0 < value <= 1)],
)
