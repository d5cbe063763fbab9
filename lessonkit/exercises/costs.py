"""The exercises of lesson 18, in order: intensity, the noise scale, a step's operations."""

from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.without_torch.costs import arithmetic_intensity as arithmetic_intensity
from lessonkit.exercises.without_torch.costs import flops as flops
from lessonkit.exercises.without_torch.costs import gradient_noise_scale as gradient_noise_scale
from lessonkit.exercises.without_torch.costs import lesson_wording

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
p100_flops_share = lesson_wording.prediction("p100_flops_share")
time_ratio_of_64_vectors = lesson_wording.prediction("time_ratio_of_64_vectors")
model_with_noisier_gradient = lesson_wording.prediction("model_with_noisier_gradient")
