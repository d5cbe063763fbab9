"""The files and names of this repository that a text speaks of, and whether they are there."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("attention_laws", "transformer", "engines", "lessonkit", "experiments")
ROOM = "(?:" + "|".join(ROOMS) + ")"
FILE = re.compile(rf"(?<![\w./-])(?:{ROOM}|tests|docs|notebooks|figures|\.ci)(?:/[\w.]+)+/?")
DOTTED = re.compile(rf"(?<![\w./-]){ROOM}(?:\.\w+)+")
MEMBERS = re.compile(rf"`({ROOM}[\w.]*)`\s+\(([^)]*)\)")  # `transformer.data` (`bpe`)
COMMAND = re.compile(rf"python -m ({ROOM}\.[\w.]+)")


def missing(text: str) -> Iterator[str]:
    """Give every file and every `transformer...` that a text names and that is not there."""
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
    """Tell whether `transformer.x.y` is a module, or a name in one; nothing is imported."""
    place, *parts = ROOT, *name.split(".")
    while parts and (place / parts[0]).is_dir():
        place = place / parts.pop(0)
    file = place / f"{parts[0]}.py" if parts else place / "__init__.py"
    if parts and file.is_file():
        parts.pop(0)
    else:
        file = place / "__init__.py"
    if not file.is_file():
        return False
    inside: ast.AST = _parsed(file)
    for part in parts:
        known = _defined(inside)
        if part not in known:
            return False
        inside = known[part]
    return True


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _defined(node: ast.AST) -> dict[str, ast.AST]:
    """The names that the body of a module or class gives a meaning to."""
    found: dict[str, ast.AST] = {}
    for inner in getattr(node, "body", []):
        if isinstance(inner, ast.ClassDef | ast.FunctionDef):
            found[inner.name] = inner
        elif isinstance(inner, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name: inner for alias in inner.names}
        elif isinstance(inner, ast.Assign | ast.AnnAssign):
            targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
            names = (each for target in targets for each in ast.walk(target))
            found |= {each.id: inner for each in names if isinstance(each, ast.Name)}
            if "DOORS" in found and inner is found["DOORS"]:  # what the rooms' doors give
                for room in ast.literal_eval(inner.value or ast.Tuple([])):
                    found |= _defined(_parsed(ROOT / "lessonkit" / room / "__init__.py"))
            if "DOOR" in found and inner is found["DOOR"] and inner.value is not None:
                given = ast.literal_eval(inner.value).values()  # what `__getattr__` loads
                found |= {name: inner for names in given for name in names}
    return found
