"""Try one law on one model, and make small models whose loss and step a test may change."""

from typing import Any

from attention_laws import Adapter, LawResult, diagnose
from attention_laws.laws import MODEL_LAWS
from lessonkit.museum.sound import TrainingSetup, sound_model


def try_law(adapter: Adapter, law: str, minute: bool = False) -> LawResult:
    """Return what is found about the law of this name."""
    return diagnose(adapter, laws=[x for x in MODEL_LAWS if x.name == law], minute=minute)[law]


def expect(adapter: Adapter, law: str, verdict: str, seen: str = "", minute: bool = False) -> None:
    """Assert the verdict on a law, and that what was seen contains a figure or a name."""
    line = try_law(adapter, law, minute)
    assert line.verdict == verdict, line
    assert seen in line.seen


def small_adapter(seed: int = 0, **changes: Any) -> Adapter:
    """Return a sound model of one layer on each side, and everything that trains it."""
    return small_setup(seed, **changes).to_adapter()


def small_setup(seed: int = 0, **changes: Any) -> TrainingSetup:
    """Return the same before it is an adapter."""
    return TrainingSetup(sound_model(seed, **{"d_model": 16, "num_layers": 1} | changes))
