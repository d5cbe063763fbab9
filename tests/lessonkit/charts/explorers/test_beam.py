"""The beam explorer: what it draws at each step is what the search looked at."""

import copy
from typing import Any

import pytest
import torch
from lessonkit.charts.explorers import beam
from lessonkit.charts.explorers.beam import beam_explorer

from lessonkit.analysis.beam_tree import BeamTree, grow_beam_tree
from tests.helpers.scripted import Scripted
from tests.helpers.vega import texts, title, with_controls
from transformer.config import EOS_ID
from transformer.support.errors import UserError

PIECES = {2: "<bos>", EOS_ID: "<eos>", 4: "a", 5: "b"}
EDGES, TOKEN_RIMS, TOTAL_RIMS, TOKENS, TOTALS, POINTS = range(6)


@pytest.fixture(scope="module")
def tree() -> BeamTree:
    src = torch.tensor([[4, EOS_ID]])
    return grow_beam_tree(Scripted(), src, beam_size=2, alpha=0.0)


@pytest.fixture(scope="module")
def spec(tree: BeamTree) -> dict[str, Any]:
    spec: dict[str, Any] = beam_explorer(tree, PIECES.__getitem__).to_dict()
    return spec


def written(spec: dict[str, Any], label: str, **controls: object) -> list[str]:
    """The text of a Vega expression for every candidate that is shown."""
    spec = copy.deepcopy(with_controls(spec, **controls))
    layer = spec["layer"][TOKENS]
    layer["transform"].append({"calculate": label, "as": "label"})
    layer["encoding"]["text"] = {"field": "label", "type": "nominal"}
    spec["layer"] = [spec["layer"][EDGES], layer]
    return [text for text, *_ in texts(spec, "role-mark") if text]


def test_each_step_adds_its_candidates(spec: dict[str, Any], tree: BeamTree) -> None:
    for step in range(1, len(tree.steps) + 1):
        shown = written(spec, "datum.text + '|' + datum.fate + '|' + datum.total", step=step)
        wanted = ["<bos>|kept|0"] + [
            f"{' '.join(PIECES[number] for number in c.ids)}|{c.fate}|{round(c.total, 3):g}"
            for candidates in tree.steps[:step]
            for c in candidates
        ]
        assert sorted(shown) == sorted(wanted)
        assert title(with_controls(spec, step=step)) == f"Beam search, step {step} of 3"


def test_a_line_leads_to_the_prefix_that_a_candidate_continues(spec: dict[str, Any]) -> None:
    shown = written(spec, "datum.text + '|' + datum.parent_step + '|' + datum.parent_rank")
    parents = dict(line.split("|", 1) for line in shown)
    assert parents["a"] == "0|2.5"
    assert parents["b <eos>"] == "1|2"  # b was second
    assert parents["a b <eos>"] == "2|3"


def test_the_best_path_is_marked_at_the_last_step_alone(spec: dict[str, Any]) -> None:
    color = spec["layer"][EDGES]["encoding"]["color"]["value"]["expr"]
    for step, marked in ((2, []), (3, ["<bos>", "b", "b <eos>"])):
        shown = written(spec, f"({color}) == '#D55E00' ? datum.text : ''", step=step)
        assert sorted(shown) == marked


def test_candidates_stand_in_columns_the_best_on_top(spec: dict[str, Any]) -> None:
    spec = copy.deepcopy(spec)
    spec["layer"] = [spec["layer"][EDGES], spec["layer"][TOTALS]]
    places = [(float(text.replace("−", "-")), x, y) for text, x, y in texts(spec, "role-mark")]
    columns: dict[float, list[tuple[float, float]]] = {}
    for total, x, y in places:
        columns.setdefault(x, []).append((y, total))
    assert [len(columns[x]) for x in sorted(columns)] == [1, 2, 4, 4]
    for column in columns.values():
        totals = [total for _, total in sorted(column)]
        assert totals == sorted(totals, reverse=True)


def test_the_description_says_what_was_found(spec: dict[str, Any]) -> None:
    assert "3 steps: 10 candidates, 2 of them finished" in spec["description"]
    assert "The best translation: b <eos>, total -1.022 nats." in spec["description"]


def test_a_tree_too_large_to_read_is_refused(
    tree: BeamTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beam, "MAX_NODES", 7)
    with pytest.raises(UserError, match="a tree of 11 candidates is too large to draw, 7 can be"):
        beam_explorer(tree, PIECES.__getitem__)
