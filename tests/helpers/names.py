"""The files and names of this repository that a text speaks of, and whether they are there."""

import pkgutil
import re
from collections.abc import Iterator

from tests.helpers import ROOT

ROOM = "(?:attention_laws|transformer|engines|lessonkit|experiments)"
FILE = re.compile(rf"(?<![\w./-])(?:{ROOM}|tests|docs|notebooks|figures|\.ci)(?:/[\w.]+)+/?")
DOTTED = re.compile(rf"(?<![\w./-]){ROOM}(?:\.\w+)+")
MEMBERS = re.compile(rf"`({ROOM}[\w.]*)`\s+\(([^)]*)\)")  # `transformer.data` (`batches`)
COMMAND = re.compile(rf"python -m ({ROOM}\.[\w.]+)")


def missing(text: str) -> Iterator[str]:
    """Return every file and every `transformer...` that a text names and that is not there."""
    for found in FILE.findall(text):
        if not (ROOT / found.rstrip(".")).exists():
            yield found
    names = DOTTED.findall(text)
    for package, members in MEMBERS.findall(text):
        names += [f"{package}.{member}" for member in re.findall(r"`([\w.]+)`", members)]
    yield from (name for name in names if not is_there(name))
    for name in COMMAND.findall(text):
        if not (ROOT / name.replace(".", "/") / "__main__.py").is_file():
            yield f"python -m {name}"


def is_there(name: str) -> bool:
    """Return whether `transformer.x.y` is a module, or a name in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True
