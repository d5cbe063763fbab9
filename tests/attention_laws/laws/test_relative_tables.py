"""Tables of relative positions, and maps from distances to rows that are wrong."""

import pytest

from attention_laws.laws import relative_tables
from experiments.laws.mutants import SOUND_MODELS, run_as_module
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
