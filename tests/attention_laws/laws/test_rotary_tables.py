"""Tables of rotary positions whose frequencies are wrong, and sound ones of several layouts."""

import pytest

from experiments.laws.mutants import SOUND_MODELS, run_as_module
from tests.attention_laws.one_law import expect

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
