"""The course's own code with some words changed, and no file written (not in the paper)."""

import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import transformer

ROOT = Path(transformer.__file__).parents[1]
# What is made anew for each fault: a file stands after those that it imports.
FILES = {
    "masks": "transformer/masks.py",
    "attention": "transformer/attention.py",
    "embeddings": "transformer/embeddings.py",
    "layers": "transformer/layers.py",
    "model": "transformer/model.py",
    "decoding": "transformer/decoding.py",
    "subjects": "lessonkit/subjects.py",
    "sound": "lessonkit/museum/sound.py",
    "pipeline": "lessonkit/museum/pipeline.py",
}


class SourceEdit(NamedTuple):
    """A change of source: `new` in place of `old`, which stands in the file once.

    Of several lines the later ones are indented as the line is in which `old` begins.
    """

    name: str  # of the file, in `FILES`
    old: str
    new: str

    @property
    def file(self) -> str:
        """Path in the repository."""
        return FILES[self.name]

    def apply(self, text: str) -> str:
        """Give the file's text with the change; a ValueError where `old` is not there just once."""
        begins = [line for line in text.splitlines() if self.old.split("\n")[0] in line]
        indent = begins[0][: -len(begins[0].lstrip())] if begins else ""
        old, new = (each.replace("\n", f"\n{indent}") for each in (self.old, self.new))
        if (times := text.count(old)) != 1:
            raise ValueError(f"{self.file} has {times} times {old!r}: an edit needs it once")
        return text.replace(old, new)


def module_name(file: str) -> str:
    """Give the name by which a file is imported: "transformer.model"."""
    return file.removesuffix(".py").replace("/", ".")


@cache
def load_edited_modules(name: str, edits: tuple[SourceEdit, ...]) -> dict[str, ModuleType]:
    """Run all of `FILES` as modules of their own, with these edits, and give them by name.

    They import each other, and nobody else does: the edited attention is what the layers beside it
    are made of, while the package's own stays as it is. The name is a word for these edits alone.
    """
    modules = {}
    for short, file in FILES.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        for edit in edits:
            if edit.name == short:
                try:
                    text = edit.apply(text)
                except ValueError as error:
                    raise ValueError(f"fault {name}: {error}") from error
        for other in map(module_name, FILES.values()):
            text = text.replace(f"from {other} import", f"from museum.{name}.{other} import")
        module = ModuleType(f"museum.{name}.{module_name(file)}")
        sys.modules[module.__name__] = modules[short] = module
        exec(compile(text, f"{file} ({name})", "exec"), module.__dict__)
    return modules
