"""Which modules have a page, and where a name leads."""

from pathlib import Path

import pytest
from course_site.package import Package, Place

from tests.helpers import ROOT

TOUR = """
## The rooms

| file or folder | what | paper |
| --- | --- | --- |
| `transformer/second.py` | read first | §1 |
| `transformer/first.py` | read second | §2 |
| `transformer/tools/` | tools | |
| `lessonkit/` | lessons | |

## Where a sentence goes
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
    for name, text in {
        "docs/tour.md": TOUR,
        "transformer/__init__.py": '"""The package."""\n',
        "transformer/first.py": '"""One.\n\nMore."""\n\ndef f():\n    """Do f."""\n',
        "transformer/second.py": SECOND,
        "transformer/tools/__init__.py": "",
        "transformer/tools/hammer.py": "",
        "transformer/tools/small/nail.py": "",
        "lessonkit/records.py": "",
        "lessonkit/exercises/attention.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_pages_are_in_the_order_of_reading_and_answers_have_none(course: Path) -> None:
    package = Package(course)
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


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("transformer.second.C.m", Place("package/transformer/second", "C.m")),
        ("transformer.first.f", Place("package/transformer/first", "f")),
        ("transformer.first.CONSTANT", Place("package/transformer/first")),
        ("transformer/tools/", Place("package/transformer/tools/index")),
        ("transformer/tools/hammer.py", Place("package/transformer/tools/hammer")),
        ("lessonkit.exercises.attention", Place("package/lessonkit/index")),
        ("transformer", Place("package/index")),
        ("torch.nn", None),
    ],
)
def test_a_name_leads_to_the_nearest_page(course: Path, name: str, place: Place | None) -> None:
    assert Package(course).find(name) == place


def test_every_module_that_the_tour_names_has_a_page() -> None:
    package = Package(ROOT)
    for row in package.rows:
        place = package.find(row)
        assert place is not None
        assert place.page.removesuffix("/index") == f"package/{row.removesuffix('.py').strip('/')}"
