"""The gaps and the exercise of lesson 20: a filter, a split, placeholders kept, and masked."""

from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.without_torch.own_language import lesson_wording
from lessonkit.exercises.without_torch.own_language import mask_placeholders as mask_placeholders
from lessonkit.exercises.without_torch.own_language import (
    placeholder_accuracy as placeholder_accuracy,
)
from lessonkit.exercises.without_torch.own_language import should_keep_pair as should_keep_pair
from lessonkit.exercises.without_torch.own_language import unseen_pairs as unseen_pairs

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
test_share_seen_in_training = lesson_wording.prediction("test_share_seen_in_training")
nearest_sentence_bleu = lesson_wording.prediction("nearest_sentence_bleu")
