"""The drawings in figures/ name what the code has, and say in words what they show."""

import re
from io import BytesIO
from itertools import combinations
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from PIL import Image

from attention_laws.laws import LAWS
from attention_laws.laws import scores as score_laws
from attention_laws.laws import text as text_laws
from experiments import checklist
from tests.helpers import ROOT

FOLDER = ROOT / "figures"
DRAWINGS = ("architecture", "attention")
NAMES = (*DRAWINGS, "checklist")
FADED = 48  # of 255: what another version of the palette or of the edges may change in a pixel
MOST = 10  # pixels that may differ by more: one letter for another changes 30 or more
PINNED = re.findall(
    r"^matplotlib==(.+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE
)


@pytest.mark.slow
@pytest.mark.skipif(
    [matplotlib.__version__] != PINNED,
    reason="another matplotlib draws text otherwise: compared with that of constraints.txt",
)
def test_checklist_is_current_whatever_the_caller_s_settings() -> None:
    with matplotlib.rc_context({"font.size": 31, "savefig.facecolor": "black"}):
        stored, drawn = (FOLDER / "checklist.png").read_bytes(), checklist.render()
    old, new = (
        np.asarray(Image.open(BytesIO(png)).convert("RGB")).astype(int) for png in (stored, drawn)
    )
    assert old.shape == new.shape
    changed = int((abs(old - new).max(axis=-1) > FADED).sum())
    assert changed <= MOST, "figures/checklist.png is stale: run `python -m experiments figures`"


@pytest.mark.slow
def test_words_of_the_checklist_stay_on_the_sheet_and_apart() -> None:
    figure = checklist.draw()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    written = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    assert min(text.get_fontsize() for text in written) >= 8
    extents = [(t, t.get_window_extent(canvas.get_renderer())) for t in written]
    for text, extent in extents:
        assert figure.bbox.union([figure.bbox, extent]).bounds == figure.bbox.bounds, text
    assert not [(a, b) for (a, x), (b, y) in combinations(extents, 2) if x.overlaps(y)]


def test_pictures_have_a_white_ground() -> None:
    """Dark pages show a white card, and no dark letters on dark ground."""
    for name in NAMES:
        stored = Image.open(FOLDER / f"{name}.png")
        assert stored.height / stored.width < 1.415  # as a page of A4
        assert "transparency" not in stored.info
        assert stored.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize("name", DRAWINGS)
def test_names_in_a_drawing_are_those_of_the_package(name: str) -> None:
    code = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "transformer").glob("*.py")
    )
    code += (ROOT / "transformer" / "training" / "loss.py").read_text(encoding="utf-8")
    texts = ElementTree.parse(FOLDER / f"{name}.svg").iter("{http://www.w3.org/2000/svg}text")
    written = " ".join("".join(text.itertext()) for text in texts)
    named = set(re.findall(r"[A-Z][a-z]+[A-Z]\w+|[a-z]+_\w+", written))
    assert len(named) > 8
    assert not [each for each in named if not re.search(rf"\b{each}\b", code)]


@pytest.mark.parametrize("name", NAMES)
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


def test_the_checklist_has_every_law_and_its_words_too() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    laws = [name for section in checklist.SECTIONS.values() for name, _ in section if name]
    assert sorted(laws) == sorted(law.name for law in (*LAWS, *text_laws.LAWS, *score_laws.LAWS))
    for title, section in list(checklist.SECTIONS.items())[:-1]:
        assert f"{title}: {', '.join(name for name, _ in section)}." in readme
    assert " ".join(checklist.UNSEEN) in readme
