"""Lesson 15's gaps and exercise, in its order: projections, Holm's rule, phrases, open brackets."""

import collections

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.without_torch.variations import GOLD_TREE, lesson_wording
from lessonkit.exercises.without_torch.variations import closing_brackets as closing_brackets
from lessonkit.exercises.without_torch.variations import (
    num_attention_params as num_attention_params,
)
from lessonkit.exercises.without_torch.variations import rows_shown_by_holm as rows_shown_by_holm
from transformer.evaluation.scores import count_tree_phrases

LabelledSpan = tuple[str, int, int]
earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
rows_shown_to_differ = lesson_wording.prediction("rows_shown_to_differ")
wide_bleu_at_half_rate = lesson_wording.prediction("wide_bleu_at_half_rate")


def my_phrase_f1(said: list[LabelledSpan], right: list[LabelledSpan]) -> float:
    """Return the labelled F1 of a tree's phrases, 0 to 1."""
    common = (collections.Counter(said) & collections.Counter(right)).total()
    return 2 * common / (len(said) + len(right))


def _tree_to_phrases(tree: str) -> list[LabelledSpan]:
    return list(count_tree_phrases(tree).elements())


phrase_f1 = Exercise(
    my_phrase_f1,
    lesson_wording,
    worked=[
        (([("NP", 0, 1)], [("NP", 0, 1)]), 1.0),
        (([("S", 0, 1)], [("S", 0, 1), ("NP", 0, 1)]), 2 / 3),
        (([("NP", 0, 1)] * 2, [("NP", 0, 1)]), 2 / 3),
    ],
    cases=[
        *(
            (_tree_to_phrases(said), _tree_to_phrases(GOLD_TREE))
            for said in (
                GOLD_TREE,
                "(S DT NN VB DT JJ NN . )S",
                "(S (NP DT NN )NP (VP VB )VP (NP DT JJ NN )NP . )S",
                "(S (NP DT NN )NP (NP VB (NP DT JJ NN )NP )NP . )S",
                "(S (VP DT NN )VP (VP VB (NP DT JJ NN )NP )VP . )S",
            )
        ),
        ([("NP", 0, 1)] * 2, [("NP", 0, 1)] * 3),
        ([("S", 0, 2), *[("NP", 0, 1)] * 2], [("NP", 0, 1), ("VP", 1, 2)]),
        ([("NP", 0, 2)], [("NP", 1, 2)]),
        ([("NP", 0, 1)], [("NP", 0, 2)]),
    ],
    expected=lambda said, right: (
        2 * sum(min(said.count(p), right.count(p)) for p in set(said)) / (len(said) + len(right))
    ),
)
