"""You are here: one part of the architecture is bright, the rest pale, and the title says which."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from lessonkit.charts.diagrams import architecture
from lessonkit.charts.diagrams.diagram import Box
from lessonkit.charts.diagrams.here import PLACES, you_are_here
from lessonkit.charts.explorers.trace_steps import PARTS
from lessonkit.charts.pictures import describe, shrink
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from transformer.support.errors import UserError

SCALE = 2  # pixels for each point of the sheet
WIDTH, HEIGHT = architecture.SIZE


def drawn(figure: Figure) -> np.ndarray:
    """The sheet alone in grey, 0 to 255, its lower left first, so many pixels a point."""
    stored = BytesIO()
    figure.axes[0].set_title("", loc="left")
    figure.savefig(stored, format="png", dpi=72 * SCALE)
    return np.asarray(Image.open(stored).convert("L"))[::-1].astype(int)


def inside(pixels: np.ndarray, box: Box) -> np.ndarray:
    left, low = box.x - box.width / 2, max(0, box.y - box.height / 2)
    rows = slice(round(SCALE * low), round(SCALE * box.top[1]))
    return pixels[rows, round(SCALE * left) : round(SCALE * (left + box.width))]


def plain() -> np.ndarray:
    figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72), facecolor="white")
    architecture.draw_architecture(figure.add_axes((0, 0, 1, 1)))
    return drawn(figure)


@pytest.fixture(scope="module")
def whole() -> np.ndarray:
    return plain()


@pytest.mark.parametrize("part", PLACES)
def test_the_part_is_as_it_was_and_the_rest_is_pale(part: str, whole: np.ndarray) -> None:
    pixels = drawn(you_are_here(part))
    assert pixels.shape == whole.shape
    covered = np.zeros(whole.shape, dtype=bool)
    for box in PLACES[part].boxes:
        np.testing.assert_array_equal(inside(pixels, box), inside(whole, box))
        assert inside(whole, box).min() < 100  # something is drawn there
        around = Box(box.x, box.y, box.width + 16, box.height + 16)
        inside(covered, around)[:] = True
    assert whole[~covered].min() < 100
    assert pixels[~covered].min() > 150


@pytest.mark.parametrize("part", PLACES)
def test_no_word_is_cut_by_the_line_around_the_part(part: str) -> None:
    figure = you_are_here(part)
    figure.canvas.draw()
    ax = figure.axes[0]
    for box in PLACES[part].boxes:
        left, right = box.left[0], box.right[0]
        low, high = box.bottom[1], box.top[1]
        for text in ax.findobj(Text):
            if not text.get_text() or text.get_text().startswith("You are here"):
                continue
            extent = text.get_window_extent().transformed(ax.transData.inverted())
            across = extent.y1 > low and extent.y0 < high
            assert not (across and extent.x0 < right < extent.x1 - 1), text.get_text()
            assert not (across and extent.x0 + 1 < left < extent.x1), text.get_text()


@pytest.mark.parametrize("part", PLACES)
def test_the_title_stands_for_the_picture(part: str) -> None:
    text = describe(you_are_here(part))
    assert text.startswith("Picture: You are here: ")
    assert PLACES[part].words in text


def test_every_part_of_the_trace_has_its_place() -> None:
    assert set(PLACES) == set(PARTS)


def test_it_is_small_and_fits_a_screen(tmp_path: Path) -> None:
    you_are_here("attention").savefig(tmp_path / "here.png", bbox_inches="tight")
    picture, (width, height) = shrink((tmp_path / "here.png").read_bytes())
    assert len(picture) < 100_000
    assert width < 860
    assert height < 680


def test_a_part_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="did you mean 'attention'"):
        you_are_here("atention")
