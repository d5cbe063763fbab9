"""One law tried on one model, and small models whose loss and step a test may change."""

from typing import Any

from attention_laws import Adapter, Line, diagnose
from attention_laws.laws import LAWS
from lessonkit.museum.sound import Setup, sound_model


def tried(adapter: Adapter, law: str, minute: bool = False) -> Line:
    """What is found of the law of this name."""
    return diagnose(adapter, laws=[each for each in LAWS if each.name == law], minute=minute)[law]


def expect(adapter: Adapter, law: str, verdict: str, seen: str = "", minute: bool = False) -> None:
    """Hold what is found of a law to a verdict, and to words of what is seen."""
    line = tried(adapter, law, minute)
    assert line.verdict == verdict, line
    assert seen in line.seen


def small(seed: int = 0, **changes: Any) -> Adapter:
    """A sound model of one layer of each kind, and all that trains it."""
    return setup(seed, **changes).adapter()


def setup(seed: int = 0, **changes: Any) -> Setup:
    """The same before it is an adapter."""
    return Setup(sound_model(seed, **{"d_model": 16, "num_layers": 1} | changes))
