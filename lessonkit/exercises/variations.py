"""Lesson 15's gaps and exercise, in its order: projections, Holm's rule, phrases, open brackets."""

from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.without_torch.variations import closing_brackets as closing_brackets
from lessonkit.exercises.without_torch.variations import lesson_wording
from lessonkit.exercises.without_torch.variations import (
    num_attention_params as num_attention_params,
)
from lessonkit.exercises.without_torch.variations import phrase_f1 as phrase_f1
from lessonkit.exercises.without_torch.variations import rows_shown_by_holm as rows_shown_by_holm

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
rows_shown_to_differ = lesson_wording.prediction("rows_shown_to_differ")
wide_bleu_at_half_rate = lesson_wording.prediction("wide_bleu_at_half_rate")
