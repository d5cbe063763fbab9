"""The gaps and exercises of lesson 02, in its order (§3.2). `ReadOnceKeyValueBlocks` is its toy.

The last is not in the paper: Milakov and Gimelshein (2018), "Online normalizer calculation for
softmax".
"""

import itertools
import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn, tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import make_normal_sampler, seeded_generator
from lessonkit.exercises.rules import forbidding_calls_of_module
from lessonkit.exercises.tensor_rules import ForbidFunctions, LimitTensorSizes
from lessonkit.exercises.toy_models import ReadOnceKeyValueBlocks
from lessonkit.exercises.wording import read_lesson_wording
from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID

lesson_wording = read_lesson_wording("02")
earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
silent_query = lesson_wording.prediction("silent_query")
unscaled_gradient = lesson_wording.prediction("unscaled_gradient")

KeysAndValuesByBlock = Sequence[tuple[Tensor, Tensor]]
PYTORCH_ATTENTION_FUNCTIONS = F.scaled_dot_product_attention, F.multi_head_attention_forward
# In `ReadOnceKeyValueBlocks(32, 32)` a block has 128 scores of the 4 queries; all have 4,096.
MAX_SCORES_AT_ONCE, MAX_SCORES_IN_ALL = 256, 2048


def my_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Average the values by how well their keys fit; return the weights too."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


def _attention_by_pytorch(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor]:
    """Let PyTorch attend; for the weights, to values that are one-hot vectors of their keys."""
    one_hot = torch.eye(key.shape[-2]).expand(*key.shape[:-1], -1)
    output = F.scaled_dot_product_attention(query, key, value, mask)
    weights = F.scaled_dot_product_attention(query, key, one_hot, mask)
    return output, weights


def _attention_cases() -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """One head and several; in each row of a mask one key is open and, mostly, one is shut."""
    generator, cases = seeded_generator(0), []
    for shape, q_len, k_len, d_k, d_v in (
        ((), 1, 2, 2, 1),
        ((), 2, 2, 2, 1),
        ((), 2, 3, 3, 1),
        ((), 3, 2, 5, 3),
        ((2, 3), 5, 7, 4, 2),
        ((2,), 1, 2, 3, 1),
    ):
        query, key, value = (
            torch.randn(*shape, *size, generator=generator).round(decimals=1)
            for size in ((q_len, d_k), (k_len, d_k), (k_len, d_v))
        )
        mask = torch.rand(*shape, q_len, k_len, generator=generator) < 0.6
        mask[..., 0], mask[..., -1] = True, False
        cases += [(query, key, value, mask), (query, key, value, ~mask.flip(-1))]
        cases.append((query, key, value, torch.ones_like(mask)))
    low = tensor([[-60.0], [-61.0], [0.0]])  # what is open scores far below what is shut
    query, value = tensor([[1.0]]), tensor([[4.0], [8.0], [2.0]])
    return [*cases, (query, low, value, tensor([[True, True, False]]))]


attention = Exercise(
    my_attention,
    lesson_wording,
    worked=[
        (  # one key is open: its value comes out, whatever the scores
            (
                tensor([[1.0, 0.0]]),
                tensor([[5.0, 1.0], [9.0, 2.0]]),
                tensor([[3.0], [7.0]]),
                tensor([[True, False]]),
            ),
            (tensor([[3.0]]), tensor([[1.0, 0.0]])),
        ),
        (  # scores 2 ln 3 / 2 = ln 3 and 0, the others shut: weights 3/4 and 1/4
            (
                tensor([[2 * math.log(3), 0.0, 0.0, 0.0]]),
                torch.eye(4),
                tensor([[4.0], [8.0], [5.0], [7.0]]),
                tensor([[True, True, False, False]]),
            ),
            (tensor([[5.0]]), tensor([[0.75, 0.25, 0.0, 0.0]])),
        ),
    ],
    cases=_attention_cases(),
    expected=_attention_by_pytorch,
    rules=(
        lambda: ForbidFunctions(*PYTORCH_ATTENTION_FUNCTIONS),
        lambda: forbidding_calls_of_module("transformer.attention"),
    ),
    saved=True,
)


def my_decoder_mask(tgt_in: Tensor) -> Tensor:
    """Open real keys that are not ahead, (batch, 1, tgt_len, tgt_len)."""
    real = (tgt_in != 0)[:, None, None, :]  # 0 is <pad>
    past = torch.ones(tgt_in.shape[1], tgt_in.shape[1]).tril().bool()
    return real & past


decoder_mask = Exercise(
    my_decoder_mask,
    lesson_wording,
    worked=[
        (
            (tensor([[2, 7, 0]]),),
            tensor([[[[True, False, False], [True, True, False], [True, True, False]]]]),
        )
    ],
    cases=[
        (tensor([[2, *[7] * (real - 1), *[0] * (length - real)] for real in reals]),)
        for length in (1, 2, 3, 5)
        for reals in itertools.chain(
            ([real] for real in range(1, length + 1)), ([length, 1], [1, length, length])
        )
    ]
    + [(tensor([[BOS_ID, each]]),) for each in (UNK_ID, EOS_ID)]
    + [(tensor([[BOS_ID, UNK_ID, 5], [BOS_ID, 4, 0]]),)],
    rules=(lambda: forbidding_calls_of_module("transformer.masks"),),
    # PyTorch's causal mask is 0 where open
    expected=lambda tgt_in: (
        nn.Transformer.generate_square_subsequent_mask(tgt_in.shape[1]) == 0
    ).logical_and(tgt_in[:, None, None] != PAD_ID),
)


def my_window_mask(length: int, width: int) -> Tensor:
    """Let each token see `width` tokens: itself and those before it."""
    place = torch.arange(length)
    back = place[:, None] - place  # (query, key): how far back
    return (back >= 0) & (back < width)


window_mask = Exercise(
    my_window_mask,
    lesson_wording,
    worked=[((3, 2), tensor([[True, False, False], [True, True, False], [False, True, True]]))],
    cases=[(length, width) for length in range(1, 7) for width in range(1, 5)],
    # a smaller triangle cut out of a larger one
    expected=lambda length, width: (
        torch.ones(length, length).tril() - torch.ones(length, length).tril(-width)
    ).bool(),
)


def my_attention_in_blocks(query: Tensor, blocks: KeysAndValuesByBlock) -> Tensor:
    """Attend to keys and values that come block by block."""
    best = torch.full((len(query), 1), -math.inf)
    total = torch.zeros(len(query), 1)
    summed = torch.zeros(len(query), blocks[0][1].shape[-1])
    for key, value in blocks:
        scores = query @ key.T / math.sqrt(query.shape[-1])
        new_best = scores.amax(dim=-1, keepdim=True).maximum(best)
        shrink = (best - new_best).exp()
        weights = (scores - new_best).exp()
        total = total * shrink + weights.sum(dim=-1, keepdim=True)
        summed = summed * shrink + weights @ value
        best = new_best
    return summed / total


def _attention_over_joined_blocks(query: Tensor, blocks: KeysAndValuesByBlock) -> Tensor:
    key, value = (torch.cat(parts) for parts in zip(*blocks, strict=True))
    return F.scaled_dot_product_attention(query[None], key[None], value[None])[0]


def _attention_in_blocks_cases() -> list[tuple[Tensor, KeysAndValuesByBlock]]:
    """Small scores and large ones, the largest first or last."""
    draw = make_normal_sampler(0)
    small = [[1.0, 2.0], [2.0, 1.0], [1.0, 3.0, 2.0], [-3.0, 0.0, 2.0]]
    large = [[200.0, 201.0], [201.0, 0.0], [-200.0, -201.0]]
    cases: list[tuple[Tensor, KeysAndValuesByBlock]] = []
    for keys in small + large:
        pairs = zip(keys, [4.0, 8.0, 2.0], strict=False)
        blocks = [(tensor([[key]]), tensor([[value]])) for key, value in pairs]
        cases.append((torch.ones(1, 1), blocks))
    for q_len, d_k, d_v, lengths in ((2, 3, 1, (2, 1)), (3, 5, 2, (4, 4, 2))):
        blocks = [(draw(n, d_k), draw(n, d_v)) for n in lengths]
        cases.append((2 * draw(q_len, d_k), blocks))
    steep = tensor([[200.0], [0.0]]), tensor([[4.0], [8.0]])  # within one block
    other = tensor([[-200.0]]), tensor([[2.0]])
    opposite = tensor([[1.0], [-1.0]])  # what is high for one query is low for the other
    cases += [(torch.ones(1, 1), [steep]), (opposite, [steep]), (opposite, [other, steep])]
    return [*cases, (draw(4, 2), ReadOnceKeyValueBlocks(32, 32))]


attention_in_blocks = Exercise(
    my_attention_in_blocks,
    lesson_wording,
    worked=[
        (  # scores ln 3 and 0: weights 3/4 and 1/4
            (
                tensor([[1.0]]),
                [(tensor([[math.log(3)]]), tensor([[4.0]])), (tensor([[0.0]]), tensor([[8.0]]))],
            ),
            tensor([[5.0]]),
        )
    ],
    cases=_attention_in_blocks_cases(),
    expected=_attention_over_joined_blocks,
    rules=(lambda: LimitTensorSizes(MAX_SCORES_AT_ONCE, MAX_SCORES_IN_ALL),),
)
