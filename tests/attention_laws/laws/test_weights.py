import pytest

from attention_laws import Verdict
from attention_laws.laws import weights
from lessonkit.museum.attention import OverQueries
from lessonkit.museum.masks import (
    CausalCross,
    MaskedAfterSoftmax,
    MaskMultiplied,
    NoCausalMask,
    OneBehind,
)
from lessonkit.museum.specimen import turn
from tests.attention_laws.trying import small, tried
from transformer.attention import MultiHeadAttention
from transformer.model import Decoder

SUMS, HIDDEN, SEEN = [law.name for law in weights.LAWS]


@pytest.mark.parametrize("name", [SUMS, HIDDEN, SEEN])
def test_kept_by_a_sound_model(name: str) -> None:
    assert tried(small(num_layers=2), name).verdict == Verdict.KEPT
    assert tried(small().replace(pad_id=None), name).verdict == Verdict.KEPT


@pytest.mark.parametrize("name", [SUMS, HIDDEN, SEEN])
def test_not_tried_without_weights(name: str) -> None:
    line = tried(small().replace(attention=None), name)
    assert (line.verdict, line.seen) == (Verdict.NOT_TRIED, "the adapter has no attention")


@pytest.mark.parametrize(
    ("fault", "name", "seen"),
    [
        (MaskedAfterSoftmax, SUMS, "rows sum to"),
        (OverQueries, SUMS, "the softmax is over the queries"),
        (MaskMultiplied, HIDDEN, "on padding"),
    ],
)
def test_a_fault_of_attention_is_found(
    fault: type[MultiHeadAttention], name: str, seen: str
) -> None:
    adapter = small()
    assert adapter.module is not None
    turn(adapter.module, MultiHeadAttention, fault)
    line = tried(adapter, name)
    assert line.verdict == Verdict.BROKEN
    assert seen in line.seen


def test_weight_on_the_future_is_found() -> None:
    adapter = small()
    assert adapter.module is not None
    turn(adapter.module, Decoder, NoCausalMask)
    line = tried(adapter, HIDDEN)
    assert line.verdict == Verdict.BROKEN
    assert "decoder 0: a weight of" in line.seen
    assert "on a later position" in line.seen


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (CausalCross, "cross 0, head 0: position 0 has no weight on 1"),
        (OneBehind, "decoder 0, head 0: position 0 has no weight on 0"),
    ],
)
def test_a_mask_that_hides_too_much_is_warned_of(fault: type[Decoder], seen: str) -> None:
    adapter = small()
    assert adapter.module is not None
    turn(adapter.module, Decoder, fault)
    line = tried(adapter, SEEN)
    assert (line.verdict, line.seen) == (Verdict.WARNED, seen)
