from collections.abc import Callable

import pytest
import torch
from torch import nn

from attention_laws import Verdict
from lessonkit.museum.layers import NeverDropped, hide_layers
from lessonkit.museum.specimen import turn, turned
from tests.attention_laws.trying import small, tried
from transformer.dropout import Dropout
from transformer.model import Transformer

REPEATS, DROPS = "repeats", "dropout_in_training"


@pytest.mark.parametrize("name", [REPEATS, DROPS])
@pytest.mark.parametrize("pre_norm", [False, True])
def test_kept_by_a_sound_model(name: str, pre_norm: bool) -> None:
    assert tried(small(pre_norm=pre_norm), name).verdict == Verdict.KEPT


class Functional(Dropout):
    """Drops whatever the mode."""

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(hidden, self.p)


@pytest.mark.parametrize("fault", [turned(Dropout, Functional), hide_layers])
def test_dropout_in_evaluation_is_found(fault: Callable[[Transformer], None]) -> None:
    adapter = small(dropout=0.3)
    assert isinstance(adapter.module, Transformer)
    fault(adapter.module)
    line = tried(adapter, REPEATS)
    assert line.verdict == Verdict.BROKEN
    assert "run twice" in line.seen


def test_logits_that_are_no_numbers_are_found() -> None:
    adapter = small()
    assert adapter.module is not None
    with torch.no_grad():
        next(adapter.module.parameters()).fill_(float("nan"))
    line = tried(adapter, REPEATS)
    assert line.verdict == Verdict.BROKEN
    assert "NaN" in line.seen


def test_dropout_that_does_nothing_is_found() -> None:
    adapter = small()
    assert adapter.module is not None
    turn(adapter.module, Dropout, NeverDropped)
    line = tried(adapter, DROPS)
    assert line.verdict == Verdict.BROKEN
    assert line.seen == "with dropout of up to 0.1 the logits of 8 passes are equal"


def test_without_dropout_there_is_none_to_look_for() -> None:
    assert tried(small(dropout=0.0), DROPS).verdict == Verdict.NOT_TRIED
    line = tried(small().replace(module=None), DROPS)
    assert (line.verdict, line.seen) == (Verdict.NOT_TRIED, "the adapter has no module")
