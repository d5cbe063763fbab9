"""The shapes that batches are rounded up to."""

import numpy as np
import pytest

from tests.helpers.tiny_training import DATA
from transformer.data import batch_shapes
from transformer.data.batch_shapes import BatchShapes, PaddingCount, few_shapes, round_up
from transformer.data.batches import Example, example_arrays


def test_sizes_by_hand() -> None:
    assert [round_up(size) for size in (1, 16, 17, 31, 33, 36, 37, 1000)] == [
        *(1, 16, 18, 32, 36, 36, 40, 1024)
    ]
    assert [round_up(size, 4) for size in (1, 4, 5, 63, 65)] == [4, 4, 8, 64, 72]


def test_sizes_are_few_and_an_eighth_larger_at_most() -> None:
    rounded = [round_up(size) for size in range(1, 1025)]
    assert all(size <= up <= size * 9 / 8 for size, up in enumerate(rounded, start=1))
    assert len({*rounded}) == 16 + 6 * 8


def test_the_shape_of_a_batch() -> None:
    lengths = [(2, 7), (4, 3), (30, 10), (1, 1)]
    shapes = BatchShapes(
        example_arrays([Example([5] * src, [6] * tgt) for src, tgt in lengths]), is_rounded=True
    )
    assert shapes.shape_of(np.array([0, 1])) == (2, 8, 8)
    # The longest source has 31 positions, and no length is rounded beyond it.
    assert shapes.shape_of(np.array([2, 0, 3])) == (3, 31, 11)
    assert shapes.num_src_tokens(np.array([0, 2])) == 3 + 31
    assert shapes.num_tgt_tokens(np.array([0, 2])) == 8 + 11
    assert shapes.shape_of(np.array([2, 0, 3])).positions == 3 * (31 + 11)


def test_every_batch_fits_its_shape() -> None:
    shapes = BatchShapes(DATA.examples, is_rounded=True)
    for rows, batch in zip(DATA.plan(0), DATA.epoch(0), strict=True):
        shape = shapes.shape_of(np.array(rows))
        assert shape.sentences >= len(batch.src)
        assert shape.src_len >= batch.src.shape[1]
        assert shape.tgt_len >= batch.tgt_in.shape[1]


def test_few_shapes_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = {(*batch.src.shape, batch.tgt_in.shape[1]) for batch in DATA.epoch(0)}
    for limit, is_rounded in ((len(shapes), False), (len(shapes) - 1, True)):
        monkeypatch.setattr(batch_shapes, "MAX_SHAPES_AS_PADDED", limit)
        assert few_shapes(DATA).is_rounded == is_rounded
    as_padded = BatchShapes(DATA.examples, is_rounded=False)
    assert {as_padded.shape_of(np.array(rows)) for rows in DATA.plan(0)} == shapes


def test_the_cost_of_padding() -> None:
    assert PaddingCount(positions=30, tokens=20).positions_per_token == pytest.approx(1.5)
    assert PaddingCount().positions_per_token is None
