"""The trace explorer draws the trace's numbers, and says where in the architecture they are."""

import math
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from lessonkit.analysis.heads import Head
from lessonkit.analysis.tracing import Trace, trace
from lessonkit.charts.here import PLACES, Box, you_are_here
from lessonkit.charts.renderer import describe
from lessonkit.charts.trace import WRITTEN_OUT, trace_explorer
from lessonkit.charts.trace_steps import PARTS, RANKS, SMOOTHING, Step, steps_of
from tests.helpers.vega import Spec, descriptions, part, texts, with_controls
from transformer.config import PAD_ID
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.training.loss import label_smoothing_loss

TABLE, ROW = 0, 1
SIGNED, SHARES, EMPTY, LABEL = range(4)  # layers of the table


@pytest.fixture(scope="module")
def traces(shipped: Translator) -> dict[str, Trace]:
    heads = (Head("cross", 2, 2), Head("encoder", 1, 1), Head("decoder", 1, 3))
    return {head.stack: trace(shipped, head=head) for head in heads}


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


@pytest.mark.slow
@pytest.mark.parametrize("name", [None, *PARTS])
def test_steps_draw_the_trace_s_numbers(traces: dict[str, Trace], name: str | None) -> None:
    """A sample: the first step of each part, one in the middle and the last."""
    made = traces["encoder" if name == "positions" else "cross"]
    spec = trace_explorer(made, name).to_dict()
    steps = steps_of(made, name)
    for step in (steps[0], steps[len(steps) // 2], steps[-1]):
        moved = with_controls(spec, step=step.name)
        same(cells(moved, TABLE, SHARES if step.shares else SIGNED), step.values)
        assert not cells(moved, TABLE, SIGNED if step.shares else SHARES)
        assert f"{step.name}: {step.about}" in titles(moved)


@pytest.mark.parametrize(("name", "place"), [("queries", 0), ("weights", 3)])
def test_the_chosen_place_is_written_out(traces: dict[str, Trace], name: str, place: int) -> None:
    spec = trace_explorer(traces["cross"], "attention", name, place).to_dict()
    chosen = next(each for each in steps_of(traces["cross"], "attention") if each.name == name)
    found = cells(spec, ROW, SHARES if chosen.shares else SIGNED)
    assert {row for row, _ in found} == {place}
    row = chosen.values[place : place + 1, :WRITTEN_OUT]
    same({(0, k): value for (_, k), value in found.items()}, row)
    heading, *_ = titles(part(spec, ROW))
    assert heading.startswith(f"row {chosen.rows[place]} (colours: ")


def test_hidden_places_are_struck_out(traces: dict[str, Trace]) -> None:
    spec = trace_explorer(traces["decoder"], "attention", "mask").to_dict()
    marks = [text for text, *_ in texts(part(spec, TABLE, LABEL), "role-mark")]
    assert marks.count("−∞") == int((~traces["decoder"].attention.mask).sum()) == 15
    assert "mask: 15 of 36 places hidden" in titles(spec)


def test_words_and_ids_stand_in_their_cells(traces: dict[str, Trace]) -> None:
    source = traces["cross"].source
    spec = trace_explorer(traces["cross"], "text").to_dict()
    for step, words in (
        ("pieces", source.tokens[:-1]),
        ("ids", [str(number) for number in source.ids.tolist()]),
    ):
        label = part(with_controls(spec, step=step), TABLE, LABEL)
        marks = [mark for mark in texts(label, "role-mark") if mark[0]]
        top = min(y for *_, y in marks)
        first = sorted((mark for mark in marks if mark[2] == top), key=lambda mark: mark[1])
        assert [text for text, *_ in first] == words
    assert len(spec["vconcat"]) == 1  # words are not written out again


def test_the_costs_add_up_to_the_loss(traces: dict[str, Trace]) -> None:
    made = traces["cross"]
    steps = {step.name: step for step in steps_of(made, "loss")}
    sums = label_smoothing_loss(
        made.logits[None], made.written_ids[None], smoothing=SMOOTHING, pad_id=PAD_ID
    )
    torch.testing.assert_close(steps["cost"].values.sum(), sums.loss)
    for name in ("target", "probabilities"):
        torch.testing.assert_close(steps[name].values.sum(-1), torch.ones(6).double())
    mean, plain = (float(total) / 6 for total in (sums.loss, sums.nll))
    assert f"mean {mean:.2f} nats a token, {plain:.2f} without" in steps["cost"].about


def test_the_written_type_leads_and_the_total_is_the_sum(traces: dict[str, Trace]) -> None:
    made = traces["cross"]
    steps: list[Step] = steps_of(made, "choice")
    for row, (words, written) in enumerate(zip(steps[1].words, made.written, strict=True)):
        assert words[0] == written
        best = made.probabilities[row].topk(RANKS).indices.tolist()
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
        trace_explorer(trace(shipped, "The cat is sleeping. " * 20), "layer")
    with pytest.raises(UserError, match="did you mean 'attention'"):
        you_are_here("atention")


SCALE = 2  # pixels for each point of the sheet


def drawn(part: str) -> np.ndarray:
    """The sheet alone in grey, 0 to 255, its lower left first, so many pixels a point."""
    figure, stored = you_are_here(part), BytesIO()
    figure.axes[0].set_title("", loc="left")
    figure.savefig(stored, format="png", dpi=72 * SCALE)
    return np.asarray(Image.open(stored).convert("L"))[::-1].copy()


def inside(pixels: np.ndarray, box: Box, room: float = 0) -> np.ndarray:
    x, y, width, height = box
    left, low = x - width / 2 - room, max(0, y - height / 2 - room)
    rows = slice(round(SCALE * low), round(SCALE * (y + height / 2 + room)))
    return pixels[rows, round(SCALE * left) : round(SCALE * (x + width / 2 + room))]


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_where_one_is_in_the_architecture_is_bright_and_the_rest_pale(part: str) -> None:
    assert set(PLACES) == set(PARTS)
    pixels = drawn(part)
    words, boxes = PLACES[part]
    for box in boxes:
        assert inside(pixels, box).min() < 100  # something is drawn there
    for box in boxes:
        inside(pixels, box, room=8)[:] = 255
    assert 150 < pixels.min() < 220  # all the rest is there, but pale
    assert describe(you_are_here(part)) == f"Picture: You are here: {words}."
