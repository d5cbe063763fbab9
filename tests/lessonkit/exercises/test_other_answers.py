"""Lessons 06 to 11: wrong answers without a name that have passed, and right ones that must."""

import math
from collections import Counter

import pytest

from lessonkit.analysis.leaks import measure_leak
from lessonkit.exercises.mistakes import edited
from tests.helpers.exercise_walk import ALL, status
from transformer.data.parallel import group_pairs

# Edits of a reference, as an exercise has them.
ROUND = "living = longer[:beam_size]"
KEPT = "keys.append(key)\n        values.append(value)"
GRAMS, LAST = "collections.Counter(grams)", "outputs[rows, lengths - 1]"
ENDS = "said, right = ([p{} for p in side] for side in (said, right))\n    common ="
RIGHT = {
    "a beam ends where nothing better can come": (
        *("beam", ROUND),
        f"{ROUND}\n        if not living or best_prob >= living[0][1]:\n            break",
    ),
    "a cache is one tensor": (
        *("cached_greedy", KEPT),
        "keys = torch.cat((keys, key[None])) if len(keys) else key[None]\n"
        "        values = torch.cat((values, value[None])) if len(values) else value[None]",
        *("torch.stack(keys)", "keys", "torch.stack(values)", "values"),
    ),
    "a fault is looked for in many steps": (
        *("fault", "range(3)", "range(6)"),
        *("itertools.pairwise(states)", "(states[:2], states[-2:])"),
    ),
    "components are gathered": (
        *("last_state", LAST),
        "torch.stack([row[int(n) - 1] for row, n in zip(outputs, lengths)])",
    ),
    "sight is tested by cutting": (
        *("sight", "decode(src, changed)[:place]", "decode(src, tgt_in[:place])"),
    ),
}
WRONG = {
    "the first part is all": ("last_state", LAST, "outputs[rows, lengths - 1][:, :1]"),
    "a beam of two": ("beam", "longer[:beam_size]", "longer[:2]"),
    "a beam of three": ("beam", "longer[:beam_size]", "longer[:3]"),
    "a cache of three": ("cached_greedy", "(keys)", "(keys[-3:])", "(values)", "(values[-3:])"),
    "a cache of four": ("cached_greedy", "(keys)", "(keys[-4:])", "(values)", "(values[-4:])"),
    "a smaller sum": ("sample", "< top_p", "< top_p - 0.1"),
    "two at least": ("sample", "before < top_p", "(before < top_p) | (probs >= probs[:2][-1])"),
    "e to a large number": (
        *("sample", "(logits / temperature).softmax(dim=-1)"),
        "((powers := (logits / temperature).exp()) / powers.sum())",
    ),
    "words joined": ("clipped_precision", GRAMS, 'collections.Counter(map("".join, grams))'),
    "the ends": ("clipped_precision", GRAMS, "collections.Counter((g[0], g[-1]) for g in grams)"),
    "lower case": ("clipped_precision", "*(words", "*([w.lower() for w in words]"),
    "as a set": ("clipped_precision", GRAMS, "collections.Counter(map(frozenset, grams))"),
    "two words at most": ("clipped_precision", "range(n)", "range(min(n, 2))"),
    "less than none": ("clipped_precision", "counts[0].total()", "len(hypothesis) - n + 1"),
    "four for five": ("best_hypothesis", "((5 + length) / 6)", "((4 + length) / 5)"),
    "six for five": ("best_hypothesis", "((5 + length) / 6)", "((6 + length) / 7)"),
    "as if square": (
        *("prune", "pruned[:, (head - 1) * d_v : head * d_v] = 0"),
        "pruned *= torch.arange(len(weight)) // d_v != head - 1",
    ),
    "strong links": ("links", "src != eos", "src != eos and weights[tgt, src] >= 0.3"),
    "small weights": ("spread", "w > 0", "w > 0.01"),
    "names once": (
        *("closing", "waiting = []", "waiting = {}", "waiting.append(token[1:])"),
        *("waiting[token[1:]] = True", "waiting.pop()", "waiting.pop(token[1:])"),
    ),
    "one end": ("shared", "common =", ENDS.format("[:2]")),
    "the other": ("shared", "common =", ENDS.format("[::2]")),
}


@pytest.mark.parametrize("name", RIGHT)
def test_another_right_answer_passes(name):
    exercise, *edits = RIGHT[name]
    assert status(exercise, edited(ALL[exercise].reference, *edits)) == "passed"


@pytest.mark.parametrize("name", WRONG)
def test_another_wrong_answer_does_not(name):
    exercise, *edits = WRONG[name]
    assert not ALL[exercise].accepts(edited(ALL[exercise].reference, *edits))


def fault_by_loss(trainer):
    first, second = trainer.step(), trainer.step()
    return "uphill" if second > first else "none" if second < first else "nothing moves"


def of_each_text(make):
    def answer(train, test):
        bare = [[(make(a), make(b)) for a, b in pairs] for pairs in (train, test)]
        return ALL["leaked"].reference(*bare)

    return answer


def part_of_a_text(train, test):
    sides = [" ".join(pair[side] for pair in train) for side in (0, 1)]
    return sum(a in sides[0] or b in sides[1] for a, b in test) / len(test)


def in_three_hops(pairs):
    groups, left = [], list(pairs)
    while left:
        group = [left.pop(0)]
        for _ in range(3):
            near = [p for p in left if any(p[0] == a or p[1] == b for a, b in group)]
            group += near
            left = [p for p in left if p not in near]
        groups.append(sorted(group))
    return sorted(groups)


def names_that_never_close(tokens):
    closed = {token[1:] for token in tokens if token.startswith(")")}
    opened = [token[1:] for token in tokens if token.startswith("(")]
    return [f"){label}" for label in reversed(opened) if label not in closed]


def gathered_by_name(tokens):
    waiting = Counter(token[1:] for token in tokens if token.startswith("("))
    waiting.subtract(token[1:] for token in tokens if token.startswith(")"))
    return [f"){label}" for label in reversed(list(waiting)) for _ in range(waiting[label])]


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("fault", fault_by_loss),
        ("leaked", of_each_text(str.lower)),
        ("leaked", of_each_text(lambda text: text.rstrip(" .!?"))),
        ("leaked", of_each_text(str.strip)),
        ("leaked", of_each_text(lambda text: text.split()[0])),
        ("leaked", part_of_a_text),
        ("leaked", lambda train, test: measure_leak(train, test).either),
        ("groups", in_three_hops),
        ("closing", names_that_never_close),
        ("closing", gathered_by_name),
    ],
)
def test_an_answer_of_another_make_does_not(exercise, answer):
    assert status(exercise, answer) == "wrong"


def groups_by_hand(pairs):
    """The loop of lesson 08 as it stands there, its groups sorted."""
    found = []
    for pair in pairs:
        near = [g for g in found if any(set(pair) & set(p) for p in g)]
        rest = [g for g in found if g not in near]
        found = [*rest, [p for g in near for p in g] + [pair]]
    return sorted(map(sorted, found))


def upside_down(hypotheses, alpha):
    scores = [((5 + length) / 6) ** alpha / log_prob for log_prob, length in hypotheses]
    return scores.index(max(scores))


STOPPED = {
    "at the first end": (ROUND, f"{ROUND}\n        if best_prob:\n            break"),
    "at as many ends as places": (
        *("living = [([bos_id], 1.0)]", "living, ended = [([bos_id], 1.0)], 0"),
        "if token != eos_id:",
        "ended += token == eos_id and prob * next_prob > 0\n                if token != eos_id:",
        *(ROUND, f"{ROUND}\n        if ended >= beam_size:\n            break"),
    ),
}


@pytest.mark.parametrize(
    ("exercise", "answer", "says"),
    [
        ("groups", groups_by_hand, "differs from the lesson's loop"),
        ("groups", lambda pairs: sorted(map(sorted, group_pairs(pairs))), "compare them as they"),
        ("best_hypothesis", upside_down, "which of the two numbers is divided by the other"),
        ("reach", lambda n, k: max(1, math.ceil(math.log(n) / math.log(k))), "math.log(125, 5)"),
        *(
            ("beam", edited(ALL["beam"].reference, *x), "some sentence is finished")
            for x in STOPPED.values()
        ),
    ],
)
def test_advice_names_the_mistake(exercise, answer, says):
    verdict = ALL[exercise].check(answer)
    assert verdict.status == "wrong"
    assert says in " ".join(repr(verdict).split())
