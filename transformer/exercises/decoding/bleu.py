"""Two exercises of lesson 06, the parts of BLEU for one sentence."""

import itertools
import math

from sacrebleu.metrics import BLEU

from transformer.exercises.check import Exercise, Property, Wrong


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
_MORE = [
    ("ab c a", "a bc a", 2),  # other words of the same letters
    ("The a", "the a", 1),
    ("a b c", "a d c", 3),  # the ends are the same, the middle is not
    ("a b c d", "d a b c", 3),
    ("a b c d a", "a b c d", 4),
]

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
    cases=[(a, b, n) for a in _WORDS for b in _WORDS for n in (1, 2)]
    + [(a.split(), b.split(), n) for a, b, n in _MORE],
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
