"""The trace explorer draws the trace's numbers, and says where in the architecture they are."""

import math

import pytest
import torch
from torch import Tensor

from lessonkit.analysis.heads import Head
from lessonkit.analysis.tracing import Trace, trace_translation
from lessonkit.charts.architecture import CAPTION_AND_BOXES_BY_PART, draw_architecture
from lessonkit.charts.renderer import describe_figure
from lessonkit.charts.trace import MAX_NUMBERS_WRITTEN_OUT, trace_explorer
from lessonkit.charts.trace_steps import (
    NUM_RANKED_TYPES,
    STEPS_FUNCTION_BY_PART,
    TraceStep,
    steps_of_part,
)
from tests.helpers.vega import Spec, descriptions, part, texts, with_controls
from transformer.models.translator import Translator
from transformer.support.errors import UserError

TABLE, CHOSEN_ROW = range(2)
SIGNED, SHARES, _, LABEL = range(4)  # layers of the table
NUMBERS = 2  # layer of the chosen row


@pytest.fixture(scope="module")
def traces(shipped: Translator) -> dict[str, Trace]:
    heads = (Head("cross", 2, 2), Head("encoder", 1, 1), Head("decoder", 1, 3))
    return {head.stack: trace_translation(shipped, head=head) for head in heads}


def cells(spec: Spec, index: int, layer: int) -> dict[tuple[int, int], float]:
    """The numbers that a layer of colours draws, by row and column."""
    label = "datum.q + ' ' + datum.k + ' ' + datum.value"
    marks = [mark.split() for mark in descriptions(part(spec, index, layer), label)]
    return {(int(q), int(k)): float(value) for q, k, value in marks}


def titles(spec: Spec) -> list[str]:
    return [text for text, *_ in texts(spec, "role-title-text")]


def same(found: dict[tuple[int, int], float], expected: Tensor) -> None:
    """Numbers drawn are the expected ones to two places, and NaN where nothing is drawn."""
    matrix = torch.full(expected.shape, math.nan, dtype=torch.float64)
    for place, value in found.items():
        matrix[place] = value
    wanted = expected.detach().double()
    torch.testing.assert_close(matrix, wanted, rtol=0, atol=0.0051, equal_nan=True)


def test_where_one_is_is_said_in_words_and_filled_in() -> None:
    for name, (words, filled) in CAPTION_AND_BOXES_BY_PART.items():
        figure = draw_architecture(name)
        assert describe_figure(figure) == f"Picture: You are here: {words}."
        labels = {box.get_label() for box in figure.axes[0].patches if box.get_fill()}
        assert labels == set(filled)


@pytest.mark.slow
@pytest.mark.parametrize("name", [None, *STEPS_FUNCTION_BY_PART])
def test_steps_draw_the_trace_s_numbers(traces: dict[str, Trace], name: str | None) -> None:
    """A sample: the first step of each part, one in the middle and the last."""
    made = traces["encoder" if name == "positions" else "cross"]
    spec = trace_explorer(made, name).to_dict()
    steps = steps_of_part(made, name)
    for step in (steps[0], steps[len(steps) // 2], steps[-1]):
        moved = with_controls(spec, step=step.name)
        same(cells(moved, TABLE, SHARES if step.shares else SIGNED), step.values)
        assert not cells(moved, TABLE, SIGNED if step.shares else SHARES)
        assert f"{step.name}: {step.about}" in titles(moved)


def test_the_first_numbers_of_a_long_row_are_written_out_and_it_is_said(
    traces: dict[str, Trace],
) -> None:
    made = traces["cross"]
    spec = trace_explorer(made, "layer", "feed-forward: inner units", place=1).to_dict()
    (inner,) = [step for step in steps_of_part(made, "layer") if step.name.endswith("inner units")]
    numbers = [text for text, *_ in texts(part(spec, CHOSEN_ROW, NUMBERS), "role-mark")]
    expected = inner.values[1][:MAX_NUMBERS_WRITTEN_OUT].tolist()
    assert [float(text.replace("−", "-")) for text in numbers] == pytest.approx(
        expected, abs=0.0051
    )
    assert any(
        f"first {MAX_NUMBERS_WRITTEN_OUT} of {inner.values.shape[1]} numbers" in text
        for text in titles(spec)
    )
    few = with_controls(spec, step="probabilities")
    assert not any("first" in text for text in titles(few))


def test_hidden_places_are_struck_out(traces: dict[str, Trace]) -> None:
    spec = trace_explorer(traces["decoder"], "attention", "mask").to_dict()
    marks = [text for text, *_ in texts(part(spec, TABLE, LABEL), "role-mark")]
    assert marks.count("−∞") == int((~traces["decoder"].attention.mask).sum()) == 15
    assert "mask: 15 of 36 places hidden" in titles(spec)


def test_the_written_type_leads_and_the_total_is_the_sum(traces: dict[str, Trace]) -> None:
    made = traces["cross"]
    steps: list[TraceStep] = steps_of_part(made, "choice")
    for row, (words, written) in enumerate(zip(steps[1].words, made.written, strict=True)):
        assert words[0] == written
        best = made.probabilities[row].topk(NUM_RANKED_TYPES).indices.tolist()
        assert set(words[:-1]) == {made.types[number] for number in best}
    chosen = made.probabilities.gather(-1, made.written_ids[:, None]).log()
    torch.testing.assert_close(steps[-1].values[-1, 0], chosen.sum(), rtol=0, atol=1e-5)


def test_what_is_not_there_is_refused(shipped: Translator, traces: dict[str, Trace]) -> None:
    made = traces["cross"]
    for given, message in (
        (("atention",), "unknown part 'atention': did you mean 'attention'"),
        (("attention", "wieghts"), "unknown step 'wieghts': did you mean 'weights'"),
        (("attention", None, 7), "place is 7"),
        (("positions",), "trace a head of self-attention"),
    ):
        with pytest.raises(UserError, match=message):
            trace_explorer(made, *given)
    with pytest.raises(UserError, match="101 pieces, and a table has room for 24: give a shorter"):
        trace_explorer(trace_translation(shipped, "The cat is sleeping. " * 20), "layer")
