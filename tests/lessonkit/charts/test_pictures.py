"""What a notebook stores of a matplotlib figure."""

from io import BytesIO

import nbclient
import nbformat
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

from lessonkit.charts import pictures

DRAW = """
from matplotlib import pyplot as plt
from lessonkit.charts import pictures
{}
ax = plt.figure(figsize=(5, 3)).add_subplot(title="A step")
_ = ax.plot([0, 1, 1, 2])
"""


def drawn() -> Figure:
    figure, axes = plt.subplots(1, 3)
    figure.suptitle("Two maps\nof one sentence")
    for ax, title in zip(axes, ("encoder", "decoder", ""), strict=True):
        image = ax.imshow([[0.0, 1.0], [0.5, 0.5]])
        ax.set(title=title, xlabel="key")
    axes[0].set_ylabel("query")
    axes[2].set_axis_off()
    figure.colorbar(image, ax=axes, label="weight")
    plt.close(figure)
    return figure


def test_a_figure_is_described_by_its_titles_and_axes() -> None:
    assert pictures.describe(drawn()) == (
        "Picture: Two maps of one sentence; encoder (horizontal: key, vertical: query); "
        "decoder (horizontal: key); colour: weight."
    )


def test_what_is_the_same_is_said_once() -> None:
    figure, axes = plt.subplots(1, 2)
    for ax in axes:
        ax.set_xlabel("step")
    plt.close(figure)
    assert pictures.describe(figure) == "Picture: horizontal: step."


def test_axes_that_all_panels_share_are_said() -> None:
    figure, axes = plt.subplots(1, 2)
    figure.supxlabel("attended to")
    figure.supylabel("attends")
    axes[0].set_title("head 1")
    plt.close(figure)
    assert pictures.describe(figure) == (
        "Picture: horizontal: attended to, vertical: attends; head 1."
    )


def test_a_title_at_the_left_counts_too() -> None:
    figure, ax = plt.subplots()
    ax.set_title("tgt_in", loc="left")
    plt.close(figure)
    assert pictures.describe(figure) == "Picture: tgt_in."


def test_a_shrunk_picture_shows_the_same() -> None:
    large = BytesIO()
    drawn().savefig(large, format="png")
    small, (width, height) = pictures.shrink(large.getvalue())
    assert len(small) < len(large.getvalue())
    before, after = (Image.open(BytesIO(png)).convert("RGB") for png in (large.getvalue(), small))
    assert before.size == after.size == (width, height)
    differences = [abs(a - b) for a, b in zip(before.tobytes(), after.tobytes(), strict=True)]
    assert max(differences) < 64  # of 255
    assert sum(differences) / len(differences) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("enabled", [True, False])
def test_a_notebook_stores_picture_and_text(enabled: bool) -> None:
    cell = nbformat.v4.new_code_cell(DRAW.format("pictures.enable()" if enabled else ""))
    notebook = nbclient.execute(nbformat.v4.new_notebook(cells=[cell]))
    (output,) = notebook.cells[0].outputs
    assert "image/png" in output.data
    if enabled:
        assert output.data["text/plain"] == "Picture: A step."
        assert output.metadata["image/png"]["alt"] == "Picture: A step."
    else:
        assert output.data["text/plain"].startswith("<Figure")
        assert "alt" not in output.metadata.get("image/png", {})


def test_nothing_changes_outside_a_notebook() -> None:
    before = plt.get_backend()
    pictures.enable()
    assert plt.get_backend() == before
