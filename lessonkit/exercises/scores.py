"""The exercises of lesson 08, in its order: BLEU's counts and its brevity penalty, chrF.

Not in the paper: Papineni et al. (2002), "BLEU: a Method for Automatic Evaluation of Machine
Translation"; Popović (2015), "chrF: character n-gram F-score for automatic MT evaluation".
"""

from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.without_torch.scores import brevity_penalty as brevity_penalty
from lessonkit.exercises.without_torch.scores import chrf as chrf
from lessonkit.exercises.without_torch.scores import clipped_counts as clipped_counts
from lessonkit.exercises.without_torch.scores import lesson_wording

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
bleu_spread_over_variants = lesson_wording.prediction("bleu_spread_over_variants")
habit_that_bleu_prefers = lesson_wording.prediction("habit_that_bleu_prefers")
