"""Tables of rotary positions whose frequencies are wrong, and sound ones of several layouts."""

import pytest
import torch

from attention_laws.laws.rotary_tables import _describe_fault_of_frequencies
from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from experiments.laws.variants import variant_text
from tests.attention_laws.one_law import expect

BASE_LAW = "rotary_base_is_as_told"
LAW = "rotary_frequencies_fall_from_one"
MODERN = SOUND_MODELS["modern"].text
FREQUENCIES = "10000.0 ** (-torch.arange(0, HEAD_DIM, 2) / HEAD_DIM)"
ANGLES = "        angles = torch.outer(torch.arange(64), frequencies)\n"


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("/ HEAD_DIM)", "* HEAD_DIM)", "3 of 4 never turn"),
        ("10000.0 **", "10000.0 *", "a later pair turns faster"),
        ("arange(0, HEAD_DIM, 2)", "arange(1, HEAD_DIM, 2)", "exponents do not begin at 0"),
        ("torch.arange(64)", "torch.arange(64) ** 2", "do not grow evenly"),
        (", 2) / HEAD_DIM)", ", 2))", "as with a base of 1e+32"),
        (f"{FREQUENCIES}\n", f"{FREQUENCIES} ** 0\n", "all of them turn alike"),
        # One angle for all pairs is no table of frequencies, and is seen in queries.
        (
            "(0, HEAD_DIM, 2)",
            "(0, 2, HEAD_DIM)",
            "first rotation of the source turns pairs by 1, 1",
        ),
    ],
)
def test_frequencies_that_are_no_power_law_from_one(old: str, new: str, seen: str) -> None:
    assert MODERN.count(old) == 1
    expect(run_as_module(MODERN.replace(old, new)).make_adapter(), LAW, "broken", seen)


@pytest.mark.parametrize(
    "edit",
    [
        (FREQUENCIES, FREQUENCIES),
        # Positions that are interpolated, and a base of long contexts.
        (FREQUENCIES, f"{FREQUENCIES} / 4"),
        (FREQUENCIES, FREQUENCIES.replace("10000.0", "5e5")),
        # Angles of both components of a pair, and complex numbers in place of cosines and sines.
        (
            ANGLES,
            f"{ANGLES}        self.twice = torch.cat((angles, angles), 1).cos()\n"
            "        self.twice_sin = torch.cat((angles, angles), 1).sin()\n",
        ),
        (ANGLES, f"{ANGLES}        self.turns = torch.polar(torch.ones_like(angles), angles)\n"),
    ],
)
def test_sound_frequencies(edit: tuple[str, str]) -> None:
    assert MODERN.count(edit[0]) == 1
    adapter = run_as_module(MODERN.replace(*edit)).make_adapter()
    expect(adapter, LAW, "kept", "turns" if "polar" in edit[1] else "4 frequencies")


def test_most_pairs_may_be_idle_if_several_turn() -> None:
    """As in p-RoPE (Barbero et al., 2024): of 16 pairs the last 12 never turn."""
    frequencies = 10000.0 ** -(torch.arange(16.0) / 16)
    assert not _describe_fault_of_frequencies(frequencies.where(torch.arange(16) < 4, 0.0))
    assert _describe_fault_of_frequencies(frequencies.where(torch.arange(16) < 1, 0.0))
    # Idle are the slowest pairs, not the fastest.
    assert _describe_fault_of_frequencies(frequencies.where(torch.arange(16) > 3, 0.0))


ONE_PAIR = (
    "return torch.cat((one * cos - other * sin, one * sin + other * cos), dim=-1)",
    "one, other, rest = hidden.split((1, 1, 6), dim=-1)\n"
    "        cos, sin = cos[:, :1], sin[:, :1]\n"
    "        return torch.cat((one * cos - other * sin, one * sin + other * cos, rest), dim=-1)",
)


@pytest.mark.parametrize(
    ("old", "new", "verdict", "seen"),
    [
        ("", "", "kept", "the first rotation of the source: 4 frequencies"),
        ("(half) / half", "(half) * 0", "broken", "all of them turn alike"),
        # One pair of four is turned, as where GPT-NeoX turns a quarter of a small head.
        (*ONE_PAIR, "kept", "the first rotation of the source: 1 frequencies"),
        ("/ 10000 **", "* 10000 **", "broken", "a later pair turns faster"),
    ],
)
def test_frequencies_without_a_table_are_seen_in_queries(
    old: str, new: str, verdict: str, seen: str
) -> None:
    text = variant_text("paper", "rotary")
    assert old in text
    expect(run_as_module(text.replace(old, new)).make_adapter(), LAW, verdict, seen)


BEFORE_HEADS = (
    (
        "places, half = torch.arange(start, start + hidden.shape[2]), hidden.shape[-1] // 2",
        "heads, places = hidden.shape[1], torch.arange(start, start + hidden.shape[2])\n"
        "        hidden, half = hidden.transpose(1, 2).flatten(2), heads * hidden.shape[-1] // 2",
    ),
    ("hidden.split(half, dim=-1), (angles", "(hidden[..., 0::2], hidden[..., 1::2]), (angles"),
    (
        "return torch.cat((one * cos - other * sin, one * sin + other * cos), dim=-1)",
        "whole = torch.stack((one * cos - other * sin, one * sin + other * cos), dim=-1)\n"
        "        return whole.flatten(-2).unflatten(-1, (heads, -1)).transpose(1, 2)",
    ),
)


def test_heads_may_have_frequencies_of_their_own() -> None:
    """As where all of d_model is turned before it is split into heads."""
    text = variant_text("paper", "rotary")
    for old, new in BEFORE_HEADS:
        assert text.count(old) == 1
        text = text.replace(old, new)
    adapter = run_as_module(text).make_adapter()
    expect(adapter, "scores_depend_on_distance_alone", "kept")
    expect(adapter, LAW, "not tried")


def test_the_base_is_that_which_is_told() -> None:
    for text, base, verdict, seen in (
        (MODERN, 10000.0, "kept", "10000"),
        (MODERN.replace("10000.0 **", "20000.0 **"), 10000.0, "broken", "20000, and 10000 is told"),
        (variant_text("paper", "rotary"), 500.0, "broken", "a base of 10000"),
        # The slower pairs are slowed eight times, for long contexts.
        (
            variant_text("paper", "rotary").replace(
                "/ 10000 ** (torch.arange(half)",
                "/ torch.tensor([1, 1, 8, 8]) / 10000 ** (torch.arange(half)",
            ),
            10000.0,
            "kept",
            "10000",
        ),
        # The fourth of its pairs turns too slowly to be seen.
        (variant_text("paper", "rotary").replace("10000 **", "1e9 **"), 1e9, "kept", "1e+09"),
        (variant_text("modern", "partial_rotary"), 10000.0, "kept", "10000"),
    ):
        adapter = run_as_module(text).make_adapter().replace(rotary_base=base)
        expect(adapter, BASE_LAW, verdict, seen)
