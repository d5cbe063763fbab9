from collections.abc import Callable

import pytest

from attention_laws import Verdict
from lessonkit.museum.attention import (
    attend_to_the_target,
    leave_cross_attention_empty,
    lose_self_attention,
    return_own_value,
)
from lessonkit.museum.masks import OneBehind
from lessonkit.museum.positions import (
    OverTheBatch,
    forget_positions,
    forget_target_positions,
)
from lessonkit.museum.specimen import turned
from tests.attention_laws.trying import small, tried
from transformer.embeddings import Embedding
from transformer.model import Decoder, Transformer

SOURCE, TARGET, ORDER = "source_reaches", "target_reaches", "order_matters"


@pytest.mark.parametrize("name", [SOURCE, TARGET, ORDER])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("pre_norm", [False, True])
def test_kept_by_a_sound_model(name: str, positions: str, pre_norm: bool) -> None:
    assert tried(small(positions=positions, pre_norm=pre_norm), name).verdict == Verdict.KEPT


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (leave_cross_attention_empty, SOURCE),
        (attend_to_the_target, SOURCE),
        (lose_self_attention, TARGET),
        (return_own_value, TARGET),
        (forget_positions, ORDER),
        (turned(Embedding, OverTheBatch), ORDER),
    ],
)
def test_a_fault_is_found(fault: Callable[[Transformer], None], name: str) -> None:
    adapter = small()
    assert isinstance(adapter.module, Transformer)
    fault(adapter.module)
    assert tried(adapter, name).verdict == Verdict.BROKEN


@pytest.mark.parametrize(
    "fault", [lambda model: forget_target_positions(model), turned(Decoder, OneBehind)]
)
def test_a_target_without_positions_still_has_an_order(
    fault: Callable[[Transformer], None],
) -> None:
    """The causal mask tells it, from the second layer on; the law is kept, as it should be."""
    adapter = small(num_layers=2)
    assert isinstance(adapter.module, Transformer)
    fault(adapter.module)
    assert tried(adapter, ORDER).verdict == Verdict.KEPT
