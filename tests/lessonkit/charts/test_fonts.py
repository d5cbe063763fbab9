"""Letters of any script are drawn in a font that has them, or what to install is said in a line."""

import warnings
from io import BytesIO
from pathlib import Path

import altair as alt
import matplotlib
import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager, ft2font
from matplotlib import pyplot as plt

from lessonkit.charts import renderer
from lessonkit.charts.fonts import find_font_families, save_figure

YI, YI_TOO, JAPANESE = "\ua000", "\ua001", "語"  # DejaVu Sans has none of them


@pytest.fixture(autouse=True)
def only_dejavu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer with matplotlib's own fonts."""
    entries = [
        entry for entry in font_manager.fontManager.ttflist if entry.name.startswith("DejaVu Sans")
    ]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", entries)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [])


def make_font(path: Path, family: str, letters: str) -> Path:
    """Write a font in which each letter is a filled square."""
    pen = TTGlyphPen(None)
    for number, point in enumerate([(0, 0), (0, 700), (700, 700), (700, 0)]):
        (pen.lineTo if number else pen.moveTo)(point)
    pen.closePath()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "square"])
    builder.setupCharacterMap({ord(letter): "square" for letter in letters})
    builder.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "square": pen.glyph()})
    builder.setupHorizontalMetrics({".notdef": (500, 0), "square": (800, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": family, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return path


def picture(text: str, where: str = "title") -> np.ndarray:
    """Return the pixels of a figure with a text as its title or as the label of a tick."""
    figure, ax = plt.subplots(figsize=(2, 1), dpi=100)
    if where == "title":
        ax.set_title(text)
    else:
        ax.set_xticks([0, 1], ["a", text])
    drawn = BytesIO()
    save_figure(figure, drawn, format="png")
    plt.close(figure)
    drawn.seek(0)
    return np.asarray(plt.imread(drawn))


@pytest.mark.parametrize("where", ["title", "tick"])
def test_a_letter_is_drawn_in_an_installed_font_that_has_it(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_font(tmp_path / "yi.ttf", "Test Yi", YI)
    with pytest.warns(UserWarning, match=f"no font here has {YI}, ") as caught:
        boxes = picture(f"x{YI}{YI}", where)
    assert len(caught) == 1
    # It was installed after matplotlib listed the fonts.
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(path)])
    before = dict(matplotlib.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        squares = picture(f"x{YI}{YI}", where)
    assert not np.array_equal(boxes, squares)
    assert matplotlib.rcParams == before


def test_few_fonts_are_chosen_and_what_none_has_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for family, letters in (("One", YI), ("Both", YI + YI_TOO), ("Other", YI_TOO)):
        font_manager.fontManager.addfont(make_font(tmp_path / f"{family}.ttf", family, letters))
    assert find_font_families(YI + YI_TOO + JAPANESE) == (["Both"], {JAPANESE})
    assert find_font_families("") == ([], set())


@pytest.mark.parametrize(
    ("text", "package", "other"),
    [(YI, "fonts-noto-core", "cjk"), (f"{JAPANESE}。", "fonts-noto-cjk", "core")],
)
def test_what_to_install_depends_on_the_script(text: str, package: str, other: str) -> None:
    with pytest.warns(UserWarning, match=f"apt install {package}") as caught:
        picture(text)
    (warning,) = caught
    assert other not in str(warning.message)
    with pytest.warns(UserWarning, match=r"and 3 more, "):
        picture("".join(chr(ord(YI) + i) for i in range(11)))


def test_a_chart_says_so_too() -> None:
    chart = alt.Chart(alt.Data(values=[{"word": JAPANESE}])).mark_bar().encode(x="word:N")
    with pytest.warns(UserWarning, match=f"no font here has {JAPANESE}, "):
        renderer.to_mime_bundle(chart.to_dict())


def test_blanks_joiners_and_latin_need_no_other_font() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture("▁The ½ naïve\u200d\ufe0f\u3000<0xE6>")


@pytest.mark.skipif(not hasattr(ft2font, "__libraqm_version__"), reason="needs matplotlib 3.11")
def test_hebrew_begins_at_the_right() -> None:
    # Of alef and bet, bet is drawn at the left: as the Latin text is that a title turns into
    # if its letters are written the other way about.
    left_to_right_override = "\u202d"
    assert np.array_equal(picture("אב"), picture(f"{left_to_right_override}בא"))
    assert not np.array_equal(picture("אב"), picture(f"{left_to_right_override}אב"))


def test_an_older_matplotlib_that_turns_text_round_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(ft2font, "__libraqm_version__", raising=False)
    with pytest.warns(UserWarning, match="wrong direction: pip install"):
        picture("אב")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture("ab")
