"""A line to type in gives another picture, a bad one a line of text; attention goes into a file."""

import json
import sys
from pathlib import Path
from types import ModuleType

import altair as alt
import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt

from lessonkit.analysis import mean_head_outputs
from lessonkit.charts import (
    attention_widget,
    draw_heads,
    interactive_widget,
    renderer,
    schedule_explorer,
)
from lessonkit.charts.attention_export import check_attention_output_path, write_attention_file
from lessonkit.charts.renderer import VEGALITE_MIME_TYPE
from transformer.models.translator import Translator
from transformer.support.errors import UserError


@pytest.fixture(autouse=True)
def enabled() -> None:
    renderer.enable()


@pytest.mark.slow
def test_typing_another_sentence_draws_it_and_a_bad_one_keeps_the_picture(
    tiny: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    means = mean_head_outputs(tiny, ["A dog."])
    line, said, picture = attention_widget(tiny, "The cat sleeps.", means).children
    assert line.description == "en to fr"
    first = picture.outputs[0]["data"]
    assert {VEGALITE_MIME_TYPE, "image/png", "text/plain"} <= set(first)
    assert said.value == tiny.translate(["The cat sleeps."])[0]
    line.value = "  "
    assert "give some words" in said.value
    assert picture.outputs[0]["data"] == first
    line.value = "A dog reads a book."
    assert "give some words" not in said.value
    second = picture.outputs[0]["data"]
    shown = second["text/plain"].replace(" ", "")
    assert "".join(tiny.src_tokenizer.tokens("A dog")) in shown
    assert first["image/png"] != second["image/png"]
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    *_, picture = attention_widget(tiny, "The cat sleeps.", means).children
    assert set(picture.outputs[0]["data"]) == {"image/png", "text/plain"}


def test_a_play_box_hands_its_sliders_to_the_lesson_s_function(tiny: Translator) -> None:
    calls = []

    def answer(text: str, beam: int, alpha: float) -> tuple[str, alt.TopLevelMixin]:
        calls.append((text, beam, alpha))
        if beam > 4:
            raise UserError("a beam of 5 is too wide: give 4 or less")
        return "\n".join([text] * beam), schedule_explorer()

    box = interactive_widget(tiny, "A cat.", answer, beam=(1, 5, 2), alpha=(0.0, 2.0, 0.6))
    line, beam, alpha, said, picture = box.children
    assert said.value == "A cat."
    assert [each["output_type"] for each in picture.outputs] == ["stream", "display_data"]
    assert picture.outputs[0]["text"] == "A cat.\n"  # the lines after the first
    alpha.value = 1.1
    line.value = "A dog."
    beam.value = 1
    assert len(picture.outputs) == 1
    moves = [("A cat.", 2, 0.6), ("A cat.", 2, 1.1), ("A dog.", 2, 1.1), ("A dog.", 1, 1.1)]
    assert calls == moves
    beam.value = 5
    assert said.value == "a beam of 5 is too wide: give 4 or less"
    assert len(picture.outputs) == 1  # the last picture stays


def test_every_weight_in_a_json_file_and_a_picture(tiny: Translator, tmp_path: Path) -> None:
    file, picture = tmp_path / "attention.json", tmp_path / "attention.png"
    sentences = ["The woman reads a book.", " ", "A man sleeps."]
    write_attention_file(file, tiny, sentences, beam_size=1)
    written = json.loads(file.read_text(encoding="utf-8"))
    for sentence, values in zip(sentences[::2], written, strict=True):
        attention = tiny.attention(sentence, beam_size=1)
        for name in ("translation", "src_tokens", "tgt_tokens"):
            assert values[name] == getattr(attention, name)
        for name, maps in attention.maps._asdict().items():  # (layer, head, query, key)
            torch.testing.assert_close(torch.tensor(values[name]), maps[:, 0], atol=5.1e-5, rtol=0)
    write_attention_file(picture, tiny, ["", "A man sleeps."], beam_size=1)
    assert plt.imread(picture).ndim == 3
    assert not plt.get_fignums()


def test_a_picture_of_one_head_and_what_it_leaves_out(tiny: Translator, tmp_path: Path) -> None:
    sentences = ["A man sleeps.", "A dog."]
    with pytest.warns(UserWarning, match=r"leaves out the 1 other sentence; a \.json has all"):
        write_attention_file(tmp_path / "a.png", tiny, sentences, 1, layer=1, head=2)
    attention = tiny.attention(sentences[0], beam_size=1)
    weights, tokens = attention.maps.cross[0, 0, 1:2], (attention.tgt_tokens, attention.src_tokens)
    figure = draw_heads(weights, *tokens, "Cross-attention of layer 1", [2])
    figure.savefig(tmp_path / "b.png", dpi=150)
    plt.close(figure)
    assert np.array_equal(plt.imread(tmp_path / "a.png"), plt.imread(tmp_path / "b.png"))
    for layer, head, message in (
        (2, 1, "layer is 2"),
        (1, 3, "head is 3"),
        (0, None, "layer is 0"),
    ):
        with pytest.raises(UserError, match=message):
            write_attention_file(tmp_path / "c.png", tiny, sentences[:1], 1, layer, head)
    with pytest.raises(UserError, match="leave --layer and --head out"):
        check_attention_output_path(tmp_path / "c.json", head=1)
    assert not (tmp_path / "c.png").exists()


def test_attention_files_that_cannot_be_written(tiny: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ends in \.json or \.png"):
        check_attention_output_path(tmp_path / "attention.svg")
    with pytest.raises(UserError, match="folder"):
        check_attention_output_path(Path(__file__) / "attention.json")
    with pytest.raises(UserError, match="every sentence is empty"):
        write_attention_file(tmp_path / "attention.json", tiny, ["", "  "], beam_size=1)
    assert not list(tmp_path.iterdir())
