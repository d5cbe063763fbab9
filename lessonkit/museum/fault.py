"""A fault of the museum: the course's own code, right but for an edit (not in the paper)."""

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
from lessonkit.museum.edited_source import (
    PIPELINE_MODULE,
    SOUND_MODULE,
    SourceEdit,
    full_module_name,
    load_edited_modules,
)
from transformer.support.files import read_json
from transformer.support.folders import results_folder

FAULTS_FILE = Path(__file__).with_name("faults.toml")
BROKEN_LAWS_RECORD = "museum/laws.json"
GROUP_OF_TEXT_FAULTS = "text"  # the group of faults that need no model


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault, small and named, in code that is right but for it."""

    name: str  # short, with underscores
    about: str  # what the code does, in a sentence
    label: str = ""  # its name in tables of experiments, if whole models are trained with it
    group: str = ""  # what it is about, in a word
    edits: tuple[SourceEdit, ...] = ()  # what is changed; the weights stay as they were drawn
    config: Mapping[str, Any] = field(default_factory=dict)  # what the fault needs to matter
    source: str = ""  # link of a public report, or the system that had it; empty for a classic

    def __str__(self) -> str:
        """Write it as a change of source: what goes with -, what comes with +."""
        lines = [f"{self.name}: {self.about}"]
        for edit in self.edits:
            lines.append(edit.file_path)
            lines += [f"  - {line}" for line in edit.old.splitlines()]
            lines += [f"  + {line}" for line in edit.new.splitlines()]
        return "\n".join(lines)

    def load_modules(self) -> dict[str, ModuleType]:
        """Return the modules that have the fault, by full name (see `load_edited_modules`)."""
        entry = PIPELINE_MODULE if self.group == GROUP_OF_TEXT_FAULTS else SOUND_MODULE
        return load_edited_modules(self.name, self.edits, entry)

    def build(self, seed: int = 0) -> Adapter | Pipeline:
        """Build a small model that has the fault, or a pipeline of text, ready for the laws."""
        if self.group == GROUP_OF_TEXT_FAULTS:
            pipeline: Pipeline = self.load_modules()[PIPELINE_MODULE].sound_pipeline()
            return pipeline
        adapter: Adapter = self.load_modules()[SOUND_MODULE].sound_adapter(seed, **self.config)
        return adapter

    def add_to_model(self, model: nn.Module) -> None:
        """Put the fault into a Transformer that is there already; its weights stay."""
        apply_edits_to_model(model, self.name, self.edits)

    def diagnose(self, seed: int = 0, **settings: Any) -> Report:
        """Try the laws on it, with settings as `attention_laws.run.diagnose` takes them."""
        subject = self.build(seed)
        if isinstance(subject, Pipeline):
            return diagnose_pipeline(subject)
        return diagnose(subject, **settings)


def apply_edits_to_model(model: nn.Module, name: str, edits: tuple[SourceEdit, ...]) -> None:
    """Turn each part of a model into the class of the same name in the edited files.

    The edits are of methods other than `__init__`, which is not run again; `name` is a word for
    these edits alone.
    """
    modules = load_edited_modules(name, edits)
    edited = {full_module_name(edit.module) for edit in edits}
    for part in model.modules():
        module_name = type(part).__module__
        if module_name in edited:
            part.__class__ = getattr(modules[module_name], type(part).__name__)


def read_faults() -> tuple[Fault, ...]:
    """Read all faults of `faults.toml`, in its order."""
    text = FAULTS_FILE.read_text(encoding="utf-8")
    lines = text.splitlines()
    faults = []
    for group, entries in tomllib.loads(text).items():
        for name, entry in entries.items():
            header = lines.index(f"[{group}.{name}]")
            edits = tuple(
                SourceEdit(module, old, new, _line_in_faults_file(name, old, lines, header))
                for module, old, new in entry.pop("edits")
            )
            faults.append(Fault(name=name, group=group, edits=edits, **entry))
    return tuple(faults)


def _line_in_faults_file(name: str, old: str, lines: list[str], header: int) -> str:
    """Return where an edit is written: the line of `faults.toml` that has the text it quotes."""
    first_line = old.split("\n")[0]
    rest = range(header, len(lines))
    number = next((number for number in rest if first_line in lines[number]), header)
    return f"lessonkit/museum/{FAULTS_FILE.name}:{number + 1} ({name})"


@cache
def load_broken_laws_by_fault() -> dict[str, Any]:
    """Read which laws each fault was found to break; nothing before that is recorded."""
    file = results_folder() / BROKEN_LAWS_RECORD
    return dict(read_json(file)["faults"]) if file.exists() else {}
