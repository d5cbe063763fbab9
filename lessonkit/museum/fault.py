"""What a fault is: the course's own code, right but for an edit (not in the paper)."""

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
from lessonkit.museum.edited_source import SourceEdit, load_edited_modules, module_name
from transformer.support.files import read_json, results_folder

LAWS_RECORD = "museum/laws.json"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault, small and named, in code that is right but for it."""

    name: str  # short, with underscores
    about: str  # what the code does, in a sentence
    group: str = ""  # what it is about, in a word
    edits: tuple[SourceEdit, ...] = ()  # what is changed; the weights stay as they were drawn
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

    def modules(self) -> dict[str, ModuleType]:
        """Give the edited modules, by name (see `edits.FILES`)."""
        return load_edited_modules(self.name, self.edits)

    def build(self, seed: int = 0) -> Adapter | Pipeline:
        """Make a small model that has the fault, or what stands around one, ready for the laws."""
        if self.group == "text":
            return self.modules()["pipeline"].sound_pipeline()
        return self.modules()["sound"].sound_adapter(seed, **self.config)

    def add_to(self, model: nn.Module) -> None:
        """Put the fault into a Transformer that is there already; its weights stay."""
        apply_edits(model, self.name, self.edits)

    def diagnose(self, seed: int = 0, **settings: Any) -> Report:
        """Try the laws on it, with settings as `diagnose` takes them."""
        made = self.build(seed)
        if isinstance(made, Pipeline):
            return diagnose_pipeline(made)
        return diagnose(made, **settings)


def apply_edits(model: nn.Module, name: str, edits: tuple[SourceEdit, ...]) -> None:
    """Turn each part of a model into the class of the same name in the edited files.

    The name is a word for these edits alone, of methods other than `__init__`: it is not run again.
    """
    code = load_edited_modules(name, edits)
    modules = {module_name(edit.file): code[edit.name] for edit in edits}
    for part in model.modules():
        if (module := modules.get(type(part).__module__)) is not None:
            part.__class__ = getattr(module, type(part).__name__)


def read_faults() -> tuple[Fault, ...]:
    """Read the table of them, in its order."""
    text = Path(__file__).with_name("faults.toml").read_text(encoding="utf-8")
    return tuple(
        Fault(name=name, group=group, edits=tuple(SourceEdit(*edit) for edit in edits), **rest)
        for group, table in tomllib.loads(text).items()
        for name, entry in table.items()
        for edits, rest in [(entry.pop("edits"), entry)]
    )


@cache
def recorded_laws() -> dict[str, Any]:
    """Read what was found of each fault; nothing before it is recorded."""
    file = results_folder() / LAWS_RECORD
    return dict(read_json(file)["faults"]) if file.exists() else {}
