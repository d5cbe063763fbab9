"""Pages of the code: the prose of each docstring beside its code.

`write_pages` puts a short text file for each module and folder among the site's sources; the
directive `beside` in it reads the module, so that a page is never older than the code.
"""

from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from course_site.docstrings import to_nodes
from course_site.lessons import Lesson
from course_site.package import Module, Package
from course_site.source_parts import Part, parts

MODULE_PAGE = """---
hide-toc: true
---

# `{name}`

{lessons}
```{{beside}} {path}
```
"""
INDEX = """# The package

Each file has a page: what a docstring says stands beside the code that does it. The paper's own
files come first, then the rooms that stand on them. The answers to the lessons' exercises have no
page.
"""


def write_pages(package: Package, lessons: list[Lesson], folder: Path) -> None:
    """Write the sources of all pages of the package.

    Args:
        package: What is to have pages.
        lessons: Those that may name a module; its page links back to them.
        folder: Where the site's sources lie; the pages go to its `package/`.
    """
    for name, modules in package.modules.items():
        home = folder / "package" / name
        home.mkdir(parents=True, exist_ok=True)
        for module in modules:
            text = MODULE_PAGE.format(
                name=module.path.name, path=module.path, lessons=_named_in(module, lessons)
            )
            (home / f"{module.path.stem}.md").write_text(text, encoding="utf-8")
        if any(name == row.rstrip("/") or name.startswith(row) for row in package.rows):
            (home / "index.md").write_text(_folder_page(package, name), encoding="utf-8")
    (folder / "package" / "index.md").write_text(_index_page(package), encoding="utf-8")


def _named_in(module: Module, lessons: list[Lesson]) -> str:
    links = [
        f"[{lesson.number} {lesson.name}](/notebooks/{lesson.stem}.ipynb)"
        for lesson in lessons
        if module.dotted in lesson.modules
    ]
    return f"In lessons: {', '.join(links)}.\n" if links else ""


def _table(rows: Iterator[tuple[str, str]]) -> str:
    lines = [f"| {link} | {what.replace('|', '/')} |" for link, what in rows]
    return "\n".join(["| file or folder | what |", "| --- | --- |", *lines, ""])


def _toctree(pages: list[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```", ""])


def _index_page(package: Package) -> str:
    rows = (
        (f"[`{row}`]({row}index.md)" if row.endswith("/") else f"[`{row}`]({row[:-3]}.md)", what)
        for row, what in package.rows.items()
    )
    pages = [
        f"{row}index" if row.endswith("/") else row.removesuffix(".py") for row in package.rows
    ]
    return "\n".join([INDEX, _table(rows), _toctree(pages)])


def _folder_page(package: Package, name: str) -> str:
    modules = package.modules[name]
    below = [Path(f).name for f in package.modules if f.rpartition("/")[0] == name]
    what = package.rows.get(f"{name}/", "")
    rows = [(f"[`{m.path.name}`]({m.path.stem}.md)", m.summary) for m in modules]
    rows += [(f"[`{f}/`]({f}/index.md)", "") for f in below]
    pages = [m.path.stem for m in modules] + [f"{f}/index" for f in below]
    opening = package.openings.get(name)
    beside = f"```{{beside}} {opening.path}\n```\n" if opening else ""
    heading = f"# `{name}/`\n\n{what[:1].upper()}{what[1:]}{'.' if what else ''}\n"
    return "\n".join([heading, _table(iter(rows)), beside, _toctree(pages)])


class Beside(SphinxDirective):
    """A module, part by part: its prose at the left, its code at the right.

    The one argument is the path of a file.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the part before the definitions, then a section for each function and class."""
        path = self.config.course_root / self.arguments[0]
        self.env.note_dependency(str(path))
        found: list[nodes.Node] = []
        above: nodes.Element | None = None
        for part in parts(path.read_text(encoding="utf-8")):
            row = self._row(part)
            if part.level == 2 and above is not None:
                above += row
                continue
            found.append(row)
            above = row if part.level == 1 else None
        return found

    def _row(self, part: Part) -> nodes.Element:
        prose = nodes.container("", *to_nodes(part.prose), classes=["prose"])
        code = nodes.literal_block(part.code, part.code, language="python")
        row = nodes.container("", prose, classes=["beside"])
        if part.code:
            row += nodes.container("", code, classes=["code"])
        if not part.level:
            return row
        title = nodes.title("", "", nodes.literal(text=part.name.rpartition(".")[2]))
        return nodes.section("", title, row, ids=[part.name])
