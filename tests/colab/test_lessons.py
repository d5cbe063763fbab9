"""What is stamped into the lessons: nothing drifts, nothing but sources and metadata changes."""

import copy
import re

import pytest
import stamp
from stamping import address, lessons
from stamping.links import COLAB, PAGES, PICTURES

from tests.helpers import ROOT

FILES = sorted((ROOT / "notebooks").glob("*.ipynb"))
BOOKS = {path.name: lessons.read(path) for path in FILES}
TITLES = {name: lessons.title(book) for name, book in BOOKS.items()}
OLD = address.read(ROOT / "pyproject.toml")
NAMES = pytest.mark.parametrize("name", BOOKS)


def test_a_revision_once_named_is_kept() -> None:
    name, book = next(iter(BOOKS.items()))
    tagged = lessons.stamped(book, name, TITLES, "me/it", OLD, "v1.2")
    assert 'REVISION = "v1.2"' in lessons.source(tagged["cells"][1])
    assert lessons.stamped(tagged, name, TITLES, "me/it", "me/it") == tagged


def stamped(name: str, repo: str | None) -> lessons.Notebook:
    return lessons.stamped(BOOKS[name], name, TITLES, repo, OLD)


def test_what_is_committed_is_what_the_script_makes_of_it() -> None:
    stale = [
        str(path.relative_to(ROOT))
        for path, text in stamp.texts(ROOT, OLD).items()
        if text != path.read_text(encoding="utf-8")
    ]
    assert not stale, "run `make colab`"


@NAMES
def test_stamping_twice_is_stamping_once_a_fork_can_and_outputs_stay(name: str) -> None:
    def kept(book: lessons.Notebook) -> list[tuple[str, list[dict]]]:
        found = copy.deepcopy([(cell["id"], cell.get("outputs", [])) for cell in book["cells"]])
        for _, outputs in found:
            for output in outputs:
                output.pop("execution_count", None)  # the number beside it
        return [each for each in found if each[0] not in (lessons.SETUP, lessons.BESIDE)]

    before, first = copy.deepcopy(BOOKS[name]), stamped(name, "first/course")
    assert BOOKS[name] == before
    assert kept(first) == kept(before)
    assert lessons.stamped(first, name, TITLES, "first/course", "first/course") == first
    fork = lessons.stamped(first, name, TITLES, "fork/course", "first/course")
    assert fork == stamped(name, "fork/course")
    assert lessons.stamped(fork, name, TITLES, None, "fork/course") == stamped(name, None)


@NAMES
def test_a_stamped_lesson_fetches_the_course_and_needs_nothing_beside_it(name: str) -> None:
    cells = stamped(name, "me/it")["cells"]
    text = "\n".join(lessons.source(c) for c in cells[:-1] if c["cell_type"] == "markdown")
    starts = [form.format("me/it") for form in (PAGES, PICTURES, COLAB)]
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
        assert re.match(r"[a-z]+:|#", target), target
        for start in starts:
            if target.startswith(start):
                assert (ROOT / target.removeprefix(start).partition("#")[0]).exists(), target
    badge = lessons.source(cells[0]).splitlines()[2]
    assert badge.startswith("[![Open in Colab](")
    assert badge.endswith(f"({COLAB.format('me/it')}notebooks/{name})")
    setup = cells[1]
    assert lessons.tags(setup) == ["colab"]
    assert 'REPO = "me/it"' in lessons.source(setup)
    assert (setup["execution_count"], setup["outputs"]) == (1, [])
    in_order = [each for each in BOOKS if each[0].isdigit()]
    beside = in_order[:1]  # of an appendix
    if name in in_order:
        place = in_order.index(name)
        beside = [*in_order[max(place - 1, 0) : place], *in_order[place + 1 : place + 2]]
    linked = re.findall(r"\]\(([^)]+)\)", lessons.source(cells[-1]))
    assert linked[::2] == beside
    assert linked[1::2] == [f"{COLAB.format('me/it')}notebooks/{other}" for other in beside]


def test_a_gpu_is_asked_for_where_a_lesson_trains_for_long() -> None:
    name, book = next(iter(BOOKS.items()))
    assert "accelerator" not in stamped(name, None)["metadata"]
    trains = copy.deepcopy(book)
    next(
        cell
        for cell in trains["cells"]
        if cell["cell_type"] == "code" and "colab" not in lessons.tags(cell)
    )["source"] = "profile = course_profile('x')"
    asking = lessons.stamped(trains, name, TITLES, None, OLD)
    assert asking["metadata"]["accelerator"] == "GPU"
    asking["cells"] = book["cells"]  # it trains no longer
    assert "accelerator" not in lessons.stamped(asking, name, TITLES, None, OLD)["metadata"]


def test_every_file_says_where_it_lies() -> None:
    texts = stamp.texts(ROOT, "me/it")
    assert {path.name for path in texts} == {"README.md", "pyproject.toml", *BOOKS}
    assert "https://colab.research.google.com/github/me/it/" in texts[ROOT / "README.md"]
    for project in (ROOT, ROOT / "attention_laws"):
        assert "https://github.com/me/it" in texts[project / "pyproject.toml"]
    released = stamp.texts(ROOT, "me/it", release=True)
    course, laws = (
        re.findall(r"\]\(([^)\s]+)\)", released[project / "README.md"])
        for project in (ROOT, ROOT / "attention_laws")
    )
    assert PICTURES.format("me/it") + "docs/live.webp" in course
    assert PAGES.format("me/it") + "docs/found.md" in laws
    assert not [target for target in course + laws if not re.match(r"https?:|#", target)]
    with pytest.raises(ValueError, match="a release needs the repository's address"):
        stamp.texts(ROOT, None, release=True)
