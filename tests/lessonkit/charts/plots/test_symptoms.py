"""Loss curves side by side are drawn as they were given."""

import pytest
from lessonkit.charts.plots.symptoms import COLOURS, draw_symptoms
from matplotlib.figure import Figure

from transformer.support.errors import UserError

SOUND = [(2, 5.0), (3, 1.5), (5, 0.25)]
ILL = [(2, 5.5), (3, 5.25), (5, 5.75)]


def test_each_training_is_a_line_from_zero_upwards() -> None:
    ax = draw_symptoms({"sound": SOUND, "ill": ILL}, Figure().add_subplot(), "Two", ylabel="loss")
    drawn = {line.get_label(): list(zip(*line.get_data(), strict=True)) for line in ax.lines}
    assert drawn == {"sound": SOUND, "ill": ILL}
    assert [line.get_color() for line in ax.lines] == list(COLOURS[:2])
    assert ax.get_ylim()[0] == 0
    assert (ax.get_title(), ax.get_ylabel()) == ("Two", "loss")
    assert "step" in ax.get_xlabel()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["sound", "ill"]


def test_a_single_training_needs_no_legend_and_a_long_one_no_marks() -> None:
    one = draw_symptoms({"A": SOUND}, Figure().add_subplot())
    assert one.get_legend() is None
    assert one.lines[0].get_marker() == "o"
    long = draw_symptoms({"A": [(step, 1.0) for step in range(50)]}, Figure().add_subplot())
    assert long.lines[0].get_marker() == "None"


def test_more_trainings_than_colours_are_refused() -> None:
    lines = {str(number): SOUND for number in range(5)}
    with pytest.raises(UserError, match="5 trainings, and there are 4 colours"):
        draw_symptoms(lines, Figure().add_subplot())
