"""What a specimen is: the course's own code, right but for an edit (not in the paper)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from attention_laws.adapter import Adapter, Pipeline
from attention_laws.report import Report
from attention_laws.run import diagnose, diagnose_pipeline
from lessonkit.museum.edits import Edit, load_edited, module_name
from transformer.support.files import read_json, results_folder

RECORD = "museum/laws.json"


@dataclass(frozen=True, kw_only=True)
class Specimen:
    """A fault, small and named, in code that is right but for it."""

    name: str  # short, with underscores
    about: str  # what the code does, in a sentence
    group: str = ""  # what it is about, in a word
    edits: tuple[Edit, ...] = ()  # what is changed; the weights stay as they were drawn
    config: Mapping[str, Any] = field(default_factory=dict)  # that the fault needs to matter
    source: str = ""  # link of a public report, or the system that had it; empty for a classic

    def __str__(self) -> str:
        """Write it as a change of source: what goes with -, what comes with +."""
        lines = [f"{self.name}: {self.about}"]
        for edit in self.edits:
            lines.append(edit.file)
            for sign, text in (("-", edit.old), ("+", edit.new)):
                lines += [f"  {sign} {line}" for line in text.splitlines()]
        return "\n".join(lines)

    def code(self) -> dict[str, ModuleType]:
        """Give the edited modules, by name (see `edits.FILES`)."""
        return load_edited(self.name, self.edits)

    def make(self, seed: int = 0) -> Adapter | Pipeline:
        """Make a small model that has the fault, or what stands around one, ready for the laws."""
        if self.group == "text":
            return self.code()["pipeline"].sound_pipeline()
        return self.code()["sound"].sound(seed, **self.config)

    def alter(self, model: nn.Module) -> None:
        """Put the fault into a Transformer that is there already; its weights stay."""
        alter(model, self.name, self.edits)

    def diagnose(self, seed: int = 0, **settings: Any) -> Report:
        """Try the laws on it, with settings as `diagnose` takes them."""
        made = self.make(seed)
        if isinstance(made, Pipeline):
            return diagnose_pipeline(made)
        return diagnose(made, **settings)


def alter(model: nn.Module, name: str, edits: tuple[Edit, ...]) -> None:
    """Turn each part of a model into the class of the same name in the edited files.

    The name is a word for these edits alone, of methods other than `__init__`: it is not run again.
    """
    code = load_edited(name, edits)
    modules = {module_name(edit.file): code[edit.name] for edit in edits}
    for part in model.modules():
        if (module := modules.get(type(part).__module__)) is not None:
            part.__class__ = getattr(module, type(part).__name__)


def read_specimens() -> tuple[Specimen, ...]:
    """Read the table of them, in its order."""
    text = Path(__file__).with_name("specimens.toml").read_text(encoding="utf-8")
    return tuple(
        Specimen(name=name, group=group, edits=tuple(Edit(*edit) for edit in edits), **rest)
        for group, table in tomllib.loads(text).items()
        for name, entry in table.items()
        for edits, rest in [(entry.pop("edits"), entry)]
    )


@cache
def recorded() -> dict[str, Any]:
    """Read what was found of each specimen; nothing before it is recorded."""
    file = results_folder() / RECORD
    return dict(read_json(file)["specimens"]) if file.exists() else {}
