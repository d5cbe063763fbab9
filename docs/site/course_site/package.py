"""Which modules of the wheel have a page, in the order of reading, and where a name is found.

The order is that in which docs/tour.md names files and folders: the paper's own files first, then
the rooms that stand on them. The exercises of the lessons have no page: they are the answers.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from course_site.source_parts import parts

ROW = re.compile(r"^\| `([\w./]+)` \| (.*?) \|", re.MULTILINE)
NAMED = re.compile(r"`([\w./]+)`")
ROOMS = ("transformer", "attention_laws", "engines", "lessonkit", "attention_course")
ANSWERS = "lessonkit/exercises"


@dataclass(frozen=True)
class Place:
    """Where a name of the package is explained.

    Attributes:
        page: The page's name within the site, `package/attention`.
        anchor: The place on it, `MultiHeadAttention.forward`; empty for its beginning.
    """

    page: str
    anchor: str = ""


@dataclass(frozen=True)
class Module:
    """A module with a page.

    Attributes:
        path: Its file, `transformer/data/tokenizers.py`.
        source: Its text.
    """

    path: Path
    source: str

    @property
    def dotted(self) -> str:
        """`transformer.data.tokenizers`."""
        return ".".join(self.path.with_suffix("").parts)

    @property
    def page(self) -> str:
        """`package/transformer/data/tokenizers`."""
        return str("package" / self.path.with_suffix(""))

    @property
    def docstring(self) -> str:
        """What it says of itself."""
        return ast.get_docstring(ast.parse(self.source)) or ""

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring, on one line."""
        return " ".join(self.docstring.partition("\n\n")[0].split())


class Package:
    """What the site knows of the code.

    Args:
        root: The course's folder.

    Attributes:
        rows: What the tour's table says of each file or folder that has pages, in its order:
            `transformer/`, `lessonkit/`.
        modules: The modules by folder, in the order of reading.
        openings: The `__init__.py` of the folders that say something there.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        tour = (root / "docs" / "tour.md").read_text(encoding="utf-8")
        table = tour.partition("\n## The rooms\n")[2].partition("\n## ")[0]
        self.rows: dict[str, str] = {
            name: what for name, what in ROW.findall(table) if name.partition("/")[0] in ROOMS
        }
        # Where each file or folder is last named; the tour names those of transformer/ without it.
        self._position: dict[Path, int] = {}
        for position, name in enumerate(NAMED.findall(tour)):
            for path in (Path(name), Path("transformer", name)):
                self._position[path] = position
        self.modules: dict[str, list[Module]] = {}
        self.openings: dict[str, Module] = {}
        for module in self._read():
            folder = module.path.parent.as_posix()
            if module.path.stem != "__init__":
                self.modules.setdefault(folder, []).append(module)
            elif module.docstring:
                self.openings[folder] = module
                self.modules.setdefault(folder, [])

    def find(self, name: str) -> Place | None:
        """Return the place of a name, or of the nearest around it that has a page.

        Args:
            name: `transformer.data.tokenizers.BPETokenizer`, `transformer/data/`.
        """
        dotted = name.rstrip("/").removesuffix(".py").replace("/", ".")
        while dotted not in self._places:
            dotted = dotted.rpartition(".")[0]
            if not dotted:
                return None
        return self._places[dotted]

    def _read(self) -> Iterator[Module]:
        """The modules, the root's own first."""
        paths = [
            path.relative_to(self._root)
            for room in ROOMS
            for path in (self._root / room).rglob("*.py")
            if not path.is_relative_to(self._root / ANSWERS)
        ]

        def rank(path: Path) -> tuple[int, str]:
            for place in (path, *path.parents):  # the nearest that is named
                if place in self._position:
                    return self._position[place], str(path)
            return -1, str(path)

        for path in sorted(paths, key=rank):
            yield Module(path, (self._root / path).read_text(encoding="utf-8"))

    @cached_property
    def _places(self) -> dict[str, Place]:
        """Every dotted name with a place: folders, modules, and what they define."""
        found = {}
        for folder, modules in self.modules.items():
            own = any(folder == row.rstrip("/") or folder.startswith(row) for row in self.rows)
            page = Path("package", folder if own else "", "index").as_posix()
            found[folder.replace("/", ".")] = Place(page)
            for module in modules:
                found[module.dotted] = Place(module.page)
                for part in parts(module.source)[1:]:
                    found[f"{module.dotted}.{part.name}"] = Place(module.page, part.name)
        return found
