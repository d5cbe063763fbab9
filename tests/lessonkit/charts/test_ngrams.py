"""A square for each n-gram, green where BLEU counts it."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from sacrebleu.metrics import BLEU

from lessonkit.charts import draw_ngram_matches
from lessonkit.charts.style import OURS_COLOUR


def squares(ax: Axes) -> dict[tuple[float, int], bool]:
    """Whether each square is green, by its place and its n."""
    found = {}
    for line in ax.lines:
        ((place, height),) = np.asarray(line.get_xydata()).tolist()
        found[place, -height] = to_hex(line.get_color()).upper() == OURS_COLOUR
    return found


def test_the_squares_are_those_that_bleu_counts(ax: Axes) -> None:
    output, reference = "the boy and the boy sleep .", "the boy and a cat sleep ."
    found = squares(draw_ngram_matches(output.split(), reference.split(), ax))
    score = BLEU(tokenize="none", force=True).corpus_score([output], [[reference]])
    for n, (matches, total) in enumerate(zip(score.counts, score.totals, strict=True), start=1):
        of_n = [is_green for (_, order), is_green in found.items() if order == n]
        assert (sum(of_n), len(of_n)) == (matches, total)
    assert found[0, 1]
    assert not found[3, 1]  # the second "the": the reference has one
    assert not found[4, 1]  # and the second "boy"
    assert found[5.5, 2]  # below the gap between the two words


def test_an_output_of_one_word_has_single_words_alone(ax: Axes) -> None:
    assert squares(draw_ngram_matches(["a"], [], ax)) == {(0, 1): False}
