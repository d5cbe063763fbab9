"""Feed-forward networks that are one linear map, or narrow, however they are written."""

import pytest

from experiments.laws.mutants import SOUND_MODELS, run_as_module
from experiments.laws.variants import variant_text
from tests.attention_laws.one_law import expect

ADDITIVE, NARROW = "feed_forward_is_not_additive", "feed_forward_is_not_narrow"
PAPER, MODERN = SOUND_MODELS["paper"].text, SOUND_MODELS["modern"].text


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        # The activation is thrown away, and what stands in its place is no nn.Linear.
        (PAPER, "torch.relu(self.first(hidden))", "self.first(hidden) + 1 * self.first(hidden)"),
        (MODERN, "F.silu(self.gate(x)) * self.up(x)", "self.gate(x) + self.up(x)"),
    ],
)
def test_two_maps_that_are_one(text: str, old: str, new: str) -> None:
    assert text.count(old) == 1
    expect(run_as_module(text.replace(old, new)).make_adapter(), ADDITIVE, "broken", "encoder.0.")


def test_a_narrow_network_is_warned_of() -> None:
    text = PAPER.replace("DROPOUT = 32, 64,", "DROPOUT = 32, 7,")
    expect(run_as_module(text).make_adapter(), NARROW, "warned", "is 7 wide inside, d_model 32")


def test_sound_networks_are_kept() -> None:
    for text in (PAPER, MODERN, variant_text("modern", "bilinear")):
        adapter = run_as_module(text).make_adapter()
        expect(adapter, ADDITIVE, "kept", "4 networks")
        expect(adapter, NARROW, "kept", "4 networks")
    adapter = run_as_module(SOUND_MODELS["functional"].text).make_adapter()
    expect(adapter, ADDITIVE, "not tried")
