"""The exercises of lesson 08, in its order: checkpoints, the length penalty, BLEU's two parts."""

import collections
import itertools
import math
import statistics

import torch
from sacrebleu.metrics import BLEU
from torch import Tensor
from torch.optim.swa_utils import get_swa_avg_fn

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import drawing

State = dict[str, Tensor]
Hypotheses = list[tuple[float, int]]  # log probability and length of each
Words = list[str]

words = read_words("08")
globals().update(asked(words))  # recall and the predictions


def my_average(states: list[State]) -> State:
    """Average the weights of checkpoints, name by name."""
    mean = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        mean[name] = torch.stack(tensors).mean(dim=0)
    return mean


def _running_mean(states: list[State]) -> State:
    """Let PyTorch's own weight averaging do it, a checkpoint at a time."""
    step = get_swa_avg_fn()
    mean = dict(states[0])
    for count, state in enumerate(states[1:], start=1):
        mean = {name: step(mean[name], state[name], torch.tensor(count)) for name in mean}
    return mean


def _states() -> list[tuple[list[State]]]:
    """One, two and three checkpoints, of one number and more, in one order and another."""
    draw = drawing(0)
    one, two, three = (torch.tensor([number]) for number in (1.0, 3.0, 8.0))
    small = [[{"w": one}], [{"w": one}, {"w": two}], [{"w": one}, {"w": two}, {"w": three}]]
    wide = [{"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([3.0, 6.0])}]
    turned = [{"a": one, "b": two}, {"b": three, "a": one}]
    shapes = {"bias": (5,), "weight": (2, 3)}
    large = [{name: draw(*shape) for name, shape in shapes.items()} for _ in range(4)]
    return [(states,) for states in [*small, wide, turned, large]]


average = Exercise(
    my_average,
    words,
    worked=[
        (([{"w": torch.tensor([2.0])}, {"w": torch.tensor([6.0])}],), {"w": torch.tensor([4.0])})
    ],
    cases=_states(),
    expected=_running_mean,
)


def my_best_hypothesis(hypotheses: Hypotheses, alpha: float) -> int:
    """Give the place of the best under the length penalty."""
    scores = []
    for log_prob, length in hypotheses:
        scores.append(log_prob / ((5 + length) / 6) ** alpha)
    return scores.index(max(scores))


def _costs(hypotheses: Hypotheses, alpha: float) -> list[float]:
    """Measure each by the logarithm of its penalised loss: a difference, with no power."""
    return [
        math.log(-log_prob) - alpha * math.log1p((length - 1) / 6)
        for log_prob, length in hypotheses
    ]


def _by_costs(hypotheses: Hypotheses, alpha: float) -> int:
    costs = _costs(hypotheses, alpha)
    return costs.index(min(costs))


def _hypotheses() -> list[tuple[Hypotheses, float]]:
    """Pairs and triples of hypotheses of which one is clearly the best."""
    each = [(-1.0, 1), (-2.0, 2), (-2.0, 4), (-3.0, 4), (-3.0, 7), (-4.0, 9), (-6.0, 19)]
    chosen = [*itertools.permutations(each, 2), *itertools.permutations(each[1:5], 3)]
    cases = []
    for hypotheses, alpha in itertools.product(map(list, chosen), (0.0, 0.6, 1.0)):
        costs = sorted(_costs(hypotheses, alpha))
        if costs[1] - costs[0] > 0.02:
            cases.append((hypotheses, alpha))
    close = [(-1.0, 1), (-3.8, 19)], [(-1.0, 1), (-4.2, 19)]  # 4 or 6 for 5 would tell otherwise
    return [*cases, *((pair, 1.0) for pair in close)]


best_hypothesis = Exercise(
    my_best_hypothesis,
    words,
    worked=[
        (([(-2.0, 1), (-3.0, 7)], 1.0), 1),  # -2 against -3 / 2
        (([(-2.0, 1), (-3.0, 7)], 0.0), 0),  # -2 against -3
    ],
    cases=_hypotheses(),
    expected=_by_costs,
)


def my_brevity_penalty(hyp_lengths: list[int], ref_lengths: list[int]) -> float:
    """Give BLEU's factor for a whole text, from its sentences' lengths."""
    hyp_len, ref_len = sum(hyp_lengths), sum(ref_lengths)
    if hyp_len == 0:
        return 0.0
    return min(1.0, math.exp(1 - ref_len / hyp_len))


def _penalty_by_sacrebleu(hyp_lengths: list[int], ref_lengths: list[int]) -> float:
    lengths = sum(hyp_lengths), sum(ref_lengths)
    return float(BLEU.compute_bleu([1] * 4, [1] * 4, *lengths).bp)


def _lengths() -> list[tuple[list[int], list[int]]]:
    """All texts of one sentence up to 5 words, and of two up to 4."""
    cases = [([hyp], [ref]) for hyp, ref in itertools.product(range(6), range(1, 6))]
    for hyps in itertools.product((1, 2, 4), repeat=2):
        cases += [(list(hyps), list(refs)) for refs in itertools.product((1, 3, 4), repeat=2)]
    return cases


brevity_penalty = Exercise(
    my_brevity_penalty,
    words,
    worked=[(([4], [4]), 1.0), (([2, 2], [4, 4]), math.exp(-1)), (([0], [3]), 0.0)],
    cases=_lengths(),
    expected=_penalty_by_sacrebleu,
    wrong={
        "mean_of_sentences": lambda hyps, refs: statistics.fmean(
            my_brevity_penalty([hyp], [ref]) for hyp, ref in zip(hyps, refs, strict=True)
        )
    },
    properties={"the penalty lies between 0 and 1": lambda value, hyp, ref: 0 <= value <= 1},
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


def _precision_by_sacrebleu(hypotheses: list[Words], references: list[Words], n: int) -> float:
    texts = [[" ".join(words) for words in side] for side in (hypotheses, references)]
    score = BLEU(tokenize="none", force=True).corpus_score(texts[0], texts[1:])
    return float(score.counts[n - 1] / max(score.totals[n - 1], 1))


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
        "averaged_over_sentences": lambda hyps, refs, n: statistics.fmean(
            my_clipped_precision([hyp], [ref], n) for hyp, ref in zip(hyps, refs, strict=True)
        )
    },
)
