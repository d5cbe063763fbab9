"""A step's batch in parts: nothing lost, nothing doubled, no more than fits."""

import pytest
import torch

from tests.helpers.several_processes import CONFIG, DATA, EXAMPLES, network
from transformer.data.batches import Batch, collate, cut
from transformer.training.loss import batch_loss

BATCHES = list(DATA.epoch(0))


def sentences(parts: list[Batch]) -> list[tuple[list[int], list[int]]]:
    """The sentences of some batches, without padding, in a fixed order."""
    rows = [
        (src[src != 0].tolist(), tgt[tgt != 0].tolist())
        for part in parts
        for src, tgt in zip(part.src, part.tgt_out, strict=True)
    ]
    return sorted(row for row in rows if row[1])


@pytest.mark.parametrize("size", [1, 2, 3, 97])
@pytest.mark.parametrize("most_tokens", [None, 25, 1])
def test_no_sentence_is_lost_or_doubled(size: int, most_tokens: int | None) -> None:
    for batch in BATCHES:
        shares = [cut(batch, rank, size, most_tokens) for rank in range(size)]
        parts = [part for share in shares for part in share]
        assert sentences(parts) == sentences([batch])
        assert all(len(part.src) >= 1 for part in parts)
        if most_tokens is not None:
            widest = max(batch.src.size(1), batch.tgt_in.size(1))
            assert all(len(part.src) * widest <= max(most_tokens, widest) for part in parts)


def test_a_part_of_no_weight_leaves_no_gradient() -> None:
    (part,) = cut(collate(EXAMPLES[:2]), 2, 3)
    assert (part.num_tgt_tokens, part.src.size(0)) == (0, 1)
    model = network()
    sums = batch_loss(model, part, CONFIG)
    sums.loss.backward()
    assert float(sums.loss.detach()) == float(sums.nll) == 0
    assert all(p.grad is not None and torch.all(p.grad == 0) for p in model.parameters())
