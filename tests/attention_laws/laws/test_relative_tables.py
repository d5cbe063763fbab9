"""Tables of relative positions, and maps from distances to rows that are wrong."""

import pytest

from attention_laws.laws import relative_tables
from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from tests.attention_laws.one_law import expect

LAW, T5_LAW = "relative_positions_have_rows_in_order", "relative_positions_have_t5_rows"
FUNCTIONAL = SOUND_MODELS["functional"].text
DECODER_TABLE = "self.dec_bias = self.matrix(1, BUCKETS, HEADS)"


@pytest.fixture(autouse=True)
def _sentences_of_a_length_that_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relative_tables, "LONG_LENS", (40,))


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("exact + far *", "exact - far *", "distance 3 has the row of 1 again, and 2 another"),
        ("clamp(min=1) / exact", "clamp(min=1) * exact", "row 2 is skipped between distance 1"),
        ("return first + torch", "return torch", "4 of 8 rows are never read"),
        ("else gap.clamp(min=0)", "else gap.clamp(min=1)", "distances 0 and 1 share row 1"),
        (DECODER_TABLE, "self.dec_bias = self.enc_bias", "in one attention and 3 in another"),
    ],
)
def test_rows_that_are_out_of_order(old: str, new: str, seen: str) -> None:
    assert FUNCTIONAL.count(old) == 1
    expect(run_as_module(FUNCTIONAL.replace(old, new)).make_adapter(), LAW, "broken", seen)


COARSE = FUNCTIONAL.replace(
    "gap = torch.arange(q_len)[:, None] - torch.arange(k_len)\n",
    """\
gap = torch.arange(q_len)[:, None] - torch.arange(k_len)
        if True:
            half = BUCKETS // 2 if both_sides else BUCKETS
            rows = (gap.abs() // 2).clamp(max=half - 1)
            return rows + (gap < 0) * half if both_sides else rows * (gap > 0)
""",
)


def test_rows_that_are_all_coarse_are_sound() -> None:
    """Two distances share each row, also 0 and 1, up to the last."""
    assert COARSE != FUNCTIONAL
    adapter = run_as_module(COARSE).make_adapter().replace(relative_max_distance=None)
    expect(adapter, LAW, "kept", "enc_bias, dec_bias")


def test_a_row_beyond_the_table_is_found_where_far_distances_share_one() -> None:
    text = FUNCTIONAL.replace("if both_sides else 0\n", "if both_sides else 1\n")
    assert text != FUNCTIONAL
    expect(run_as_module(text).make_adapter(), T5_LAW, "broken", "raises where rows are read")


def test_sound_tables_and_those_of_t5() -> None:
    """By hand: of 4 rows a side up to 16 two are exact, distances 2 to 5 share one, and all else.

    Other maps are sound where no distance is told.
    """
    farther = FUNCTIONAL.replace("math.log(FARTHEST / exact)", "math.log(4 * FARTHEST / exact)")
    assert farther != FUNCTIONAL
    for text, verdict, seen in (
        (FUNCTIONAL, "kept", "2 tables"),
        (farther, "broken", "distances 5 and 6 share a row"),
    ):
        adapter = run_as_module(text).make_adapter()
        expect(adapter, LAW, "kept", "enc_bias, dec_bias: distances up to 39")
        expect(adapter, T5_LAW, verdict, seen)
    expect(run_as_module(SOUND_MODELS["modern"].text).make_adapter(), LAW, "not tried")
