"""Embeddings whose row of zeros is that of a word."""

import pytest

from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from tests.attention_laws.one_law import expect

LAW = "embedding_of_padding_alone_is_not_trained"
MODERN = SOUND_MODELS["modern"].text
PLACES = "self.places = nn.Embedding(64, D_MODEL, padding_idx=0)"


@pytest.mark.parametrize(
    ("old", "new", "verdict", "seen"),
    [
        ("padding_idx=PAD", "padding_idx=EOS", "broken", "padding_idx 2, where {1} pad"),
        # Counted from the end.
        ("padding_idx=PAD", "padding_idx=-1", "broken", "padding_idx 28"),
        ("", "", "kept", "2 embeddings"),
        (", padding_idx=PAD", "", "not tried", "no embedding of words"),
    ],
)
def test_the_row_that_is_not_trained(old: str, new: str, verdict: str, seen: str) -> None:
    expect(run_as_module(MODERN.replace(old, new)).make_adapter(), LAW, verdict, seen)


def test_a_table_of_positions_has_a_row_of_its_own() -> None:
    """As Roberta's, whose positions are counted from behind that of padding."""
    text = MODERN.replace(
        "self.drop = nn.Dropout(DROPOUT)\n        self.apply",
        f"{PLACES}\n        self.drop = nn.Dropout(DROPOUT)\n        self.apply",
    )
    text = text.replace(
        "self.embed(src)", "self.embed(src) + self.places(torch.arange(1, src.shape[1] + 1))"
    )
    assert text.count("self.places") == 2
    expect(run_as_module(text).make_adapter(), LAW, "kept", "2 embeddings")
