"""Which modules have a page, where a name leads, and how a module is cut into parts."""

from pathlib import Path

from course_site.package import Package
from course_site.source_parts import parts

from tests.helpers import ROOT

TOUR = """
## Where a sentence goes

1. `second.py`, `first.py`: in this order.
2. `tools/`: tools.

## The rooms

| folder | what |
| --- | --- |
| `transformer/` | the package |
| `lessonkit/` | lessons |
| `experiments/` | no pages |
"""


def test_pages_are_in_the_order_of_reading_and_answers_have_none(tmp_path: Path) -> None:
    for name, text in {
        "docs/tour.md": TOUR,
        "transformer/__init__.py": '"""The package."""\n',
        "transformer/first.py": '"""One.\n\nMore."""\n\ndef f():\n    """Do f."""\n',
        "transformer/second.py": '"""Two\nlines."""\n',
        "transformer/tools/__init__.py": "",
        "transformer/tools/hammer.py": "",
        "transformer/tools/small/nail.py": "",
        "lessonkit/records.py": "",
        "lessonkit/exercises/attention.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    package = Package(tmp_path)
    found = {folder: [m.path.stem for m in modules] for folder, modules in package.modules.items()}
    assert found == {
        "transformer": ["second", "first"],
        "transformer/tools": ["hammer"],
        "transformer/tools/small": ["nail"],
        "lessonkit": ["records"],
    }
    assert package.modules["transformer"][0].summary == "Two lines."
    assert package.modules["transformer"][1].summary == "One."
    assert list(package.openings) == ["transformer"]
    assert package.rows == {"transformer/": "the package", "lessonkit/": "lessons"}


def test_every_module_that_the_tour_names_has_a_page() -> None:
    package = Package(ROOT)
    assert package.rows
    for row in package.rows:
        place = package.find(row)
        assert place.page.removesuffix("/index") == f"package/{row.removesuffix('.py').strip('/')}"


MODULE = '''"""What it is about."""

import math

# Stands with the function below.
def first(x):
    """Say one thing."""
    return x


def helper(x):
    return math.sqrt(x)


class Second:
    """Say another."""

    size = 3

    def method(self):
        """Do it."""
        return self.x
'''


def test_prose_stands_beside_its_own_code() -> None:
    top, first, second, method = found = parts(MODULE)
    names = [("", 0), ("first", 1), ("Second", 1), ("Second.method", 2)]
    assert [(part.name, part.level) for part in found] == names
    assert (top.prose, top.code) == ("What it is about.", "import math")
    assert first.prose == "Say one thing."
    assert first.code.startswith("# Stands with the function below.\ndef first(x):\n    return x")
    assert first.code.endswith("\n\n\ndef helper(x):\n    return math.sqrt(x)")
    assert second.code.startswith("class Second:\n    size = 3")
    assert method.code == "def method(self):\n    return self.x"
