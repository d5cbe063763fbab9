"""The drawings in figures/ are those that the code makes, and say in words what they show."""

import re
from io import BytesIO
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from attention_laws.laws import LAWS
from attention_laws.laws import scores as score_laws
from attention_laws.laws import text as text_laws
from experiments.figures import DRAWINGS, batch, checklist, render, write_all
from tests.helpers import ROOT

NAMES = list(DRAWINGS)
FOLDER = ROOT / "figures"
FADED = 48  # of 255: what another version of the palette or of the edges may change in a pixel
MOST = 10  # pixels that may differ by more: one letter for another changes 30 or more
PINNED = re.findall(
    r"^matplotlib==(.+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE
)
same_matplotlib = pytest.mark.skipif(
    [matplotlib.__version__] != PINNED,
    reason="another matplotlib draws text otherwise: compared with that of constraints.txt",
)


@pytest.mark.slow
@same_matplotlib
@pytest.mark.parametrize("name", NAMES)
def test_figure_is_current_whatever_the_caller_s_settings(name: str) -> None:
    with matplotlib.rc_context({"font.size": 31, "savefig.facecolor": "black"}):
        stored, drawn = (FOLDER / f"{name}.png").read_bytes(), render(name)
    old, new = (
        np.asarray(Image.open(BytesIO(png)).convert("RGB")).astype(int) for png in (stored, drawn)
    )
    assert old.shape == new.shape
    changed = int((abs(old - new).max(axis=-1) > FADED).sum())
    assert changed <= MOST, f"figures/{name}.png is stale: run `python -m experiments figures`"


def test_everything_is_written_and_nothing_else_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.figures.render", str.encode)
    write_all(tmp_path)
    pictures = {f"{name}.png" for name in NAMES}
    assert {path.name for path in tmp_path.iterdir()} == pictures
    assert {path.name for path in FOLDER.iterdir()} == {"README.md", *pictures}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_words_stay_on_the_sheet_and_apart(name: str) -> None:
    size, draw = DRAWINGS[name]
    figure = Figure(figsize=[length / 72 for length in size], dpi=150)
    draw(figure)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    written = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    assert min(text.get_fontsize() for text in written) >= 8
    extents = [(t, t.get_window_extent(canvas.get_renderer())) for t in written]
    for text, extent in extents:
        assert figure.bbox.union([figure.bbox, extent]).bounds == figure.bbox.bounds, text
    upright = [pair for pair in extents if not pair[0].get_rotation()]
    assert not [(a, b) for (a, x), (b, y) in combinations(upright, 2) if x.overlaps(y)]


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


@pytest.mark.slow  # loads spaCy
def test_the_words_are_those_of_the_drawings() -> None:
    """By hand: the third sentence has bos, four tokens and three places of padding."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    (src, tgt_in, tgt_out), masks = batch.example()
    assert tgt_in.rows[2] == ["<bos>", "Elle", "est", "fatiguée", ".", *["<pad>"] * 3]
    assert [int(mask.sum()) for mask in masks.values()] == [8 * 5, 36, 15 + 3 * 5]
    for grid in (src, tgt_in, tgt_out):
        rows = ", ".join(" ".join(row) for row in grid.rows)
        assert f"{grid.title}: {rows}".replace("<", "&lt;").replace(">", "&gt;") in readme
    for name, mask in masks.items():
        assert f"{name}, {int(mask.sum())} of 64 cells open" in readme
    laws = [name for section in checklist.SECTIONS.values() for name, _ in section if name]
    assert sorted(laws) == sorted(law.name for law in (*LAWS, *text_laws.LAWS, *score_laws.LAWS))
    for title, section in list(checklist.SECTIONS.items())[:-1]:
        assert f"{title}: {', '.join(name for name, _ in section)}." in readme
    assert " ".join(checklist.UNSEEN) in readme
