"""Which modules have a page, and where a name leads."""

from pathlib import Path

import pytest
from course_site.package import Package, Place

from tests.helpers import ROOT

README = """
## The package

| file or folder | what | paper |
| --- | --- | --- |
| `tools/` | tools | |
| `second.py` | read first | §1 |
| `first.py` | read second | §2 |

## Glossary
"""

SECOND = '''"""Two
lines."""

class C:
    """A C."""

    def m(self):
        """M."""
'''


@pytest.fixture
def course(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    for name, text in {
        "__init__.py": '"""The package."""\n',
        "first.py": '"""One.\n\nMore."""\n\ndef f():\n    """Do f."""\n',
        "second.py": SECOND,
        "tools/__init__.py": "",
        "tools/hammer.py": "",
        "tools/small/nail.py": "",
        "exercises/check.py": "",
        "exercises/start/answers.py": "",
    }.items():
        path = tmp_path / "transformer" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_pages_are_in_the_order_of_reading_and_answers_have_none(course: Path) -> None:
    package = Package(course)
    found = {folder: [m.path.stem for m in modules] for folder, modules in package.modules.items()}
    assert found == {
        "": ["second", "first"],
        "exercises": ["check"],
        "tools": ["hammer"],
        "tools/small": ["nail"],
    }
    assert package.modules[""][0].summary == "Two lines."
    assert package.modules[""][1].summary == "One."
    assert list(package.openings) == [""]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("transformer.second.C.m", Place("package/second", "C.m")),
        ("transformer.first.f", Place("package/first", "f")),
        ("transformer.first.CONSTANT", Place("package/first")),
        ("transformer/tools/", Place("package/tools/index")),
        ("transformer/tools/hammer.py", Place("package/tools/hammer")),
        ("lessonkit.exercises.start", Place("package/exercises/index")),
        ("transformer", Place("package/index")),
        ("torch.nn", None),
    ],
)
def test_a_name_leads_to_the_nearest_page(course: Path, name: str, place: Place | None) -> None:
    assert Package(course).find(name) == place


def test_every_module_that_readme_names_has_a_page() -> None:
    package = Package(ROOT)
    for row in package.rows:
        place = package.find(f"transformer/{row}")
        assert place is not None
        assert place.page.removesuffix("/index") == f"package/{row.removesuffix('.py').strip('/')}"
