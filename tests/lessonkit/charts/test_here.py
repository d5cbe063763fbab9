"""You are here: one part of the architecture is bright, the rest pale, and the title says which."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from lessonkit.charts.here import PLACES, Box, you_are_here
from lessonkit.charts.renderer import describe
from lessonkit.charts.trace_steps import PARTS
from transformer.support.errors import UserError

SCALE = 2  # pixels for each point of the sheet


def drawn(part: str) -> np.ndarray:
    """The sheet alone in grey, 0 to 255, its lower left first, so many pixels a point."""
    figure, stored = you_are_here(part), BytesIO()
    figure.axes[0].set_title("", loc="left")
    figure.savefig(stored, format="png", dpi=72 * SCALE)
    return np.asarray(Image.open(stored).convert("L"))[::-1].copy()


def inside(pixels: np.ndarray, box: Box, room: float = 0) -> np.ndarray:
    x, y, width, height = box
    left, low = x - width / 2 - room, max(0, y - height / 2 - room)
    rows = slice(round(SCALE * low), round(SCALE * (y + height / 2 + room)))
    return pixels[rows, round(SCALE * left) : round(SCALE * (x + width / 2 + room))]


@pytest.mark.slow
@pytest.mark.parametrize("part", PLACES)
def test_the_part_is_bright_and_the_rest_is_pale(part: str) -> None:
    pixels = drawn(part)
    words, boxes = PLACES[part]
    for box in boxes:
        assert inside(pixels, box).min() < 100  # something is drawn there
    for box in boxes:
        inside(pixels, box, room=8)[:] = 255
    assert 150 < pixels.min() < 220  # all the rest is there, but pale
    assert describe(you_are_here(part)) == f"Picture: You are here: {words}."


def test_every_part_of_the_trace_has_its_place_and_no_other() -> None:
    assert set(PLACES) == set(PARTS)
    with pytest.raises(UserError, match="did you mean 'attention'"):
        you_are_here("atention")
