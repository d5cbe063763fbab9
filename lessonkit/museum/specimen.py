"""What a specimen is: correct code in which one thing is another (not in the paper)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from torch import nn

from attention_laws.adapter import Adapter
from attention_laws.pipeline import Pipeline
from attention_laws.report import Report
from attention_laws.run import diagnose
from attention_laws.run_pipeline import diagnose_pipeline
from lessonkit.museum.sound import Setup, sound_model
from transformer.attention import MultiHeadAttention
from transformer.model import Transformer
from transformer.support.files import read_json
from transformer.support.paths import results_folder

RECORD = "museum/laws.json"


def leave(model: Transformer) -> None:
    """Leave a model as it is: the fault lies elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Specimen:
    """A fault, small and named, in code that is right but for it.

    Attributes:
        name: Short, with underscores.
        about: What the code does, in a sentence.
        group: The file of the museum that it is in.
        alter: Puts the fault into a model, in place; its weights stay as they were drawn.
        setup: The fault, where it lies in training or in search.
        config: What the model must have for the fault to matter (see `sound_model`).
        pipeline: Makes what stands around a model, with the fault in it, where it lies there.
        source: Link of a public report, or the system that had it; empty for a classic.
        trains: Whether it is trained, to see what its curve looks like.
        in_search: Whether it shows in the search alone, so that it is trained as what is sound.
    """

    name: str
    about: str
    group: str
    alter: Callable[[Transformer], None] = leave
    setup: type[Setup] = Setup
    config: Mapping[str, Any] = field(default_factory=dict)
    pipeline: Callable[[], Pipeline] | None = None
    source: str = ""
    trains: bool = False
    in_search: bool = False

    def make(self, seed: int = 0) -> Adapter | Pipeline:
        """Make a small model that has the fault, or what stands around one, ready for the laws.

        Args:
            seed: Of the weights.
        """
        if self.pipeline is not None:
            return self.pipeline()
        model = sound_model(seed, **self.config)
        self.alter(model)
        return self.setup(model).adapter()

    def diagnose(self, seed: int = 0, **settings: Any) -> Report:
        """Try the laws on it.

        Args:
            seed: Of the weights.
            settings: As `diagnose` takes them.
        """
        made = self.make(seed)
        if isinstance(made, Pipeline):
            return diagnose_pipeline(made)
        return diagnose(made, **settings)

    @property
    def caught_by(self) -> tuple[str, ...]:
        """Give the laws that it was found to break; none where no law sees it."""
        return tuple(recorded().get(self.name, {}).get("broken", ()))

    @property
    def warned_by(self) -> tuple[str, ...]:
        """Give the rules of thumb that it was found not to meet."""
        return tuple(recorded().get(self.name, {}).get("warned", ()))


@cache
def recorded() -> dict[str, Any]:
    """Read what was found of each specimen; nothing before it is recorded."""
    file = results_folder() / RECORD
    return dict(read_json(file)["specimens"]) if file.exists() else {}


def turn(model: nn.Module, kind: type[nn.Module], into: type[nn.Module]) -> None:
    """Turn each part of a model that is of one class into a subclass, and leave its weights.

    Args:
        model: Whose parts, itself included.
        kind: Their class.
        into: A subclass of it that adds no parameter.
    """
    for part in model.modules():
        if type(part) is kind:
            part.__class__ = into


def attentions(model: Transformer, name: str) -> list[MultiHeadAttention]:
    """Give the decoder's attentions of this name, `self_attention` or `cross_attention`."""
    return [layer.get_submodule(name) for layer in model.decoder.layers]  # type: ignore[misc]


def turned(kind: type[nn.Module], into: type[nn.Module]) -> Callable[[Transformer], None]:
    """Give what turns all parts of a class, as `turn` does."""
    return lambda model: turn(model, kind, into)
