"""The gaps and the exercise of lesson 00: perplexity, the average that attention is, a search."""

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import make_normal_sampler
from lessonkit.exercises.without_torch.probability_table import ProbabilityTable as ProbabilityTable
from lessonkit.exercises.without_torch.start import lesson_wording
from lessonkit.exercises.without_torch.start import most_probable_sentence as most_probable_sentence
from lessonkit.exercises.without_torch.start import perplexity as perplexity

bleu_after_short_training = lesson_wording.prediction("bleu_after_short_training")
part_to_hide_noun_from = lesson_wording.prediction("part_to_hide_noun_from")


def my_weighted_average(weights: Tensor, values: Tensor) -> Tensor:
    """(tgt_len, src_len) and (src_len, d_v) -> (tgt_len, d_v)."""
    return weights @ values


_draw_normal = make_normal_sampler(0)
weighted_average = Exercise(
    my_weighted_average,
    lesson_wording,
    worked=[
        ((torch.tensor([[0.5, 0.5]]), torch.tensor([[2.0], [6.0]])), torch.tensor([[4.0]])),
        (
            (torch.tensor([[0.25, 0.75], [1.0, 0.0]]), torch.tensor([[4.0, 0.0], [8.0, 1.0]])),
            torch.tensor([[7.0, 0.75], [4.0, 0.0]]),
        ),
    ],
    cases=[
        (torch.ones(1, 1), torch.tensor([[2.0]])),
        (torch.tensor([[0.75, 0.25]]), torch.tensor([[4.0], [8.0]])),
        (torch.tensor([[0.75, 0.25], [0.0, 1.0]]), torch.tensor([[4.0], [8.0]])),
        *(
            (_draw_normal(tgt_len, src_len).softmax(dim=-1), _draw_normal(src_len, d_v))
            for tgt_len, src_len, d_v in ((2, 3, 5), (5, 2, 3), (3, 7, 2))
        ),
    ],
    # the softmax of the weights' logarithm is the weights: PyTorch's attention can do it
    expected=lambda weights, values: F.scaled_dot_product_attention(
        torch.zeros(len(weights), 1), torch.zeros(len(values), 1), values, weights.log()
    ),
)
