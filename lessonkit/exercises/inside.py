"""The gaps and exercises of lesson 12, in its order: places hidden, edges cut, a vector exchanged.

`UniformAttentionModel` and `RedundantEvidenceModel` are its toys.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.toys import BaseToy
from lessonkit.exercises.without_torch.inside import (
    RedundantEvidenceModel as RedundantEvidenceModel,
)
from lessonkit.exercises.without_torch.inside import fewest_places_to_hide as fewest_places_to_hide
from lessonkit.exercises.without_torch.inside import lesson_wording

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
articles_right_with_routes_cut = lesson_wording.prediction("articles_right_with_routes_cut")
articles_changed_by_patch = lesson_wording.prediction("articles_changed_by_patch")
AttentionEdges = list[tuple[int, int]]  # (query, key), from 0


@dataclass(repr=False)
class UniformAttentionModel(BaseToy):
    """A toy encoder-decoder that attends evenly to all it sees. Token 4 is the vector [4, -4]."""

    def encode(self, src: Tensor, mask: Tensor) -> Tensor:
        """Add to each token the mean of those it sees: (1, src_len) -> (1, src_len, 2)."""
        vectors = _embed_ids_as_id_and_negative(src)
        return vectors + self._mean_of_visible(mask, vectors, vectors)

    def decode(self, tgt_in: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Add to each token the mean of the memory it sees: logits, (1, tgt_len, 2)."""
        vectors = _embed_ids_as_id_and_negative(tgt_in)
        return vectors + self._mean_of_visible(mask, vectors, memory)

    def _mean_of_visible(self, mask: Tensor, query: Tensor, memory: Tensor) -> Tensor:
        seen = mask[:, 0].expand(1, query.shape[1], memory.shape[1]).float()
        return seen @ memory / seen.sum(dim=-1, keepdim=True)


def _embed_ids_as_id_and_negative(ids: Tensor) -> Tensor:
    return ids[..., None] * tensor([1.0, -1.0])


def _all_true_mask(length: int) -> Tensor:
    return torch.ones(1, 1, 1, length, dtype=torch.bool)


def _row_of_ids(*tokens: int) -> Tensor:
    return tensor([tokens])


def my_logits_hiding_tokens(
    model: Any, src: Tensor, mask: Tensor, tgt_in: Tensor, before: list[int], after: list[int]
) -> Tensor:
    """Return the logits, with places hidden before or after the encoder."""
    seen = mask.clone()
    seen[..., before] = False
    memory = model.encode(src, seen)
    seen[..., after] = False
    return model.decode(tgt_in, memory, seen)


def _logits_with_tokens_removed(
    model: Any, src: Tensor, mask: Tensor, tgt_in: Tensor, before: list[int], after: list[int]
) -> Tensor:
    """Take the places out of the ids, and out of the memory; masks then have nothing to hide."""
    read = [i for i in range(src.shape[1]) if i not in before and bool(mask[0, 0, 0, i])]
    memory = model.encode(src[:, read], _all_true_mask(len(read)))
    left = [row for row, place in enumerate(read) if place not in after]
    return model.decode(tgt_in, memory[:, left], _all_true_mask(len(left)))


_LAST_KEY_PADDED_MASK = tensor([[[[True, True, True, False]]]])
logits_hiding_tokens = Exercise(
    my_logits_hiding_tokens,
    lesson_wording,
    worked=[
        (
            (UniformAttentionModel(), _row_of_ids(4, 6), _all_true_mask(2), _row_of_ids(1), [], []),
            tensor([[[11.0, -11.0]]]),
        ),
        (
            (
                UniformAttentionModel(),
                _row_of_ids(4, 6),
                _all_true_mask(2),
                _row_of_ids(1),
                [1],
                [],
            ),
            tensor([[[9.0, -9.0]]]),
        ),  # 1 + 4 + 4
        (
            (
                UniformAttentionModel(),
                _row_of_ids(4, 6),
                _all_true_mask(2),
                _row_of_ids(1),
                [],
                [1],
            ),
            tensor([[[10.0, -10.0]]]),
        ),  # 1 + 4 + 5
    ],
    cases=[
        (
            UniformAttentionModel(),
            _row_of_ids(4, 6, 9),
            _all_true_mask(3),
            _row_of_ids(1, 5),
            [0],
            [2],
        ),
        (
            UniformAttentionModel(),
            _row_of_ids(4, 6, 9),
            _all_true_mask(3),
            _row_of_ids(1, 7, 5),
            [1, 2],
            [],
        ),
        (
            UniformAttentionModel(),
            _row_of_ids(4, 6, 9),
            _all_true_mask(3),
            _row_of_ids(1),
            [],
            [0, 1],
        ),
        (
            UniformAttentionModel(),
            _row_of_ids(4, 6, 9, 0),
            _LAST_KEY_PADDED_MASK,
            _row_of_ids(1, 8),
            [1],
            [0],
        ),
    ],
    expected=_logits_with_tokens_removed,
)


def my_mask_without_edges(mask: Tensor, edges: AttentionEdges) -> Tensor:
    """Return the mask (1, 1, length, length) with some edges closed."""
    length = mask.shape[-1]
    left = mask.expand(1, 1, length, length).clone()
    for query, key in edges:
        left[..., query, key] = False
    return left


mask_without_edges = Exercise(
    my_mask_without_edges,
    lesson_wording,
    worked=[((_all_true_mask(2), [(0, 1)]), tensor([[[[True, False], [True, True]]]]))],
    cases=[
        (_all_true_mask(1), []),
        (_all_true_mask(2), []),
        (_all_true_mask(2), [(1, 0)]),
        (_all_true_mask(3), [(0, 2), (1, 2)]),
        (_all_true_mask(3), [(2, 0), (2, 1), (0, 1)]),
        (_LAST_KEY_PADDED_MASK, [(0, 1)]),
        (_LAST_KEY_PADDED_MASK, [(3, 0), (1, 2)]),
    ],
    expected=lambda mask, edges: (
        mask
        & tensor(
            [[(q, k) not in edges for k in range(mask.shape[-1])] for q in range(mask.shape[-1])]
        )
    ),
)


def my_patched_logits(
    model: Any, src: Tensor, other: Tensor, mask: Tensor, tgt_in: Tensor, places: list[int]
) -> Tensor:
    """Return the logits with the other run's vectors in some places."""
    memory = model.encode(src, mask)
    memory[:, places] = model.encode(other, mask)[:, places]
    return model.decode(tgt_in, memory, mask)


def _patched_logits_by_torch_where(
    model: Any, src: Tensor, other: Tensor, mask: Tensor, tgt_in: Tensor, places: list[int]
) -> Tensor:
    """Choose between the two memories, place by place."""
    is_other = tensor([[place in places] for place in range(src.shape[1])])
    memory = torch.where(is_other, model.encode(other, mask), model.encode(src, mask))
    return model.decode(tgt_in, memory, mask)


patched_logits = Exercise(
    my_patched_logits,
    lesson_wording,
    worked=[
        # The runs are 9, 11 and 11, 17; patched 9, 17, whose mean is 13, and 1 more.
        (
            (
                UniformAttentionModel(),
                _row_of_ids(4, 6),
                _row_of_ids(4, 10),
                _all_true_mask(2),
                _row_of_ids(1),
                [1],
            ),
            tensor([[[14.0, -14.0]]]),
        )
    ],
    cases=[
        (
            UniformAttentionModel(),
            _row_of_ids(4, 6),
            _row_of_ids(4, 10),
            _all_true_mask(2),
            _row_of_ids(1),
            [],
        ),
        (
            UniformAttentionModel(),
            _row_of_ids(4, 6),
            _row_of_ids(4, 10),
            _all_true_mask(2),
            _row_of_ids(1),
            [0],
        ),
        (
            UniformAttentionModel(),
            _row_of_ids(4, 6, 9),
            _row_of_ids(8, 6, 9),
            _all_true_mask(3),
            _row_of_ids(1, 5),
            [0, 2],
        ),
        (
            UniformAttentionModel(),
            _row_of_ids(4, 6, 9),
            _row_of_ids(4, 7, 9),
            _all_true_mask(3),
            _row_of_ids(1, 5),
            [1],
        ),
        (
            UniformAttentionModel(),
            _row_of_ids(4, 6, 9, 0),
            _row_of_ids(5, 6, 7, 0),
            _LAST_KEY_PADDED_MASK,
            _row_of_ids(1),
            [2],
        ),
    ],
    expected=_patched_logits_by_torch_where,
)
