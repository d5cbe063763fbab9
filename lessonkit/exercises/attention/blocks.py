"""The hard exercise of lesson 02: attention to keys and values that come in blocks.

Not in the paper: Milakov and Gimelshein (2018), "Online normalizer calculation for softmax".
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.outcome import SmallTensors
from lessonkit.exercises.toys import Blocks

words = read_words("02")

Pairs = Sequence[tuple[Tensor, Tensor]]

# In `Blocks(32, 32)` a block has 128 scores of the 4 queries, and all blocks have 4,096.
LARGEST, TOGETHER = 256, 2048


def my_attention_in_blocks(query: Tensor, blocks: Pairs) -> Tensor:
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


def _in_blocks(query: Tensor, blocks: Pairs, shrinks_total: bool, shrinks_sum: bool) -> Tensor:
    """Do it with one part or both left as they were when the maximum rises."""
    best = torch.full((len(query), 1), -math.inf)
    total = torch.zeros(len(query), 1)
    summed = torch.zeros(len(query), blocks[0][1].shape[-1])
    for key, value in blocks:
        scores = query @ key.T / math.sqrt(query.shape[-1])
        new_best = scores.amax(dim=-1, keepdim=True).maximum(best)
        shrink = (best - new_best).exp()
        weights = (scores - new_best).exp()
        total = total * (shrink if shrinks_total else 1) + weights.sum(dim=-1, keepdim=True)
        summed = summed * (shrink if shrinks_sum else 1) + weights @ value
        best = new_best
    return summed / total


def never_shrinks(query: Tensor, blocks: Pairs) -> Tensor:
    """Add up parts that were measured against different maxima."""
    return _in_blocks(query, blocks, shrinks_total=False, shrinks_sum=False)


def shrinks_sum_alone(query: Tensor, blocks: Pairs) -> Tensor:
    """Forget the total."""
    return _in_blocks(query, blocks, shrinks_total=False, shrinks_sum=True)


def without_maximum(query: Tensor, blocks: Pairs) -> Tensor:
    """Raise e to the scores as they are, which overflows."""
    total, summed = torch.zeros(len(query), 1), torch.zeros(len(query), 1)
    for key, value in blocks:
        weights = (query @ key.T / math.sqrt(query.shape[-1])).exp()
        total, summed = total + weights.sum(dim=-1, keepdim=True), summed + weights @ value
    return summed / total


def one_maximum_for_all(query: Tensor, blocks: Pairs) -> Tensor:
    """Take one maximum for all queries, far below which some have all their scores."""
    best, total, summed = torch.tensor(-math.inf), torch.zeros(len(query), 1), torch.zeros(1, 1)
    for key, value in blocks:
        scores = query @ key.T / math.sqrt(query.shape[-1])
        new_best = scores.max().maximum(best)
        shrink, weights = (best - new_best).exp(), (scores - new_best).exp()
        total = total * shrink + weights.sum(dim=-1, keepdim=True)
        summed, best = summed * shrink + weights @ value, new_best
    return summed / total


def mean_of_blocks(query: Tensor, blocks: Pairs) -> Tensor:
    """Let every block have the same say."""
    return torch.stack([my_attention_in_blocks(query, [block]) for block in blocks]).mean(dim=0)


def last_block_alone(query: Tensor, blocks: Pairs) -> Tensor:
    """Begin anew with each block."""
    return my_attention_in_blocks(query, blocks[-1:])


def all_at_once(query: Tensor, blocks: Pairs) -> Tensor:
    """Join the blocks first."""
    return _all_at_once(query, blocks)


def twice_through(query: Tensor, blocks: Pairs) -> Tensor:
    """Find the maximum on a way of its own."""
    root = math.sqrt(query.shape[-1])
    tops = [(query @ key.T / root).amax(dim=-1, keepdim=True) for key, _ in blocks]
    best = torch.stack(tops).amax(dim=0)
    total, summed = torch.zeros(len(query), 1), torch.zeros(len(query), 1)
    for key, value in blocks:
        weights = (query @ key.T / root - best).exp()
        total, summed = total + weights.sum(dim=-1, keepdim=True), summed + weights @ value
    return summed / total


def _all_at_once(query: Tensor, blocks: Pairs) -> Tensor:
    key, value = (torch.cat(parts) for parts in zip(*blocks, strict=True))
    return F.scaled_dot_product_attention(query[None], key[None], value[None])[0]


def _block_cases() -> list[tuple[Tensor, Pairs]]:
    """Small scores and large ones, the largest first or last."""
    generator = torch.Generator().manual_seed(0)
    small = [[1.0, 2.0], [2.0, 1.0], [1.0, 3.0, 2.0], [-3.0, 0.0, 2.0]]
    large = [[200.0, 201.0], [201.0, 0.0], [-200.0, -201.0]]
    cases: list[tuple[Tensor, Pairs]] = []
    for keys in small + large:
        values = [4.0, 8.0, 2.0][: len(keys)]
        pairs = zip(keys, values, strict=True)
        blocks = [(torch.tensor([[key]]), torch.tensor([[value]])) for key, value in pairs]
        cases.append((torch.ones(1, 1), blocks))
    for q_len, d_k, d_v, lengths in ((2, 3, 1, (2, 1)), (3, 5, 2, (4, 4, 2))):
        blocks = [
            (torch.randn(n, d_k, generator=generator), torch.randn(n, d_v, generator=generator))
            for n in lengths
        ]
        cases.append((2 * torch.randn(q_len, d_k, generator=generator), blocks))
    steep = torch.tensor([[200.0], [0.0]]), torch.tensor([[4.0], [8.0]])  # within one block
    other = torch.tensor([[-200.0]]), torch.tensor([[2.0]])
    opposite = torch.tensor([[1.0], [-1.0]])  # what is high for one query is low for the other
    cases += [(torch.ones(1, 1), [steep]), (opposite, [steep]), (opposite, [other, steep])]
    return [*cases, (torch.randn(4, 2, generator=generator), Blocks(32, 32))]


attention_in_blocks = Exercise(
    my_attention_in_blocks,
    words,
    worked=[
        (  # scores ln 3 and 0: weights 3/4 and 1/4
            (
                torch.tensor([[1.0]]),
                [
                    (torch.tensor([[math.log(3)]]), torch.tensor([[4.0]])),
                    (torch.tensor([[0.0]]), torch.tensor([[8.0]])),
                ],
            ),
            torch.tensor([[5.0]]),
        )
    ],
    cases=_block_cases(),
    expected=_all_at_once,
    rules=(lambda: SmallTensors(LARGEST, TOGETHER),),
    wrong={
        "never_shrinks": never_shrinks,
        "shrinks_sum_alone": shrinks_sum_alone,
        "without_maximum": without_maximum,
        "one_maximum_for_all": one_maximum_for_all,
        "all_at_once": all_at_once,
        "twice_through": twice_through,
        "mean_of_blocks": mean_of_blocks,
        "last_block_alone": last_block_alone,
    },
)
