"""Sentences that are longer than a caption, and long words: no word is written over another."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg

from lessonkit.charts import (
    TokenGrid,
    draw_alignment,
    draw_attention_paths,
    draw_mask,
    draw_parse_tree,
    draw_recurrence,
    draw_token_grid,
)
from lessonkit.charts.layer_costs import MAX_WORDS_WITH_PATHS
from transformer.support.errors import UserError

Draw = Callable[[list[str], Axes], Axes]
LONG = [f"▁word{i}" for i in range(199)]
WIDE = ["▁the", "Donaudampfschifffahrtsgesellschaftskapitänsmützenverkaufsstand", "▁cat", "."]


def nested_tree(count: int) -> str:
    """Return a tree whose phrases hold a word and the next phrase."""
    return "(S NN " * (count - 1) + "NN " + ")S " * (count - 1)


def halved_tree(count: int) -> str:
    if count == 1:
        return "NN"
    return f"(NP {halved_tree(count // 2)} {halved_tree(count - count // 2)} )NP"


DRAWINGS: dict[str, Draw] = {
    "alignment": lambda words, ax: draw_alignment(
        words, words[::-1], [(place, place * 7 % len(words)) for place in range(len(words))], ax
    ),
    "nested tree": lambda words, ax: draw_parse_tree(nested_tree(len(words)), words, ax),
    "halved tree": lambda words, ax: draw_parse_tree(halved_tree(len(words)), words, ax),
    "grid": lambda words, ax: draw_token_grid(TokenGrid("src", [words] * 29, "#0072B2"), ax),
    "recurrence": lambda words, ax: draw_recurrence(words[:MAX_WORDS_WITH_PATHS], ax),
    "paths": lambda words, ax: draw_attention_paths(words[:MAX_WORDS_WITH_PATHS], ax),
}


@pytest.mark.parametrize("words", [LONG, WIDE], ids=["long", "wide"])
@pytest.mark.parametrize("name", DRAWINGS)
def test_no_word_is_written_over_another(name: str, words: list[str]) -> None:
    figure, ax = plt.subplots(figsize=(8, 3))
    DRAWINGS[name](words, ax)
    figure.canvas.draw()
    rows = ax.get_yticklabels() if ax.axison else []
    texts = [text for text in (*ax.texts, *rows) if text.get_text()]
    assert texts
    boxes = [text.get_window_extent().padded(-1) for text in texts]  # a pixel less on every side
    for (one, box), (other, other_box) in combinations(zip(texts, boxes, strict=True), 2):
        assert not box.overlaps(other_box), (one.get_text(), other.get_text())


def test_a_drawing_says_how_many_words_it_leaves_out(ax: Axes) -> None:
    DRAWINGS["alignment"](LONG, ax)
    assert ax.get_title() == f"{len(ax.texts)} of 398 words labelled"
    assert len(ax.lines) == 199
    ax.clear()
    DRAWINGS["halved tree"](LONG, ax)
    # The tree of n words, each of which has a part of speech, has n - 1 phrases.
    assert ax.get_title() == f"{len(ax.texts)} of {3 * 199 - 1} words and phrases labelled"
    with pytest.raises(UserError, match=r"199 words have 39,601 lines .* give 30 words at most"):
        draw_attention_paths(LONG, ax)


def test_a_tree_may_be_deeper_than_python_recurs(ax: Axes) -> None:
    draw_parse_tree(nested_tree(1009), ["w"] * 1009, ax)
    assert len(ax.lines) == 2 * 1008


def test_the_lines_between_cells_leave_the_cells_of_a_long_mask_in_sight() -> None:
    figure, ax = plt.subplots(figsize=(4, 4))
    draw_mask(torch.ones(199, 199, dtype=torch.bool).tril(), LONG, LONG, ax)
    ax.set_axis_off()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    left, bottom, right, top = map(int, ax.get_window_extent().padded(-3).extents)
    pixels = np.asarray(canvas.buffer_rgba())[::-1][bottom:top, left:right, :3]
    assert (pixels.min(axis=-1) > 200).mean() < 0.1  # almost white
