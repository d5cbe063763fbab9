"""Words beside a drawing of matplotlib, of any number and length. Not in the paper.

A word that is long is shortened, and one that would overlap the word before it is left out.
"""

from collections.abc import Sequence
from unicodedata import east_asian_width

from matplotlib.axes import Axes

MAX_LABEL_CHARACTERS = 24
GAP_BETWEEN_LABELS_POINTS = 3.0  # between two words of a line, at least
LETTER_WIDTH_PER_FONT_SIZE = 0.6  # of most letters, in font sizes; of Chinese and Japanese ones 1
LINE_HEIGHT_PER_FONT_SIZE = 1.4  # of a line of text, in font sizes
POINTS_PER_INCH = 72


def shorten_label(token: str, max_characters: int = MAX_LABEL_CHARACTERS) -> str:
    """Return a token as a label of at most so many characters."""
    if len(token) <= max_characters:
        return token
    return token[: max_characters - 1] + "…"


def axes_points(ax: Axes) -> tuple[float, float]:
    """Return the width and height of axes in points."""
    width, height = ax.bbox.size
    return POINTS_PER_INCH * width / ax.figure.dpi, POINTS_PER_INCH * height / ax.figure.dpi


def label_width_points(label: str, font_size: float) -> float:
    """Estimate how wide a label is drawn, in points."""
    widths = (
        1.0 if east_asian_width(letter) in "WF" else LETTER_WIDTH_PER_FONT_SIZE for letter in label
    )
    return font_size * sum(widths)


def places_of_labels_that_fit(
    centres: Sequence[float], labels: Sequence[str], font_size: float
) -> list[int]:
    """Return the places of the labels that do not overlap one before them in their line.

    Args:
        centres: The middle of each label, in points, from left to right.
        labels: The texts.
        font_size: In points.
    """
    places, end = [], float("-inf")
    for place, (centre, label) in enumerate(zip(centres, labels, strict=True)):
        half = label_width_points(label, font_size) / 2
        if centre - half >= end:
            places.append(place)
            end = centre + half + GAP_BETWEEN_LABELS_POINTS
    return places


def how_many_labelled_text(shown: int, total: int, name: str = "words") -> str:
    """Return a line that says how many are labelled; nothing if all are."""
    return f"\n{shown} of {total} {name} labelled" if shown < total else ""
