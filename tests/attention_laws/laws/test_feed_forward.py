"""Feed-forward networks that are one linear map, or narrow, however they are written."""

from pathlib import Path

import pytest

from attention_laws import Adapter
from attention_laws.bare_module import adapter_from_module
from experiments.laws import sound_gpt
from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from experiments.laws.variants import variant_text
from tests.attention_laws.one_law import expect

ADDITIVE, NARROW = "feed_forward_is_not_additive", "feed_forward_is_not_narrow"
PAPER, MODERN = SOUND_MODELS["paper"].text, SOUND_MODELS["modern"].text
GPT = Path(sound_gpt.__file__).read_text(encoding="utf-8")


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


def gpt_adapter(*edits: tuple[str, str]) -> Adapter:
    """Return the sound decoder-only model with edits."""
    text = GPT
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return adapter_from_module(run_as_module(text).make())


def test_causal_attention_is_no_feed_forward_network() -> None:
    """Its first position reads itself alone, as one does that is changed by itself."""
    adapter = gpt_adapter(("F.gelu(self.first(x))", "self.first(x)"))
    expect(adapter, ADDITIVE, "broken", "blocks.0.feed_forward")


RETURN = "return self.dropout(self.second(F.gelu(self.first(x))))"
FIRST = "self.first = nn.Linear(D_MODEL, 4 * D_MODEL)"
TIED = "self.head.weight = self.words.weight\n"
ZEROED = f"""{TIED}        for block in self.blocks:
            nn.init.zeros_(block.feed_forward.second.weight)
            nn.init.zeros_(block.attention.output.weight)
"""
SOUND_EDITS = {
    "its last map begins as zero": ((TIED, ZEROED),),
    "a small part beside a residual path": (
        (RETURN, RETURN.replace("return", "return x + 1e-4 *")),
    ),
    "weights of two experts": (
        (FIRST, f"self.router = nn.Linear(D_MODEL, 2); {FIRST}"),
        (RETURN, f"{RETURN} * self.router(x).softmax(dim=-1)[..., :1]"),
    ),
}


@pytest.mark.parametrize("name", SOUND_EDITS)
def test_sound_networks_of_a_gpt_are_kept(name: str) -> None:
    adapter = gpt_adapter(*SOUND_EDITS[name])
    expect(adapter, ADDITIVE, "kept", "2 networks")
    expect(adapter, NARROW, "kept")
