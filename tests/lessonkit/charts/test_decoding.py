"""The beam explorer shows what the search looked at; sampling keeps what top-p keeps."""

import math

import pytest
import torch

from lessonkit.analysis.beam_tree import BeamTree, grow_beam_tree
from lessonkit.charts import beam_explorer, decoding, sampling_explorer
from tests.helpers.scripted import Scripted
from tests.helpers.vega import Spec, points, texts, title, values, with_controls
from transformer.config import EOS_ID
from transformer.support.errors import UserError

PIECES = {2: "<bos>", EOS_ID: "<eos>", 4: "a", 5: "b"}
EDGES, _, _, TEXTS, _, _ = range(6)  # layers


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
        shown = values(moved, (TEXTS,), "datum.text", "datum.status", "datum.total", color)
        wanted = [["<bos>", "kept", "0"]] + [
            [" ".join(PIECES[number] for number in c.ids), c.status, f"{round(c.total, 3):g}"]
            for candidates in tree.steps[:step]
            for c in candidates
        ]
        assert sorted(row[:3] for row in shown) == sorted(wanted)
        assert title(moved) == f"Beam search, step {step} of 3"
        marked = sorted(text for text, *_, colour in shown if colour == "#D55E00")
        assert marked == (["<bos>", "b", "b <eos>"] if step == 3 else [])


def test_it_says_what_was_found_and_refuses_too_large_a_tree(
    spec: Spec, tree: BeamTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "3 steps: 10 candidates, 2 of them finished" in spec["description"]
    assert "The best translation: b <eos>, total -1.022 nats." in spec["description"]
    for limit, most in (("MAX_TREE_NODES", 7), ("MAX_TREE_STEPS", 2)):
        with monkeypatch.context() as patch:
            patch.setattr(decoding, limit, most)
            with pytest.raises(UserError, match="a tree of 11 candidates in 3 steps is too large"):
                beam_explorer(tree, PIECES.__getitem__)


LOGITS = torch.tensor([0.0, 2.0, 1.0, -1.0, 0.5])
LOG_PROBS = [round(each, 2) for each in LOGITS.log_softmax(dim=-1).tolist()]
TOKENS = ["second", "third", "fifth", "first", "fourth"]  # by probability


def bars(moved: Spec, value: str) -> dict[float, float]:
    """A number of each bar by its rank, of the chart without its other layers."""
    return dict(points({**moved, "layer": moved["layer"][:1]}, 0, "rank", value))


def kept(temperature: float, top_p: float) -> list[float]:
    """The shares of the fewest tokens that reach top_p, the best first, counted by hand."""
    powers = sorted((math.exp(each / temperature) for each in LOG_PROBS), reverse=True)
    few: list[float] = []
    while sum(few) < top_p * sum(powers):
        few.append(powers[len(few)])
    return [power / sum(few) for power in few]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("temperature", "top_p"), [(0.1, 0.9), (0.7, 0.6), (2.0, 0.9), (1.0, 0.05)]
)
def test_what_can_be_drawn_is_what_sampling_draws(temperature: float, top_p: float) -> None:
    spec = sampling_explorer(LOG_PROBS, TOKENS).to_dict()
    moved = with_controls(spec, temperature=temperature, top_p=top_p)
    drawn, green = bars(moved, "length"), bars(moved, "kept_p")
    shares = [drawn[rank] for rank in sorted(drawn) if green[rank]]
    assert shares == pytest.approx(kept(temperature, top_p), abs=1e-9)
    cut, whole = [rank for rank in sorted(drawn) if not green[rank]], bars(moved, "p")
    assert [drawn[rank] for rank in cut] == [whole[rank] for rank in cut]  # these keep their length
    said = [text for text, *_ in texts(moved, "role-mark") if "types" in text]
    assert said == [f"{len(shares)} of 5 types can be drawn"]
    assert title(moved) == f"Temperature {temperature:.1f}, top_p {top_p:.2f}"
