"""Charts: what is on the axes is what was given; nothing global changes; files hold it too."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from transformer.charts import style
from transformer.charts.export import check_attention_file, write_attention
from transformer.charts.plots.attention import draw_attention, draw_heads
from transformer.charts.plots.curves import draw_loss
from transformer.config import RecurrentConfig
from transformer.support.errors import UserError
from transformer.trained.folder import read_description
from transformer.trained.translator import Translator

QUERIES = ["▁le", "▁chat", "<eos>"]
KEYS = ["▁the", "▁black", "▁cat", ".", "<eos>"]
# The second query looks at the fifth key: on swapped axes it would not.
WEIGHTS = torch.tensor(
    [[0.9, 0.1, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.2, 0.8], [0.2, 0.2, 0.2, 0.2, 0.2]]
)


@pytest.fixture(autouse=True)
def _no_figure_stays() -> Iterator[None]:
    plt.close("all")
    yield
    plt.close("all")


def test_attention_puts_queries_down_and_keys_across() -> None:
    _, ax = plt.subplots()
    assert draw_attention(WEIGHTS, QUERIES, KEYS, ax, "head 1") is ax
    (image,) = ax.images
    np.testing.assert_array_equal(np.asarray(image.get_array()), WEIGHTS.numpy())
    left, right, bottom, top = image.get_extent()
    assert (left, right) == (-0.5, 4.5)
    assert bottom > top  # the first query on top
    assert [label.get_text() for label in ax.get_xticklabels()] == KEYS
    assert [label.get_text() for label in ax.get_yticklabels()] == QUERIES
    assert ax.get_xlabel() == "attended to (key)"
    assert ax.get_ylabel() == "attends (query)"
    assert ax.get_title() == "head 1"


def test_attention_has_one_scale_for_all() -> None:
    _, ax = plt.subplots()
    draw_attention(WEIGHTS / 2, QUERIES, KEYS, ax)
    assert ax.images[0].get_clim() == (0, 1)
    assert ax.images[0].get_cmap().name == "viridis"


def test_attention_takes_weights_as_models_have_them() -> None:
    _, ax = plt.subplots()
    draw_attention(WEIGHTS.bfloat16().requires_grad_(), QUERIES, KEYS, ax)
    np.testing.assert_allclose(np.asarray(ax.images[0].get_array()), WEIGHTS.numpy(), atol=0.01)


def test_attention_refuses_tokens_that_do_not_fit() -> None:
    _, ax = plt.subplots()
    with pytest.raises(UserError, match=r"shape \(5, 3\) do not fit 3 queries and 5 keys"):
        draw_attention(WEIGHTS.T, QUERIES, KEYS, ax)
    assert not ax.images


@pytest.mark.parametrize(
    ("num_heads", "rows", "columns"), [(1, 1, 1), (4, 1, 4), (6, 2, 3), (7, 2, 4), (8, 2, 4)]
)
def test_heads_stand_in_even_rows(num_heads: int, rows: int, columns: int) -> None:
    weights = torch.rand(num_heads, 3, 5).softmax(-1)
    figure = draw_heads(weights, QUERIES, KEYS, "a title")
    *heads, scale = figure.axes
    assert heads[0].get_gridspec().get_geometry() == (rows, columns)
    shown = [ax for ax in heads if ax.images]
    assert [ax.get_title() for ax in shown] == [f"head {i}" for i in range(1, num_heads + 1)]
    for ax, head in zip(shown, weights, strict=True):
        np.testing.assert_array_equal(np.asarray(ax.images[0].get_array()), head.numpy())
    assert scale.get_ylabel() == "attention weight"
    assert figure.get_suptitle() == "a title"
    assert figure.get_supxlabel() == "attended to (key)"
    assert figure.get_supylabel() == "attends (query)"


@pytest.mark.parametrize(("q_len", "k_len"), [(3, 3), (6, 6), (13, 17), (41, 37), (2, 31)])
def test_labels_of_heads_are_whole_and_apart(q_len: int, k_len: int) -> None:
    """Nothing is cut at the picture's edge, lines of labels do not touch, a page is wide enough."""
    queries, keys = ["▁question"] * q_len, ["▁extraordinary"] * k_len
    figure = draw_heads(torch.rand(4, q_len, k_len), queries, keys, "Cross-attention")
    figure.canvas.draw()
    assert figure.get_figwidth() <= 13
    for ax in figure.axes[:-1]:
        cell = ax.get_window_extent().height / q_len / figure.dpi
        assert cell >= 8 / 72  # inches: the height of a label
        for label in ax.get_xticklabels() + ax.get_yticklabels():
            box = label.get_window_extent()
            assert 0 <= box.x0 <= box.x1 <= figure.bbox.width
            assert 0 <= box.y0 <= box.y1 <= figure.bbox.height


def test_heads_refuse_tokens_that_do_not_fit_and_leave_no_figure() -> None:
    for weights in (WEIGHTS, WEIGHTS.T[None]):
        with pytest.raises(UserError, match=r"give \(num_heads, q_len, k_len\)"):
            draw_heads(weights, QUERIES, KEYS, "a title")
    assert not plt.get_fignums()


LOG: list[dict[str, Any]] = [
    {"kind": "training", "step": 3, "loss": 7.0},
    {"kind": "training", "step": 5, "loss": 5.5},
    {"kind": "validation", "step": 5, "loss": 5.75},
    {"kind": "training", "step": 7, "loss": 4.0},
]


def test_loss_over_steps() -> None:
    _, ax = plt.subplots()
    assert draw_loss(LOG, ax, "the demo") is ax
    training, validation = ax.lines
    assert training.get_xydata().tolist() == [[3, 7.0], [5, 5.5], [7, 4.0]]
    assert validation.get_xydata().tolist() == [[5, 5.75]]
    assert to_hex(training.get_color()) == style.PAPER.lower()
    assert to_hex(validation.get_color()) == style.OURS.lower()
    assert ax.get_xlabel() == "step (updates of the weights)"
    assert ax.get_ylabel() == "loss (nats per token)"
    assert ax.get_ylim()[0] == 0
    assert ax.get_title() == "the demo"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["training", "validation"]


def test_loss_before_the_first_validation() -> None:
    _, ax = plt.subplots()
    draw_loss(LOG[:2], ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["training"]


def test_an_empty_log_has_no_curve() -> None:
    _, ax = plt.subplots()
    with pytest.raises(UserError, match="train for a step or more"):
        draw_loss([], ax)


def test_importing_and_drawing_change_nothing_global() -> None:
    code = (
        "import matplotlib\n"
        "show = lambda: repr({k: matplotlib.rcParams._get(k) for k in matplotlib.rcParams})\n"
        "before = show()\n"
        "from transformer.charts import export\n"
        "from transformer.charts.plots import attention, curves\n"
        "assert show() == before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture(scope="module")
def translator(tiny_folder: Path) -> Translator:
    return Translator.load(tiny_folder)


def test_every_weight_in_a_json_file(translator: Translator, tmp_path: Path) -> None:
    file = tmp_path / "attention.json"
    sentences = ["The woman reads a book.", " ", "A man sleeps."]
    write_attention(file, translator, sentences, beam_size=1)
    written = json.loads(file.read_text(encoding="utf-8"))
    assert len(written) == 2
    for sentence, values in zip(sentences[::2], written, strict=True):
        attention = translator.attention(sentence, beam_size=1)
        assert values["translation"] == attention.translation
        assert values["src_tokens"] == attention.src_tokens
        assert values["tgt_tokens"] == attention.tgt_tokens
        for name in ("encoder", "decoder", "cross"):
            weights = getattr(attention.maps, name)[:, 0]  # (layer, head, query, key)
            torch.testing.assert_close(torch.tensor(values[name]), weights, atol=5.1e-5, rtol=0)


def test_a_picture_file(translator: Translator, tmp_path: Path) -> None:
    file = tmp_path / "attention.png"
    write_attention(file, translator, ["", "A man sleeps."], beam_size=1)
    assert plt.imread(file).ndim == 3
    assert not plt.get_fignums()


def test_a_model_without_attention_has_no_picture(tiny_folder: Path, tmp_path: Path) -> None:
    described = read_description(tiny_folder)
    network = RecurrentConfig(embedding_size=11, hidden_size=13, attention=False)
    described = described._replace(recipe=dataclasses.replace(described.recipe, model=network))
    lstm = Translator(described, described.build())
    with pytest.raises(UserError, match="this model has no attention to draw: give a Transformer"):
        write_attention(tmp_path / "attention.png", lstm, ["A man sleeps."], beam_size=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_attention_is_drawn_from_a_gpu() -> None:
    _, ax = plt.subplots()
    draw_attention(WEIGHTS.cuda(), QUERIES, KEYS, ax)
    np.testing.assert_array_equal(np.asarray(ax.images[0].get_array()), WEIGHTS.numpy())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", ["attention.json", "attention.png"])
def test_attention_files_are_written_from_a_gpu(
    tiny_folder: Path, tmp_path: Path, name: str
) -> None:
    there = Translator.load(tiny_folder, "cuda")
    write_attention(tmp_path / name, there, ["A man sleeps."], beam_size=1)
    assert (tmp_path / name).stat().st_size > 0


def test_attention_files_that_cannot_be_written(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ends in \.json or \.png"):
        check_attention_file(tmp_path / "attention.svg")
    with pytest.raises(UserError, match="folder"):
        check_attention_file(Path(__file__) / "attention.json")
    with pytest.raises(UserError, match="every sentence is empty"):
        write_attention(tmp_path / "attention.json", translator, ["", "  "], beam_size=1)
    assert not list(tmp_path.iterdir())
