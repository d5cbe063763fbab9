"""Batches gathered from flat tensors, held to those that `collate` makes."""

import numpy as np
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.data.batch_shapes import BatchShape
from transformer.data.batches import Example, collate, example_arrays
from transformer.data.device_batches import ExampleTensors

CPU = torch.device("cpu")
# Special ids, which a text may hold by mistake, and one that needs more than 16 bits.
SENTENCES = st.lists(st.sampled_from([*range(9), 70_001]), max_size=7)
PAIRS = st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=13)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(PAIRS, st.data(), st.integers(0, 3), st.integers(0, 5), st.integers(0, 5))
def test_is_what_collate_makes_and_padding(
    pairs: list[tuple[list[int], list[int]]],
    data: st.DataObject,
    more_rows: int,
    more_src: int,
    more_tgt: int,
) -> None:
    examples = [Example(src, tgt) for src, tgt in pairs]
    rows = data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=11))
    expected = collate([examples[row] for row in rows])
    shape = BatchShape(
        len(rows) + more_rows, expected.src.shape[1] + more_src, expected.tgt_in.shape[1] + more_tgt
    )
    tensors = ExampleTensors(example_arrays(examples), CPU)
    made = tensors.gather(tensors.pad_rows(np.array(rows), shape.sentences), shape)
    assert torch.equal(made.num_tgt_tokens, torch.tensor(expected.num_tgt_tokens))
    for side in ("src", "tgt_in", "tgt_out"):
        ids, ids_by_hand = getattr(made, side), getattr(expected, side)
        assert ids.dtype == torch.int64
        width = ids.shape[1]
        padded = F.pad(ids_by_hand, (0, width - ids_by_hand.shape[1]), value=PAD_ID)
        assert torch.equal(ids[: len(rows)], padded)
        first = {"src": EOS_ID, "tgt_in": BOS_ID, "tgt_out": PAD_ID}[side]
        assert ids[len(rows) :].tolist() == [[first] + [PAD_ID] * (width - 1)] * more_rows
