"""Alignments on axes: source on top, a line for each link, ends at the words."""

import pytest
from lessonkit.charts.plots.alignment import draw_alignment
from matplotlib.axes import Axes

SRC = ["The", "boy", "closes", "it"]
TGT = ["Der", "Junge", "macht", "es", "zu"]
LINKS = {(0, 0), (1, 1), (2, 2), (2, 4), (3, 3)}


def test_every_link_joins_its_two_words(ax: Axes) -> None:
    assert draw_alignment(SRC, TGT, LINKS, ax, "one verb in two places") is ax
    places = {text.get_text(): text.get_position() for text in ax.texts}
    assert set(places) == {*SRC, *TGT}
    drawn = {tuple(line.get_xdata()) for line in ax.lines}
    assert drawn == {(places[SRC[a]][0], places[TGT[b]][0]) for a, b in LINKS}
    assert len(ax.lines) == len(LINKS)
    assert min(places[word][1] for word in SRC) > max(places[word][1] for word in TGT)
    assert ax.get_title() == "one verb in two places"


def test_words_stand_in_order_and_apart(ax: Axes) -> None:
    draw_alignment(SRC, TGT, [], ax)
    across = [text.get_position()[0] for text in ax.texts][: len(SRC)]
    assert across == sorted(across)
    # widths 3, 3, 6, 2 letters and 2.5 between: the middle of the first is 2.75 of 24
    assert across[0] == pytest.approx(2.75 / 24)
    assert across[-1] == pytest.approx(1 - 2.25 / 24)
