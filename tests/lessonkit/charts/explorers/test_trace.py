"""The trace explorer: what the browser draws of each step are the trace's numbers."""

import json
import math
from typing import Any

import pytest
import torch
import vl_convert
from torch import Tensor

from lessonkit.analysis.heads import Head
from lessonkit.analysis.tracing import Trace, rotate, trace
from lessonkit.charts.explorers.trace import WRITTEN_OUT, trace_explorer
from lessonkit.charts.explorers.trace_steps import PARTS, RANKS, SMOOTHING, Step, steps_of
from lessonkit.charts.renderer import PICTURE_VERSION, bundle
from tests.helpers.vega import describe, descriptions, texts, with_controls
from transformer.config import PAD_ID
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.training.loss import label_smoothing_loss

Spec = dict[str, Any]
TABLE, ROW = 0, 1
SIGNED, SHARES, EMPTY, LABEL = range(4)  # layers of the table
MOST = 150_000  # bytes of a stored chart


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo-en-fr")


@pytest.fixture(scope="module")
def traces(translator: Translator) -> dict[str, Trace]:
    heads = (Head("cross", 2, 2), Head("encoder", 1, 1), Head("decoder", 1, 3))
    return {head.stack: trace(translator, head=head) for head in heads}


def of_part(traces: dict[str, Trace], part: str | None) -> Trace:
    return traces["encoder" if part == "positions" else "cross"]


def picture(spec: Spec, index: int, *layers: int) -> Spec:
    """One of the pictures as a chart of its own, with some of its layers."""
    shared = {key: spec[key] for key in ("data", "params", "$schema", "config")}
    made: Spec = json.loads(json.dumps(spec["vconcat"][index] | shared))
    made["layer"] = [made["layer"][layer] for layer in layers or range(len(made["layer"]))]
    return made


def cells(spec: Spec, index: int, layer: int) -> dict[tuple[int, int], float]:
    """The numbers that a layer of colours draws, by row and column."""
    chart = picture(spec, index, layer)
    describe(chart["layer"][0], "datum.q + ' ' + datum.k + ' ' + datum.value")
    marks = [mark.split() for mark in descriptions(chart)]
    return {(int(q), int(k)): float(value) for q, k, value in marks}


def titles(spec: Spec) -> list[str]:
    return [text for text, *_ in texts(spec, "role-title-text")]


def as_matrix(found: dict[tuple[int, int], float], like: Tensor) -> Tensor:
    matrix = torch.full(like.shape, math.nan, dtype=torch.float64)
    for place, value in found.items():
        matrix[place] = value
    return matrix


@pytest.mark.slow
@pytest.mark.parametrize("part", [None, *PARTS])
def test_every_step_draws_the_trace_s_numbers(traces: dict[str, Trace], part: str | None) -> None:
    made = of_part(traces, part)
    spec = trace_explorer(made, part).to_dict()
    for step in steps_of(made, part):
        moved = with_controls(spec, step=step.name)
        drawn = cells(moved, TABLE, SHARES if step.shares else SIGNED)
        expected = step.values.detach().double()
        torch.testing.assert_close(
            as_matrix(drawn, expected), expected, rtol=0, atol=0.0051, equal_nan=True
        )
        assert not cells(moved, TABLE, SIGNED if step.shares else SHARES)
        assert f"{step.name}: {step.about}" in titles(moved)


@pytest.mark.parametrize(("step", "place"), [("queries", 0), ("weights", 3), ("output", 5)])
def test_the_chosen_place_is_written_out(traces: dict[str, Trace], step: str, place: int) -> None:
    spec = with_controls(trace_explorer(traces["cross"], "attention").to_dict(), step=step)
    chosen = next(each for each in steps_of(traces["cross"], "attention") if each.name == step)
    found = cells(with_controls(spec, place=place), ROW, SHARES if chosen.shares else SIGNED)
    assert {row for row, _ in found} == {place}
    row = chosen.values[place][:WRITTEN_OUT].double()
    torch.testing.assert_close(
        as_matrix({(0, k): value for (_, k), value in found.items()}, row[None])[0],
        row,
        rtol=0,
        atol=0.0051,
    )
    heading, *_ = titles(picture(with_controls(spec, place=place), ROW))
    assert heading.startswith(f"row {chosen.rows[place]} (colours: ")


def test_a_place_past_the_last_row_is_the_last(traces: dict[str, Trace]) -> None:
    spec = trace_explorer(traces["cross"], "attention", "queries", place=6).to_dict()
    assert {row for row, _ in cells(spec, ROW, SIGNED)} == {5}


def test_hidden_places_are_struck_out(traces: dict[str, Trace]) -> None:
    spec = trace_explorer(traces["decoder"], "attention", "mask").to_dict()
    at = traces["decoder"].attention
    struck = picture(spec, TABLE, LABEL)
    marks = [text for text, *_ in texts(struck, "role-mark")]
    assert marks.count("−∞") == int((~at.mask).sum()) == 15
    assert "mask: 15 of 36 places hidden" in titles(spec)


def test_words_and_ids_stand_in_their_cells(traces: dict[str, Trace]) -> None:
    made = traces["cross"]
    spec = trace_explorer(made, "text").to_dict()
    for step, source in (
        ("pieces", made.source.tokens[:-1]),
        ("marks", made.source.tokens),
        ("ids", [str(number) for number in made.source.ids.tolist()]),
    ):
        label = picture(with_controls(spec, step=step), TABLE, LABEL)
        marks = [mark for mark in texts(label, "role-mark") if mark[0]]
        top = min(y for *_, y in marks)
        first = sorted((mark for mark in marks if mark[2] == top), key=lambda mark: mark[1])
        assert [text for text, *_ in first] == source
    assert len(spec["vconcat"]) == 1  # words are not written out again


def test_turned_scores_stay_when_all_move_on(traces: dict[str, Trace]) -> None:
    """What lesson 03 shows of RoPE."""
    steps = {step.name: step.values for step in steps_of(traces["encoder"], "positions")}
    at = traces["encoder"].attention
    torch.testing.assert_close(steps["turned scores"], rotate(at.queries) @ rotate(at.keys).T)
    torch.testing.assert_close(steps["turned scores"], steps["moved"], rtol=0, atol=1e-4)
    assert not torch.allclose(steps["turned scores"], steps["scores"], atol=0.1)


def test_the_costs_add_up_to_the_loss(traces: dict[str, Trace]) -> None:
    made = traces["cross"]
    steps = {step.name: step for step in steps_of(made, "loss")}
    sums = label_smoothing_loss(
        made.logits[None], made.written_ids[None], smoothing=SMOOTHING, pad_id=PAD_ID
    )
    torch.testing.assert_close(steps["cost"].values.sum(), sums.loss)
    torch.testing.assert_close(steps["target"].values.sum(-1), torch.ones(6).double())
    torch.testing.assert_close(steps["probabilities"].values.sum(-1), torch.ones(6).double())
    mean, plain = (float(total) / 6 for total in (sums.loss, sums.nll))
    assert f"mean {mean:.2f} nats a token, {plain:.2f} without" in steps["cost"].about


def test_the_written_type_leads_and_the_likeliest_follow(traces: dict[str, Trace]) -> None:
    made = traces["cross"]
    step: Step = steps_of(made, "choice")[1]
    for row, (words, written) in enumerate(zip(step.words, made.written, strict=True)):
        assert words[0] == written
        best = made.probabilities[row].topk(RANKS).indices.tolist()
        assert set(words[:-1]) == {made.types[number] for number in best}


def test_the_total_is_the_sum_of_the_logs(traces: dict[str, Trace]) -> None:
    made = traces["cross"]
    total = steps_of(made, "choice")[-1].values[-1, 0]
    chosen = made.probabilities.gather(-1, made.written_ids[:, None]).log()
    torch.testing.assert_close(total, chosen.sum(), rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("part", [None, *PARTS])
def test_it_is_small_whole_and_says_what_it_shows(
    traces: dict[str, Trace], part: str | None
) -> None:
    spec = trace_explorer(of_part(traces, part), part).to_dict()
    forms, _ = bundle(spec)
    assert len(json.dumps(forms)) < MOST
    svg = vl_convert.vegalite_to_svg(spec, vl_version=PICTURE_VERSION)
    assert "undefined" not in svg
    assert "NaN" not in svg
    assert spec["name"] == "trace"
    assert "▁black ▁cat" in spec["description"]
    controls = [param for param in spec["params"] if "bind" in param]
    assert [param["name"] for param in controls] == ["step", "place"]
    assert not any(name in json.dumps(spec) for name in ('"param_', '"view_'))
    assert all(layer["mark"]["aria"] is False for p in spec["vconcat"] for layer in p["layer"])
    assert json.dumps(trace_explorer(of_part(traces, part), part).to_dict()) == json.dumps(spec)


@pytest.mark.slow
def test_it_fits_a_laptop_s_screen(traces: dict[str, Trace]) -> None:
    for part in (None, *PARTS):
        _, metadata = bundle(trace_explorer(of_part(traces, part), part).to_dict())
        assert metadata["image/png"]["width"] <= 860
        assert metadata["image/png"]["height"] <= 500


def test_what_is_not_there_is_refused(traces: dict[str, Trace]) -> None:
    with pytest.raises(UserError, match="unknown part 'atention': did you mean 'attention'"):
        trace_explorer(traces["cross"], "atention")
    with pytest.raises(UserError, match="unknown step 'wieghts': did you mean 'weights'"):
        trace_explorer(traces["cross"], "attention", "wieghts")
    with pytest.raises(UserError, match="place is 7"):
        trace_explorer(traces["cross"], "attention", place=7)
    with pytest.raises(UserError, match="trace a head of self-attention"):
        trace_explorer(traces["cross"], "positions")


def test_a_sentence_too_long_for_a_chart_is_refused(translator: Translator) -> None:
    with pytest.raises(UserError, match="101 pieces, and a table has room for 24: give a shorter"):
        trace_explorer(trace(translator, "The cat is sleeping. " * 20), "layer")
