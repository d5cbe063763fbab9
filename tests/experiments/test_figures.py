"""The drawings in figures/ are those that the code makes, and say in words what they show."""

import re
from io import BytesIO
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from lessonkit.charts.diagrams import architecture, batch, checklist, diagram
from lessonkit.charts.diagrams.diagram import Box
from lessonkit.charts.diagrams.figures import DRAWINGS, page, render, write_all
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from attention_laws.laws import LAWS
from attention_laws.laws import scores as score_laws
from attention_laws.laws import text as text_laws
from tests.helpers import ROOT
from transformer.support.paths import figures_folder

NAMES = list(DRAWINGS)
COMMAND = "python -m experiments figures"
FADED = 48  # of 255: what another version of the palette or of the edges may change in a pixel
MOST = 10  # pixels that may differ by more: one letter for another changes 30 or more


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(png)).convert("RGB")).astype(int)


def changes(before: bytes, after: bytes) -> int:
    """How many pixels differ visibly; all of them where the sizes differ."""
    old, new = pixels(before), pixels(after)
    if old.shape != new.shape:
        return new.size
    return int((abs(old - new).max(axis=-1) > FADED).sum())


PINNED = re.findall(
    r"^matplotlib==(.+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE
)


@pytest.mark.slow
@pytest.mark.skipif(
    [matplotlib.__version__] != PINNED,
    reason="another matplotlib draws text otherwise: compared with that of constraints.txt",
)
@pytest.mark.parametrize("name", NAMES)
def test_figure_is_current(name: str) -> None:
    stored = (figures_folder() / f"{name}.png").read_bytes()
    changed = changes(stored, render(DRAWINGS[name]))
    assert changed <= MOST, (
        f"figures/{name}.png is stale ({changed} pixels differ): run `{COMMAND}` "
        "with the matplotlib of constraints.txt"
    )


def test_page_is_current() -> None:
    stored = (figures_folder() / "README.md").read_text(encoding="utf-8")
    assert stored == page(), f"figures/README.md is stale: run `{COMMAND}`"


def test_folder_holds_nothing_else() -> None:
    there = {path.name for path in figures_folder().iterdir()}
    assert there == {"README.md", *(f"{name}.png" for name in NAMES)}


@pytest.mark.parametrize(("word", "other"), [("Linear", "Linoar"), ("K", "V")])
def test_one_changed_word_is_noticed(
    word: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The smallest change that matters: a word of two letters' difference, or one letter."""
    plain = diagram.words

    def altered(ax: Axes, place: tuple[float, float], text: str, **style: object) -> None:
        plain(ax, place, other if text == word else text, **style)

    monkeypatch.setattr(diagram, "words", altered)
    monkeypatch.setattr(architecture, "words", altered)
    stored = (figures_folder() / "architecture.png").read_bytes()
    assert changes(stored, render(DRAWINGS["architecture"])) > MOST


@pytest.mark.parametrize("name", NAMES)
def test_figure_is_small_in_bytes_and_large_on_paper(name: str) -> None:
    stored = (figures_folder() / f"{name}.png").read_bytes()
    assert len(stored) < 200_000
    width, height = Image.open(BytesIO(stored)).size
    assert 1000 < width < 1600
    assert height < 1800  # a page of A4 has 1754


@pytest.mark.parametrize("name", NAMES)
def test_background_is_opaque(name: str) -> None:
    """Dark pages show a white card, and no dark letters on dark ground."""
    stored = Image.open(figures_folder() / f"{name}.png")
    assert "transparency" not in stored.info
    corners = [stored.convert("RGB").getpixel(place) for place in ((0, 0), (stored.width - 1, 0))]
    assert corners == [(255, 255, 255)] * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_words_stay_on_the_sheet_and_apart(name: str) -> None:
    figure = Figure(figsize=[length / 72 for length in DRAWINGS[name].size], dpi=150)
    DRAWINGS[name].draw(figure)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    assert len(texts) > 20
    boxes = [(t.get_text(), t.get_window_extent(canvas.get_renderer())) for t in texts]
    for text, extent in boxes:
        assert figure.bbox.containsx(extent.x0), text
        assert figure.bbox.containsx(extent.x1), text
        assert figure.bbox.containsy(extent.y0), text
        assert figure.bbox.containsy(extent.y1), text
    assert min(text.get_fontsize() for text in texts) >= 8
    upright = [pair for pair, text in zip(boxes, texts, strict=True) if not text.get_rotation()]
    overlaps = [(a, b) for (a, x), (b, y) in combinations(upright, 2) if x.overlaps(y)]
    assert not overlaps


@pytest.mark.parametrize("name", NAMES)
def test_alt_text_is_a_paragraph(name: str) -> None:
    text = DRAWINGS[name].describe()
    assert 500 < len(text) < 2500
    assert "\n" not in text
    assert text.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_figure_is_never_shown_without_its_title_in_words(name: str) -> None:
    """In figures/README.md, and in every other page or lesson that shows it."""
    root = figures_folder().parent
    pages = [root / "README.md", *root.glob("*/*.md"), *root.glob("notebooks/*.ipynb")]
    shown = re.compile(rf"!\[([^\]]*)\]\((?:\.\./)?(?:figures/)?{name}\.png\)")
    texts = [alt for page in pages for alt in shown.findall(page.read_text(encoding="utf-8"))]
    assert texts
    assert all(alt.startswith(DRAWINGS[name].title) for alt in texts)


@pytest.mark.parametrize("part", ["Self-attention", "Masked self-attention", "Cross-attention"])
def test_alt_text_names_what_is_drawn(part: str) -> None:
    figure = Figure()
    ax = architecture.draw_architecture(figure.add_subplot())
    assert part in [text.get_text() for text in ax.texts]
    assert part.lower() in architecture.ALT


def test_batch_is_a_real_one() -> None:
    """By hand: the third sentence has bos, four tokens and three places of padding."""
    (src, tgt_in, tgt_out), masks = batch.example()
    assert tgt_in.rows[2] == ["<bos>", "Elle", "est", "fatiguée", ".", *["<pad>"] * 3]
    assert tgt_out.rows[2] == ["Elle", "est", "fatiguée", ".", "<eos>", *["<pad>"] * 3]
    assert src.rows[2] == ["She", "is", "tired", ".", "<eos>", *["<pad>"] * 3]
    assert [int(mask.sum()) for mask in masks.values()] == [8 * 5, 36, 15 + 3 * 5]
    assert "30 of 64 cells open" in batch.describe()


def test_arrow_ends_at_its_box() -> None:
    ax = diagram.sheet(Figure().add_subplot(), (101, 53))
    box = diagram.draw_box(ax, Box(50, 40, 20, 10), "#0072B2", "top")
    diagram.arrow(ax, (11, 7), (50, 7), box.bottom)
    path = ax.patches[-1].get_path()
    np.testing.assert_allclose(path.vertices[0], (11, 7))
    assert box.bottom == (50, 35)
    assert (box.top, box.left, box.right) == ((50, 45), (40, 40), (60, 40))


@pytest.mark.slow
def test_settings_of_the_caller_change_nothing() -> None:
    with matplotlib.rc_context({"font.size": 31, "savefig.facecolor": "black"}):
        again = render(DRAWINGS["attention"])
    assert changes(render(DRAWINGS["attention"]), again) == 0


@pytest.mark.slow
def test_everything_is_written(tmp_path: Path) -> None:
    write_all(tmp_path / "figures")
    assert (tmp_path / "figures" / "README.md").read_text(encoding="utf-8") == page()
    for name in NAMES:
        assert (tmp_path / "figures" / f"{name}.png").read_bytes() == render(DRAWINGS[name])


def test_the_checklist_has_every_law_once() -> None:
    listed = [name for section in checklist.sections() for name, _ in section.laws if name]
    assert sorted(listed) == sorted(law.name for law in (*LAWS, *text_laws.LAWS, *score_laws.LAWS))
