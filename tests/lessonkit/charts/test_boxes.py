"""The line to type in: another sentence gives another picture, a bad one a line of text."""

import sys
from collections.abc import Iterator
from types import ModuleType

import altair as alt
import pytest

from lessonkit.analysis.heads import Head
from lessonkit.charts import play_box, renderer, schedule_explorer, sentence_box, trace_box
from lessonkit.charts.renderer import VEGALITE
from transformer.models.translator import Translator
from transformer.support.errors import UserError


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    before = alt.renderers.active
    renderer.enable()
    yield
    alt.renderers.enable(before)


@pytest.mark.slow
def test_typing_another_sentence_draws_it_and_a_bad_one_keeps_the_picture(
    tiny: Translator,
) -> None:
    line, said, picture = sentence_box(tiny, "The cat sleeps.").children
    assert line.description == "en to fr"
    first = picture.outputs[0]["data"]
    assert {VEGALITE, "image/png", "text/plain"} <= set(first)
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


@pytest.mark.slow
def test_another_sentence_is_traced_anew(shipped: Translator) -> None:
    head = Head("encoder", 1, 2)
    *_, picture = trace_box(shipped, "The cat is sleeping.", "positions", head).children
    assert "RoPE" in picture.outputs[0]["data"]["text/plain"]
    line, said, picture = trace_box(shipped, "The cat is sleeping.", "attention").children
    line.value = "The white cow is sleeping."
    assert said.value == "La vache blanche dort."
    shown = picture.outputs[0]["data"]
    assert "▁white ▁cow" in shown["text/plain"]
    line.value = "The cow is sleeping in the garden with the cat, " * 5
    assert "give a shorter sentence" in said.value
    assert picture.outputs[0]["data"] == shown


def test_a_play_box_hands_its_sliders_to_the_lesson_s_function(tiny: Translator) -> None:
    calls = []

    def answer(text: str, beam: int, alpha: float) -> tuple[str, alt.TopLevelMixin]:
        calls.append((text, beam, alpha))
        if beam > 4:
            raise UserError("a beam of 5 is too wide: give 4 or less")
        return "\n".join([text] * beam), schedule_explorer()

    box = play_box(tiny, "A cat.", answer, beam=(1, 5, 2), alpha=(0.0, 2.0, 0.6))
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


def test_on_colab_it_shows_a_picture(tiny: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    *_, picture = sentence_box(tiny, "The cat sleeps.").children
    assert set(picture.outputs[0]["data"]) == {"image/png", "text/plain"}
