"""The gaps and exercises of lesson 13: entropy, a head cut out, links and their error."""

import torch
from torch import Tensor, tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import make_normal_sampler
from lessonkit.exercises.without_torch.heads import alignment_error_rate as alignment_error_rate
from lessonkit.exercises.without_torch.heads import attention_entropy as attention_entropy
from lessonkit.exercises.without_torch.heads import lesson_wording

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
bleu_without_dull_head = lesson_wording.prediction("bleu_without_dull_head")
bleu_without_encoder_heads = lesson_wording.prediction("bleu_without_encoder_heads")
alignment_by_mean_of_heads = lesson_wording.prediction("alignment_by_mean_of_heads")


def my_prune_head(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Return the weight with one head's columns at 0; heads count from 1."""
    pruned = weight.clone()
    pruned[:, (head - 1) * d_v : head * d_v] = 0
    return pruned


def _prune_head_cases() -> list[tuple[Tensor, int, int]]:
    cases = []
    for num_heads, d_v in ((2, 1), (2, 2), (3, 2), (2, 3)):
        size = num_heads * d_v
        weight = torch.arange(1.0, 1 + size * size).reshape(size, size)
        cases += [(weight, head, d_v) for head in range(1, num_heads + 1)]
    narrow, wide = torch.arange(1.0, 9).reshape(2, 4), torch.arange(1.0, 13).reshape(6, 2)
    return [*cases, (narrow, 1, 2), (narrow, 2, 2), (wide, 1, 1), (wide, 2, 1)]


prune_head = Exercise(
    my_prune_head,
    lesson_wording,
    worked=[((tensor([[1.0, 2.0], [3.0, 4.0]]), 2, 1), tensor([[1.0, 0.0], [3.0, 0.0]]))],
    cases=_prune_head_cases(),
    expected=lambda weight, head, d_v: weight * (torch.arange(weight.shape[1]) // d_v != head - 1),
)


def my_strongest_links(weights: Tensor) -> list[tuple[int, int]]:
    """Link each target word to its strongest source word: (source, target)."""
    strongest = weights.argmax(dim=1).tolist()
    eos = weights.shape[1] - 1
    return [(src, tgt) for tgt, src in enumerate(strongest) if src != eos]


def _strongest_links_cases() -> list[tuple[Tensor]]:
    draw = make_normal_sampler(3)
    shapes = ((1, 2), (2, 2), (2, 3), (3, 3), (3, 4), (2, 5), (4, 3))
    drawn = [(2 * draw(*shape)).softmax(1) for shape in shapes for _ in range(4)]
    rounded = [(100 * each).round() / 100 for each in drawn]
    clear = [each for each in rounded if bool((each.topk(2).values.diff() < 0).all())]
    return [(each,) for each in clear]


strongest_links = Exercise(
    my_strongest_links,
    lesson_wording,
    worked=[
        ((tensor([[0.1, 0.7, 0.2], [0.2, 0.3, 0.5]]),), [(1, 0)]),
        ((tensor([[0.1, 0.9]]),), []),
        ((tensor([[0.2, 0.28, 0.26, 0.26]]),), [(1, 0)]),  # strongest, and not strong
    ],
    cases=_strongest_links_cases(),
    expected=lambda weights: [
        (src, tgt)
        for tgt, row in enumerate(weights.tolist())
        for src in range(len(row) - 1)
        if row[src] == max(row)
    ],
)
