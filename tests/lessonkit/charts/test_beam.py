"""The beam explorer: what it draws at each step is what the search looked at."""

import copy

import pytest
import torch

from lessonkit.analysis.beam_tree import BeamTree, grow_beam_tree
from lessonkit.charts import beam, beam_explorer
from tests.helpers.scripted import Scripted
from tests.helpers.vega import Spec, texts, title, values, with_controls
from transformer.config import EOS_ID
from transformer.support.errors import UserError

PIECES = {2: "<bos>", EOS_ID: "<eos>", 4: "a", 5: "b"}
EDGES, TOKEN_RIMS, TOTAL_RIMS, TOKENS, TOTALS, POINTS = range(6)


@pytest.fixture(scope="module")
def tree() -> BeamTree:
    return grow_beam_tree(Scripted(), torch.tensor([[4, EOS_ID]]), beam_size=2, alpha=0.0)


@pytest.fixture(scope="module")
def spec(tree: BeamTree) -> Spec:
    return beam_explorer(tree, PIECES.__getitem__).to_dict()


def test_each_step_adds_its_candidates_and_the_last_marks_the_best(
    spec: Spec, tree: BeamTree
) -> None:
    color = spec["layer"][EDGES]["encoding"]["color"]["value"]["expr"]
    for step in range(1, len(tree.steps) + 1):
        moved = with_controls(spec, step=step)
        shown = values(moved, (TOKENS,), "datum.text", "datum.fate", "datum.total", color)
        wanted = [["<bos>", "kept", "0"]] + [
            [" ".join(PIECES[number] for number in c.ids), c.fate, f"{round(c.total, 3):g}"]
            for candidates in tree.steps[:step]
            for c in candidates
        ]
        assert sorted(row[:3] for row in shown) == sorted(wanted)
        assert title(moved) == f"Beam search, step {step} of 3"
        marked = sorted(text for text, *_, colour in shown if colour == "#D55E00")
        assert marked == (["<bos>", "b", "b <eos>"] if step == 3 else [])


def test_a_line_leads_to_the_prefix_that_a_candidate_continues(spec: Spec) -> None:
    shown = values(spec, (TOKENS,), "datum.text", "datum.parent_step", "datum.parent_rank")
    parents = {text: parent for text, *parent in shown}
    assert (parents["a"], parents["b <eos>"]) == (["0", "2.5"], ["1", "2"])
    assert parents["a b <eos>"] == ["2", "3"]


def test_candidates_stand_in_columns_the_best_on_top(spec: Spec) -> None:
    spec = copy.deepcopy(spec)
    spec["layer"] = [spec["layer"][EDGES], spec["layer"][TOTALS]]
    columns: dict[float, list[tuple[float, float]]] = {}
    for text, x, y in texts(spec, "role-mark"):
        columns.setdefault(x, []).append((y, float(text.replace("−", "-"))))
    assert [len(columns[x]) for x in sorted(columns)] == [1, 2, 4, 4]
    for column in columns.values():
        totals = [total for _, total in sorted(column)]
        assert totals == sorted(totals, reverse=True)


def test_it_says_what_was_found_and_refuses_too_large_a_tree(
    spec: Spec, tree: BeamTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "3 steps: 10 candidates, 2 of them finished" in spec["description"]
    assert "The best translation: b <eos>, total -1.022 nats." in spec["description"]
    monkeypatch.setattr(beam, "MAX_NODES", 7)
    with pytest.raises(UserError, match="a tree of 11 candidates is too large to draw, 7 can be"):
        beam_explorer(tree, PIECES.__getitem__)
