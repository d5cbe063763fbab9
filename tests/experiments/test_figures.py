"""The drawings in figures/ name what the code has, and say in words what they show."""

import re
from xml.etree import ElementTree

import pytest
from PIL import Image

from attention_laws.laws import MODEL_LAWS, PIPELINE_LAWS
from experiments.exercise_picture import describe_steps, exercise_steps
from tests.helpers import ROOT

FOLDER = ROOT / "figures"
DRAWINGS = sorted(path.stem for path in FOLDER.glob("*.svg"))


def test_pictures_stand_on_a_pale_card_with_round_corners() -> None:
    """Dark pages show the card, and no dark letters on dark ground."""
    for name in DRAWINGS:
        with Image.open(FOLDER / f"{name}.png") as stored:
            picture = stored.convert("RGBA")
        width, height = picture.size
        assert height / width < 1.415  # as a page of A4
        corners = [(x, y) for x in (0, width - 1) for y in (0, height - 1)]
        assert {picture.getpixel(corner)[3] for corner in corners} == {0}
        *colour, alpha = picture.getpixel((width // 2, height - 3))
        assert alpha == 255
        assert min(colour) > 200


@pytest.mark.parametrize("name", DRAWINGS)
def test_names_in_a_drawing_are_those_of_the_package(name: str) -> None:
    code = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "transformer").rglob("*.py")
    )
    texts = ElementTree.parse(FOLDER / f"{name}.svg").iter("{http://www.w3.org/2000/svg}text")
    written = " ".join("".join(text.itertext()) for text in texts)
    named = set(re.findall(r"[A-Z][a-z]+[A-Z]\w+|[a-z]+_\w+", written))
    assert len(named) > 8
    assert not [each for each in named if not re.search(rf"\b{each}\b", code)]


@pytest.mark.parametrize("name", DRAWINGS)
def test_figure_is_said_in_words_and_never_shown_without_its_title(name: str) -> None:
    """In figures/README.md a paragraph; everywhere else its title as the alt text."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    found = re.search(
        rf"^## (.+)\n\n!\[(.+); described below\]\({name}\.png\)\n\n(.+)\n", readme, re.M
    )
    assert found
    title, alt, text = found.groups()
    assert alt == title
    assert 500 < len(text) < 2500
    pages = [ROOT / "README.md", *ROOT.glob("*/*.md"), *ROOT.glob("notebooks/*.ipynb")]
    shown = re.compile(rf"!\[([^\]]*)\]\((?:\.\./)?(?:figures/)?{name}\.png\)")
    alts = [alt for page in pages for alt in shown.findall(page.read_text(encoding="utf-8"))]
    assert alts
    assert all(alt.startswith(title) for alt in alts)


def test_the_checklist_lists_every_law_in_its_words() -> None:
    page = (ROOT / "docs" / "laws.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[ \] (.+) `(\w+)`$", page, re.MULTILINE)
    laws = [(law.says, law.name) for law in (*MODEL_LAWS, *PIPELINE_LAWS)]
    assert sorted(listed) == sorted(laws)


def test_the_picture_of_an_exercise_has_what_the_exercise_says_today() -> None:
    with Image.open(FOLDER / "exercise.png") as stored:
        assert stored.info["Description"] == describe_steps(exercise_steps())
    assert [step.status for step in exercise_steps()] == ["", "wrong", "", "passed"]
