"""Which modules of `transformer/` have a page, in the order of reading, and where a name is found.

The order is that of README's table of the package: the paper's own files first, as they stand
in it, then the folders. The exercises of the lessons have no page, for they are the answers.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from course_site.source_parts import parts

ROW = re.compile(r"^\| `([\w./]+)` \| (.*?) \|", re.MULTILINE)
ANSWERS = "exercises/*/*.py"


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
        path: Its file within `transformer/`.
        source: Its text.
    """

    path: Path
    source: str

    @property
    def dotted(self) -> str:
        """`transformer.data.bpe`."""
        return ".".join(("transformer", *self.path.with_suffix("").parts))

    @property
    def page(self) -> str:
        """`package/data/bpe`."""
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
    """What the site knows of `transformer/`.

    Args:
        root: The course's folder.

    Attributes:
        rows: What README says of each file and folder, in its order: `attention.py`, `data/`.
        modules: The modules by folder (the paper's own under the empty name), each folder with
            its subfolders behind it.
        openings: The `__init__.py` of the folders that say something there.
    """

    def __init__(self, root: Path) -> None:
        self._home = root / "transformer"
        readme = (root / "README.md").read_text(encoding="utf-8")
        table = readme.partition("\n## The package\n")[2].partition("\n## ")[0]
        self.rows: dict[str, str] = dict(ROW.findall(table))
        self.modules: dict[str, list[Module]] = {}
        self.openings: dict[str, Module] = {}
        for module in self._read():
            folder = module.path.parent.as_posix().removeprefix(".")
            if module.path.stem != "__init__":
                self.modules.setdefault(folder, []).append(module)
            elif module.docstring:
                self.openings[folder] = module

    def find(self, name: str) -> Place | None:
        """Give the place of a name, or of the nearest around it that has a page.

        Args:
            name: `transformer.data.bpe.BPETokenizer`, `transformer/data/`.
        """
        dotted = name.rstrip("/").removesuffix(".py").replace("/", ".")
        while dotted not in self._places:
            dotted = dotted.rpartition(".")[0]
            if not dotted:
                return None
        return self._places[dotted]

    def _read(self) -> Iterator[Module]:
        """The modules, the root's own first."""
        order = [name.removesuffix("/") for name in self.rows]
        answers = set(self._home.glob(ANSWERS))

        def rank(path: Path) -> tuple[bool, int, str]:
            part = path.relative_to(self._home).parts[0]
            return path.parent != self._home, order.index(part) if part in order else -1, str(path)

        for path in sorted(set(self._home.rglob("*.py")) - answers, key=rank):
            yield Module(path.relative_to(self._home), path.read_text(encoding="utf-8"))

    @cached_property
    def _places(self) -> dict[str, Place]:
        """Every dotted name with a place: folders, modules, and what they define."""
        found = {}
        for folder, modules in self.modules.items():
            dotted = ".".join(("transformer", *Path(folder).parts))
            found[dotted] = Place(Path("package", folder, "index").as_posix())
            for module in modules:
                found[module.dotted] = Place(module.page)
                for part in parts(module.source)[1:]:
                    found[f"{module.dotted}.{part.name}"] = Place(module.page, part.name)
        return found
