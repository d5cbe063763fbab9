"""Of every law: a sound model keeps it and is left as it was; without what it needs it waits.

That faults break the laws is shown by the museum's specimens: `tests/lessonkit/museum`.
"""

from typing import Any

import pytest
import torch.nn.functional as F
from torch import Tensor

from attention_laws import Verdict, diagnose
from attention_laws.laws import LAWS
from tests.attention_laws.trying import same, small, state, tried

ONE_LAYER = ("layers_start_apart",)  # with one there are none to compare


@pytest.mark.parametrize(
    "changes",
    [
        {"pre_norm": True, "attention_bias": True, "output_bias": True, "num_layers": 2},
        {"positions": "learned", "tie_source_target": True, "src_vocab_size": 29},
    ],
)
def test_a_sound_model_keeps_it_and_is_left_as_it_was(changes: dict[str, Any]) -> None:
    adapter = small(seed=3, **changes)
    before = state(adapter)
    others = {line.law: line.seen for line in diagnose(adapter).lines if line.verdict != "kept"}
    assert set(others) <= {*(law.name for law in LAWS if law.minute), "left_padding", *ONE_LAYER}
    assert same(before, state(adapter))


def test_without_what_it_needs_it_is_not_tried() -> None:
    for law in LAWS:
        for need in law.needs:
            line = tried(small().replace(**{need: None}), law.name, minute=True)
            assert (line.verdict, line.seen) == ("not tried", f"the adapter has no {need}")


def test_without_padding_what_is_about_padding_is_not_tried() -> None:
    def over_all(logits: Tensor, tgt_out: Tensor) -> Tensor:
        return F.cross_entropy(logits.flatten(end_dim=1), tgt_out.flatten())

    report = diagnose(small().replace(pad_id=None, left_padding=True, loss=over_all))
    about = {"source_padding", "target_padding", "company", "left_padding", "empty_source"}
    about |= {"padding_costs_nothing", "each_token_counts_once"}
    assert not report.broken
    assert about <= {line.law for line in report.of(Verdict.NOT_TRIED)}


def test_laws_that_train_wait_to_be_asked() -> None:
    for law in LAWS:
        if law.minute:
            assert "--minute" in tried(small(), law.name).seen
