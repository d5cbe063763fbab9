"""Exercises of lesson 15 that need no PyTorch: projections, Holm's rule, phrases, open brackets."""

import collections
import itertools
import re

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

LabelledSpan = tuple[str, int, int]  # label, first word, last word + 1
lesson_wording = read_lesson_wording("15")


def my_num_attention_params(d_model: int, num_heads: int, d_k: int, d_v: int) -> int:
    """Count the weights of a multi-head attention's four matrices."""
    queries_and_keys = 2 * d_model * num_heads * d_k
    values_and_output = 2 * d_model * num_heads * d_v
    return queries_and_keys + values_and_output


num_attention_params = Exercise(
    my_num_attention_params,
    lesson_wording,
    worked=[((1, 1, 1, 1), 4), ((2, 1, 3, 5), 2 * (3 + 3 + 5 + 5))],
    cases=[(2, 1, 1, 1), (2, 2, 1, 1), (3, 2, 1, 4), (7, 3, 2, 5), (512, 8, 64, 64)],
    # a head's three matrices at a time, then the one for all heads together
    expected=lambda d_model, num_heads, d_k, d_v: (
        sum(d_model * width for width in [d_k, d_k, d_v] * num_heads) + num_heads * d_v * d_model
    ),
)


def my_rows_shown_by_holm(p_values: dict[str, float]) -> list[str]:
    """Return the rows shown to differ, from the smallest p-value on."""
    shown: list[str] = []
    for name in sorted(p_values, key=lambda name: p_values[name]):
        if p_values[name] * (len(p_values) - len(shown)) > 0.05:
            break
        shown.append(name)
    return shown


def _rows_shown_by_adjusted_p_values(p_values: dict[str, float]) -> list[str]:
    """Multiply first: each by how many are left, and none below the one before."""
    names = sorted(p_values, key=lambda name: p_values[name])
    times = [(len(names) - place) * p_values[name] for place, name in enumerate(names)]
    corrected = itertools.accumulate(times, max)
    return [name for name, p in zip(names, corrected, strict=True) if p <= 0.05]


rows_shown_by_holm = Exercise(
    my_rows_shown_by_holm,
    lesson_wording,
    worked=[
        (({"a": 0.04},), ["a"]),
        (({"a": 0.04, "b": 0.03},), []),
        (({"a": 0.04, "b": 0.02},), ["b", "a"]),
    ],
    cases=[
        ({"a": 0.3, "b": 0.01},),
        ({"a": 0.04, "b": 0.001, "c": 0.03},),
        ({"a": 0.02, "b": 0.3, "c": 0.01},),
        ({"a": 0.011, "b": 0.2, "c": 0.024, "d": 0.012},),
        ({"a": 0.0125, "b": 0.0125, "c": 0.0125, "d": 0.02},),
        ({"a": 0.001, "b": 0.03, "c": 0.04, "d": 0.045},),
        ({"a": 0.5, "b": 0.9},),
        ({},),
    ],
    expected=_rows_shown_by_adjusted_p_values,
)


def my_phrase_f1(said: list[LabelledSpan], right: list[LabelledSpan]) -> float:
    """Return the labelled F1 of a tree's phrases, 0 to 1."""
    common = (collections.Counter(said) & collections.Counter(right)).total()
    return 2 * common / (len(said) + len(right))


GOLD_PHRASES = [("NP", 0, 2), ("NP", 3, 6), ("VP", 2, 6), ("S", 0, 7)]  # of `GOLD_TREE`
phrase_f1 = Exercise(
    my_phrase_f1,
    lesson_wording,
    worked=[
        (([("NP", 0, 1)], [("NP", 0, 1)]), 1.0),
        (([("S", 0, 1)], [("S", 0, 1), ("NP", 0, 1)]), 2 / 3),
        (([("NP", 0, 1)] * 2, [("NP", 0, 1)]), 2 / 3),
    ],
    cases=[
        (GOLD_PHRASES, GOLD_PHRASES),
        ([("S", 0, 7)], GOLD_PHRASES),
        ([("NP", 0, 2), ("VP", 2, 3), ("NP", 3, 6), ("S", 0, 7)], GOLD_PHRASES),
        ([("NP", 0, 2), ("NP", 3, 6), ("NP", 2, 6), ("S", 0, 7)], GOLD_PHRASES),
        ([("VP", 0, 2), ("NP", 3, 6), ("VP", 2, 6), ("S", 0, 7)], GOLD_PHRASES),
        ([("NP", 0, 1)] * 2, [("NP", 0, 1)] * 3),
        ([("S", 0, 2), *[("NP", 0, 1)] * 2], [("NP", 0, 1), ("VP", 1, 2)]),
        ([("NP", 0, 2)], [("NP", 1, 2)]),
        ([("NP", 0, 1)], [("NP", 0, 2)]),
    ],
    expected=lambda said, right: (
        2 * sum(min(said.count(p), right.count(p)) for p in set(said)) / (len(said) + len(right))
    ),
)


GOLD_TREE = "(S (NP DT NN )NP (VP VB (NP DT JJ NN )NP )VP . )S"


def my_closing_brackets(tokens: list[str]) -> list[str] | None:
    """Return the brackets that close a tree; None if none can."""
    waiting: list[str] = []
    for token in tokens:
        if token.startswith("("):
            waiting.append(f"){token[1:]}")
        elif token.startswith(")"):
            if waiting[-1:] != [token]:
                return None
            waiting.pop()
    return waiting[::-1]


def _closing_brackets_by_cancelling(tokens: list[str]) -> list[str] | None:
    """Cancel pairs of one name that stand side by side until there are none."""
    text = "".join(f"{token} " for token in tokens if token[0] in "()")
    for _ in tokens:
        text = re.sub(r"\((\S+) \)\1 ", "", text)
    return None if ")" in text else [f"){label}" for label in text.replace("(", "").split()[::-1]]


closing_brackets = Exercise(
    my_closing_brackets,
    lesson_wording,
    worked=[
        ((["(S", "(NP", "DT", "NN"],), [")NP", ")S"]),
        ((["(S", "(NP", "NN", ")NP"],), [")S"]),
        ((["(NP", "NN", ")NP"],), []),
        ((["(S", "(NP", "NN", ")S"],), None),
    ],
    cases=[(GOLD_TREE.split()[:end],) for end in range(1, len(GOLD_TREE.split()) + 1)]
    + [
        (["(NP", "(VP", "(NP", "NN", ")NP"],),
        (["(S", "(NP", "(SBAR", "(S", "(NP", "NN", ")NP", ")S"],),
        (["(NP", "(NP", "NN"],),
        (["(NP", "(PP", "(NP", "(PP", "NN"],),
        (["(S", "(NP", "(NP", "NN", ")NP"],),
        ([")NP"],),
        (["(NP", ")VP"],),
        (["(S", "(NP", ")S"],),
        (["(NP", "(VP", ")NP"],),
        (["(NP", ")NP", ")NP"],),
        (["(NP", "NN", ")S", "(S"],),
    ],
    expected=_closing_brackets_by_cancelling,
)
