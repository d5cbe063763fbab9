"""The gaps and the exercise of lesson 19, none of it in the paper.

RMSNorm, rotary positions with a cache, SwiGLU, shared key heads; packed sequences.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import transformer as tf
from lessonkit.exercises import learner_file
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import make_normal_sampler
from lessonkit.exercises.wording import read_lesson_wording

lesson_wording = read_lesson_wording("19")
earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
rms_norm_effect = lesson_wording.prediction("rms_norm_effect")
rotary_effect = lesson_wording.prediction("rotary_effect")
swiglu_effect = lesson_wording.prediction("swiglu_effect")
grouped_query_effect = lesson_wording.prediction("grouped_query_effect")
decoder_only_loss = lesson_wording.prediction("decoder_only_loss")

_draw_normal = make_normal_sampler(7)


def _draw_rounded(*size: int) -> Tensor:
    return _draw_normal(*size).round(decimals=1)


def keep_in_learner_file(*classes: type) -> None:
    """Write classes of a cell into the learner's file, beside what of theirs has passed.

    Print where each is kept. Without a file nothing of theirs has passed, and nothing is written.

    Raises:
        UserError: a class was not written in a cell.
    """
    if not learner_file.LEARNER_FILE.is_file():
        print(f"Nothing of yours has passed yet: there is no {learner_file.LEARNER_FILE}.")
        return
    for each in classes:
        print(f"{each.__name__} is kept in {learner_file.save_definition(each)}.")


def my_rms_norm(hidden: Tensor, weight: Tensor) -> Tensor:
    """Divide each vector by its root mean square; apply the weight."""
    mean_square = (hidden**2).mean(dim=-1, keepdim=True)
    return hidden / (mean_square + 1e-5).sqrt() * weight


rms_norm = Exercise(
    my_rms_norm,
    lesson_wording,
    worked=[
        (  # the mean of 9, 16, 0 and 0 is 6.25, its root 2.5
            (torch.tensor([[3.0, 4.0, 0.0, 0.0]]), torch.ones(4)),
            torch.tensor([[1.2, 1.6, 0.0, 0.0]]),
        ),
        ((torch.tensor([[2.0, 2.0]]), torch.tensor([5.0, 6.0])), torch.tensor([[5.0, 6.0]])),
        (  # the mean square is as small as what is added to it
            (torch.tensor([[1.0, -1.0]]) * 1e-5**0.5, torch.ones(2)),
            torch.tensor([[1.0, -1.0]]) / 2**0.5,
        ),
    ],
    cases=[
        (4 * _draw_rounded(*size, width) + 1, _draw_rounded(width))
        for size, width in (((1,), 2), ((2,), 3), ((3,), 5), ((2, 3), 7))
    ],
    expected=lambda hidden, weight: F.rms_norm(hidden, hidden.shape[-1:], weight, eps=1e-5),
    saved=True,
)


def my_apply_rotary(queries: Tensor, keys: Tensor, cached: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rotated queries, and all keys, rotated."""
    start = cached.shape[2]
    queries, keys = tf.rotate(queries, start), tf.rotate(keys, start)
    return queries, torch.cat((cached, keys), dim=2)


def _rotated_by_complex_numbers(
    queries: Tensor, keys: Tensor, cached: Tensor
) -> tuple[Tensor, Tensor]:
    """Multiply each pair, as a complex number, by that of its angle."""
    start, length, d_k = cached.shape[2], queries.shape[2], queries.shape[3]
    places = torch.arange(start, start + length, dtype=torch.float64)
    angle = places[:, None] * 10_000 ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    turn = torch.polar(torch.ones_like(angle), angle)
    queries, keys = (
        torch.view_as_real(
            torch.view_as_complex(each.double().unflatten(-1, (-1, 2)).contiguous()) * turn
        )
        .flatten(-2)
        .float()
        for each in (queries, keys)
    )
    return queries, torch.cat((cached, keys), dim=2)


_COSINE_SINE = torch.tensor([[[[math.cos(1), math.sin(1)]]]])  # a turn by one radian

apply_rotary = Exercise(
    my_apply_rotary,
    lesson_wording,
    worked=[
        (  # the first position of all is not turned
            (
                torch.tensor([[[[1.0, 2.0]]]]),
                torch.tensor([[[[3.0, 4.0]]]]),
                torch.zeros(1, 1, 0, 2),
            ),
            (torch.tensor([[[[1.0, 2.0]]]]), torch.tensor([[[[3.0, 4.0]]]])),
        ),
        (  # one key is there: the new one is at position 1
            (
                torch.tensor([[[[1.0, 0.0]]]]),
                torch.tensor([[[[1.0, 0.0]]]]),
                torch.tensor([[[[5.0, 7.0]]]]),
            ),
            (_COSINE_SINE, torch.cat((torch.tensor([[[[5.0, 7.0]]]]), _COSINE_SINE), dim=2)),
        ),
    ],
    cases=[
        (
            _draw_rounded(batch, heads, length, d_k),
            _draw_rounded(batch, key_heads, length, d_k),
            _draw_rounded(batch, key_heads, past, d_k),
        )
        for batch, heads, key_heads, length, past, d_k in (
            (1, 1, 1, 2, 0, 2),
            (1, 1, 1, 1, 2, 2),
            (1, 2, 1, 2, 1, 4),
            (2, 2, 2, 1, 5, 4),
            (2, 6, 3, 5, 11, 6),
        )
    ],
    expected=_rotated_by_complex_numbers,
    saved=True,
)


def my_swiglu(x: Tensor, gate: Tensor, inner: Tensor, outer: Tensor) -> Tensor:
    """Return (silu(x gate) * (x inner)) outer."""
    return (nn.functional.silu(x @ gate) * (x @ inner)) @ outer


def _swiglu_by_exponentials(x: Tensor, gate: Tensor, inner: Tensor, outer: Tensor) -> Tensor:
    """Write silu(z) as z / (1 + e^-z), unit by unit."""
    total = torch.zeros(*x.shape[:-1], outer.shape[1])
    for unit in range(gate.shape[1]):
        z = (x * gate[:, unit]).sum(dim=-1)
        passed = z / (1 + torch.exp(-z)) * (x * inner[:, unit]).sum(dim=-1)
        total = total + passed[..., None] * outer[unit]
    return total


_ONE = torch.ones(1, 1)

swiglu = Exercise(
    my_swiglu,
    lesson_wording,
    worked=[
        # silu(2) is 2 / (1 + e^-2); times 3, times a half
        (
            (_ONE, 2 * _ONE, 3 * _ONE, _ONE / 2),
            3 * _ONE / (1 + math.exp(-2)),
        ),
        ((_ONE, 0 * _ONE, 3 * _ONE, _ONE), 0 * _ONE),
    ],
    cases=[
        (
            _draw_rounded(*size, d_model),
            _draw_rounded(d_model, d_ff),
            _draw_rounded(d_model, d_ff),
            _draw_rounded(d_ff, d_model),
        )
        for size, d_model, d_ff in (((1,), 1, 1), ((1,), 2, 3), ((3,), 2, 5), ((2, 3), 5, 7))
    ],
    expected=_swiglu_by_exponentials,
    saved=True,
)


def my_share_heads(shared: Tensor, num_heads: int) -> Tensor:
    """Repeat each head of keys or values for its group of query heads."""
    group = num_heads // shared.shape[1]
    return shared.repeat_interleave(group, dim=1)


def _shared_by_pytorchs_attention(shared: Tensor, num_heads: int) -> Tensor:
    """Let each query of PyTorch's grouped attention read the one value at its own position."""
    batch, _, length, width = shared.shape
    own_position = torch.eye(length, dtype=torch.bool)
    queries = torch.zeros(batch, num_heads, length, width)
    return F.scaled_dot_product_attention(
        queries, torch.zeros_like(shared), shared, own_position, enable_gqa=True
    )


share_heads = Exercise(
    my_share_heads,
    lesson_wording,
    worked=[
        ((torch.tensor([[[[3.0]]]]), 2), torch.tensor([[[[3.0]], [[3.0]]]])),
        (
            (torch.tensor([[[[3.0]], [[4.0]]]]), 4),
            torch.tensor([[[[3.0]], [[3.0]], [[4.0]], [[4.0]]]]),
        ),
    ],
    cases=[
        (_draw_rounded(batch, key_heads, length, d_k), num_heads)
        for batch, key_heads, num_heads, length, d_k in (
            (1, 1, 1, 1, 1),
            (1, 2, 2, 1, 1),
            (1, 1, 3, 1, 2),
            (1, 2, 4, 2, 1),
            (2, 3, 6, 5, 4),
            (2, 2, 10, 3, 1),
        )
    ],
    expected=_shared_by_pytorchs_attention,
    saved=True,
)


def my_packed_mask(pair: Tensor, is_source: Tensor) -> Tensor:
    """Return the mask of several pairs in one sequence, (length, length)."""
    place = torch.arange(len(pair))
    same = pair[:, None] == pair
    earlier = place <= place[:, None]
    return same & (earlier | is_source) & (pair > 0)


def _packed_mask_position_by_position(pair: Tensor, is_source: Tensor) -> Tensor:
    """Ask for each two positions whether the first may attend to the second."""
    length = len(pair)
    mask = torch.zeros(length, length, dtype=torch.bool)
    for query in range(length):
        for key in range(length):
            if pair[key] != 0 and pair[query] == pair[key]:
                mask[query, key] = bool(is_source[key]) or key <= query
    return mask


def _packed_mask_case(*lengths: tuple[int, int], padding: int = 0) -> tuple[Tensor, Tensor]:
    """Put pairs with sources and targets of these lengths into one sequence."""
    pair, is_source = [], []
    for number, (src_len, tgt_len) in enumerate(lengths, start=1):
        pair += [number] * (src_len + tgt_len)
        is_source += [True] * src_len + [False] * tgt_len
    pair, is_source = pair + [0] * padding, is_source + [False] * padding
    return torch.tensor(pair), torch.tensor(is_source)


packed_mask = Exercise(
    my_packed_mask,
    lesson_wording,
    worked=[
        (_packed_mask_case((1, 1)), torch.tensor([[True, False], [True, True]])),
        (
            _packed_mask_case((2, 0), (1, 0)),
            torch.tensor([[True, True, False], [True, True, False], [False, False, True]]),
        ),
        (
            _packed_mask_case((1, 0), padding=1),
            torch.tensor([[True, False], [False, False]]),
        ),
    ],
    cases=[
        _packed_mask_case(*lengths, padding=padding)
        for lengths, padding in (
            (((2, 1),), 0),
            (((1, 2),), 0),
            (((1, 1), (1, 1)), 0),
            (((1, 1),), 2),
            (((2, 2), (1, 3)), 0),
            (((3, 2), (2, 1), (1, 3)), 3),
        )
    ],
    expected=_packed_mask_position_by_position,
)
