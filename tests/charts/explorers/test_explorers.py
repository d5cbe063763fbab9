"""The explorers: what the browser computes and draws is what the package computes.

Vega runs in these tests as it does in the browser: a mark is exchanged for its numbers as
text, the controls are set, the chart is drawn, and the numbers are read out of the drawing.
"""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import vl_convert

from tests.helpers.vega import (
    NUM_HEADS,
    NUM_LAYERS,
    SAID,
    SRC,
    TGT_IN,
    Spec,
    drawn_cells,
    points,
    rounded,
    softmaxed,
    some_attention,
    texts,
    title,
    with_controls,
)
from transformer.attention import AttentionMaps
from transformer.charts.cells import pack
from transformer.charts.explorers.attention import attention_explorer
from transformer.charts.explorers.batches import batch_explorer
from transformer.charts.explorers.masks import mask_explorer
from transformer.charts.explorers.schedule import SYSTEMS, schedule_explorer
from transformer.charts.explorers.significance import chance_explorer
from transformer.charts.explorers.smoothing import label_smoothing_explorer
from transformer.charts.explorers.targets import FORMS, smoothed_targets_explorer
from transformer.charts.renderer import PICTURE_VERSION
from transformer.masks import causal_mask, decoder_mask
from transformer.support.errors import UserError
from transformer.trained.translator import Attention, Translator
from transformer.training.loss import label_smoothing_loss, smoothed_targets
from transformer.training.schedule import learning_rate

TYPES = ["<pad>", "le", "chat", "dort", "ici"]

CHARTS: dict[str, Callable[[], Any]] = {
    "schedule": schedule_explorer,
    "chance": chance_explorer,
    "smoothing": label_smoothing_explorer,
    "targets": lambda: smoothed_targets_explorer(TYPES, "chat"),
    "masks": lambda: mask_explorer(SRC, TGT_IN),
    "attention": lambda: attention_explorer(some_attention()),
    "batches": lambda: batch_explorer({"random": [[7, 2, 5]], "sorted": [[2, 3]]}),
}


# --- every explorer


@pytest.mark.parametrize("build", CHARTS.values(), ids=CHARTS)
def test_built_twice_is_the_same(build: Callable[[], Any]) -> None:
    first = json.dumps(build().to_dict())
    schedule_explorer().to_dict()  # another chart in between moves Altair's own counters
    assert json.dumps(build().to_dict()) == first
    assert not re.search(r'"(view|param)_\w+"', first)  # no name that Altair made up


@pytest.mark.parametrize("build", CHARTS.values(), ids=CHARTS)
def test_says_what_it_shows(build: Callable[[], Any]) -> None:
    spec = build().to_dict()
    assert spec["name"]
    assert spec["description"].endswith((".", "<eos>"))
    assert "expr" in spec["title"]["text"]  # the title follows the controls
    assert title(spec)
    for layer in spec.get("layer", [spec]):
        assert layer["mark"]["aria"] is False
    controls = [param for param in spec["params"] if "bind" in param]
    assert all(param["bind"]["name"].strip() == param["name"] for param in controls)


@pytest.mark.parametrize("build", CHARTS.values(), ids=CHARTS)
def test_axes_have_titles(build: Callable[[], Any]) -> None:
    svg = vl_convert.vegalite_to_svg(build().to_dict(), vl_version=PICTURE_VERSION)
    assert len(re.findall(r'class="mark-text role-axis-title"', svg)) == 2
    assert "undefined" not in svg
    assert "NaN" not in svg


# --- the schedule


@pytest.mark.parametrize(
    ("d_model", "warmup_steps", "factor"),
    [(512, 4000, 1.0), (64, 500, 2.0), (1024, 16_000, 0.25), (192, 6500, 1.75)],
)
def test_schedule_is_the_package_s(d_model: int, warmup_steps: int, factor: float) -> None:
    spec = with_controls(
        schedule_explorer().to_dict(), d_model=d_model, warmup_steps=warmup_steps, factor=factor
    )
    curve = points(spec, 0, "step", "rate")
    assert [step for step, _ in curve][:3] == [1, 100, 200]
    assert curve[-1][0] == 40_000
    for step, rate in curve:
        expected = learning_rate(int(step), d_model, warmup_steps, factor)
        assert rate == pytest.approx(expected, rel=1e-12)
    highest = max(rate for _, rate in curve)
    at = [step for step, rate in curve if rate == highest]
    assert at == [warmup_steps]
    peak = f"{highest:.2e}".replace("e-0", "e-")  # as the browser writes it
    assert title(spec) == f"Learning rate: highest, {peak}, at step {warmup_steps:,}"


def test_schedule_shows_earlier_systems_that_stay() -> None:
    assert SYSTEMS == ((512, 4000, 1), (512, 8000, 1), (256, 4000, 1), (512, 4000, 2))
    spec = schedule_explorer().to_dict()
    curves = points(spec, 1, "step", "rate")
    expected = [
        (step, learning_rate(step, d_model, warmup_steps, factor))
        for d_model, warmup_steps, factor in SYSTEMS
        for step in [1, *range(100, 40_001, 100)]
    ]
    assert len(curves) == len(expected)
    for (step, rate), (step_wanted, rate_wanted) in zip(curves, expected, strict=True):
        assert step == step_wanted
        assert rate == pytest.approx(rate_wanted, rel=1e-12)
    moved = with_controls(spec, d_model=128, warmup_steps=1000, factor=2)
    assert points(moved, 1, "step", "rate") == curves
    names = [text for text, *_ in texts(spec, "role-legend-label")]
    assert names[0] == "d_model 512, warm-up 4,000"
    assert names[3] == "d_model 512, warm-up 4,000, factor 2"
    assert all(name in spec["description"] for name in names)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"d_model": 32}, "d_model is 32: the slider goes from 64 to 1024"),
        ({"warmup_steps": 20_000}, "warmup_steps is 20000"),
        ({"factor": 0}, "factor is 0"),
    ],
)
def test_schedule_refuses_what_the_sliders_do_not_reach(
    wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        schedule_explorer(**wrong)


# --- masks


def test_masks_are_the_package_s() -> None:
    spec = mask_explorer(SRC, TGT_IN).to_dict()
    real = torch.tensor([[True, True, True, True, False]])
    tgt_ids = torch.tensor([[2, 7, 0]])
    expected = {
        "padding": (SRC, SRC, real.expand(5, 5)),
        "causal": (TGT_IN, TGT_IN, causal_mask(3)[0, 0]),
        "combined": (TGT_IN, TGT_IN, decoder_mask(tgt_ids)[0, 0]),
        "cross": (TGT_IN, SRC, real.expand(3, 5)),
    }
    for name, (queries, keys, mask) in expected.items():
        down, across, cells = drawn_cells(with_controls(spec, mask=name))
        assert (down, across) == (queries, keys)
        assert cells == mask.double().tolist(), name


def test_masks_hand_worked() -> None:
    spec = with_controls(mask_explorer(["a"], ["<bos>", "b", "<pad>"]).to_dict(), mask="combined")
    _, _, cells = drawn_cells(spec)
    assert cells == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert "coloured where it may" in spec["description"]
    assert "Combined: 5 of 9 may." in spec["description"]
    assert title(spec) == "Both: the decoder's self-attention"


@pytest.mark.parametrize(
    ("src", "tgt", "message"),
    [
        ([], ["<bos>"], r"src_tokens is \[\]"),
        (["a"], "<bos>", "tgt_tokens is '<bos>': give a list"),
        (["a"] * 300, ["<bos>"] * 300, "a chart holds 150,000: give a shorter sentence"),
    ],
)
def test_masks_refuse(src: Any, tgt: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        mask_explorer(src, tgt)


# --- attention


def test_attention_puts_queries_down_and_keys_across() -> None:
    cross = torch.tensor([[0.9, 0.1, 0.0, 0.0], [0.0, 0.0, 0.2, 0.8], [0.25, 0.25, 0.25, 0.25]])
    attention = some_attention()
    attention.maps.cross[0, 0, 1] = cross
    spec = with_controls(attention_explorer(attention).to_dict(), stack="cross", layer=1, head=2)
    down, across, cells = drawn_cells(spec)
    assert down == ["▁le", "▁chat", "<eos>"]
    assert across == ["▁the", "▁cat", "▁the", "<eos>"]
    assert cells == rounded(cross)
    assert title(spec) == "Cross-attention, layer 1, head 2"


def test_attention_shows_every_head_of_every_stack() -> None:
    attention = some_attention()
    spec = attention_explorer(attention).to_dict()
    labels = {
        "encoder": (SRC[:-1], SRC[:-1]),
        "decoder": (SAID, ["<bos>", "▁le", "▁chat"]),  # it has read what it said before
        "cross": (SAID, SRC[:-1]),
    }
    for name, weights in attention.maps._asdict().items():
        for layer in range(NUM_LAYERS):
            for head in range(NUM_HEADS):
                moved = with_controls(spec, stack=name, layer=layer + 1, head=head + 1)
                down, across, cells = drawn_cells(moved)
                assert (down, across) == labels[name]
                assert torch.allclose(
                    torch.tensor(cells), weights[layer, 0, head], atol=0.0051, rtol=0
                )


def test_attention_of_a_base_model_is_small() -> None:
    tokens = [f"▁word{i}" for i in range(30)]
    maps = AttentionMaps(*(softmaxed(6, 1, 8, 30, 30, seed=seed) for seed in range(3)))
    spec = attention_explorer(Attention("words", tokens, tokens, maps)).to_dict()
    assert len(json.dumps(spec).encode()) < 300_000
    assert len(spec["data"]["values"]) == 3 * 6 * 8


def test_attention_of_a_trained_model(tiny_folder: Path) -> None:
    attention = Translator.load(tiny_folder).attention("The dog sleeps.", beam_size=1)
    down, across, cells = drawn_cells(attention_explorer(attention).to_dict())
    assert (down, across) == (attention.tgt_tokens, attention.src_tokens)
    drawn, weights = torch.tensor(cells), attention.maps.cross[-1, 0, 0]
    assert torch.allclose(drawn, weights, atol=0.0051, rtol=0)


def test_attention_colors_are_fixed_from_0_to_1() -> None:
    color = attention_explorer(some_attention()).to_dict()["encoding"]["color"]
    assert color["scale"] == {"scheme": "viridis", "domain": [0, 1]}


def test_attention_refuses_tokens_that_do_not_fit() -> None:
    attention = some_attention()
    with pytest.raises(UserError, match="do not fit 2 queries and 2 keys"):
        attention_explorer(attention._replace(tgt_tokens=SAID[:2]))
    swapped = attention.maps._replace(cross=attention.maps.cross.transpose(-1, -2))
    with pytest.raises(UserError, match=r"cross weights of shape \(2, 1, 3, 4, 3\) do not fit 3"):
        attention_explorer(attention._replace(maps=swapped))


def test_attention_refuses_a_model_that_has_none() -> None:
    maps = AttentionMaps(*(weights[:0] for weights in some_attention().maps))
    with pytest.raises(UserError, match="this model has no attention to draw: give a Transformer"):
        attention_explorer(some_attention()._replace(maps=maps))


def test_attention_refuses_what_would_not_be_stored() -> None:
    tokens = ["▁word"] * 60
    maps = AttentionMaps(*(torch.full((6, 1, 8, 60, 60), 1 / 60) for _ in range(3)))
    with pytest.raises(UserError, match=r"518,400 cells, and a chart holds 150,000"):
        attention_explorer(Attention("words", tokens, tokens, maps))


def test_cells_are_packed_row_by_row() -> None:
    assert pack(torch.tensor([[0.0, 1.0, 0.126], [0.5, 0.004, 0.25]])) == "0,100,13,50,0,25"


# --- label smoothing


@pytest.mark.parametrize("vocab_size", [10, 1000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_smoothing_is_the_package_s(vocab_size: int, smoothing: float) -> None:
    spec = with_controls(
        label_smoothing_explorer().to_dict(), vocab_size=vocab_size, smoothing=smoothing
    )
    curve = points(spec, 1, "p", "loss")
    assert len(curve) == 199
    for p, loss in curve:
        assert 0 < p < 1
        assert loss == pytest.approx(_loss(p, vocab_size, smoothing), rel=1e-9)
    (lowest,) = points(spec, 2, "p", "loss")
    assert math.isfinite(lowest[1])
    assert all(loss >= lowest[1] - 1e-12 for _, loss in curve)
    best = 1 - smoothing + smoothing / vocab_size
    assert title(spec) == f"Loss is lowest at confidence {best:.3f}"


def _loss(p: float, vocab_size: int, smoothing: float) -> float:
    """The package's loss of a model that gives p to the truth and the rest to the others."""
    others = math.log((1 - p) / (vocab_size - 1))
    log_probs = torch.full((1, 1, vocab_size), others, dtype=torch.float64)
    log_probs[..., 5] = math.log(p)
    sums = label_smoothing_loss(log_probs, torch.tensor([[5]]), smoothing=smoothing, pad_id=0)
    return float(sums.loss)


def test_smoothing_keeps_the_plain_loss_beside_it() -> None:
    spec = with_controls(label_smoothing_explorer().to_dict(), smoothing=0.3)
    for p, loss in points(spec, 0, "p", "loss"):
        assert loss == pytest.approx(-math.log(p), abs=1e-12)


def test_smoothing_refuses() -> None:
    with pytest.raises(UserError, match="vocab_size is 11: give one of"):
        label_smoothing_explorer(vocab_size=11)
    with pytest.raises(UserError, match=r"smoothing is 0\.5: the slider goes from 0 to 0\.3"):
        label_smoothing_explorer(smoothing=0.5)


# --- the targets of label smoothing


def bar_heights(spec: Spec) -> list[float]:
    """What the browser computes for each bar, in the order of the ids."""
    bars, _ = spec["layer"]
    heights = points(spec | {"layer": [bars]}, 0, "id", "wanted")
    assert [place for place, _ in heights] == list(range(len(TYPES)))
    return [height for _, height in heights]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("true", ["chat", "<pad>", "ici"])
def test_targets_are_the_package_s(true: str, smoothing: float, form: str) -> None:
    spec = with_controls(
        smoothed_targets_explorer(TYPES, "le").to_dict(),
        true_type=true,
        smoothing=smoothing,
        form=form,
    )
    bars = bar_heights(spec)
    expected = smoothed_targets(
        torch.tensor([TYPES.index(true)]),
        len(TYPES),
        smoothing=smoothing,
        pad_id=0,
        over_all=form == FORMS[0],
    )[0]
    torch.testing.assert_close(torch.tensor(bars), expected)
    written = [text for text, *_ in texts(spec, "role-mark")]
    assert written == [f"{share:.3f}" for share in expected.tolist()]
    kept = float(expected.max())
    words = f"{kept:.3f} for it, {1 - kept:.3f} for all others together"
    assert title(spec) == f"Target {true}: {'nothing is asked for' if true == '<pad>' else words}"


def test_targets_hand_worked() -> None:
    spec = smoothed_targets_explorer(TYPES, "chat", smoothing=0.3).to_dict()
    over_others = with_controls(spec, form=FORMS[1])
    assert bar_heights(over_others) == pytest.approx([0, 0.1, 0.7, 0.1, 0.1])
    assert bar_heights(spec) == pytest.approx([0.06, 0.06, 0.76, 0.06, 0.06])
    labels = [text for text, *_ in texts(spec, "role-axis-label")]
    assert labels[: len(TYPES)] == TYPES  # in the order of their ids


@pytest.mark.parametrize(
    ("types", "true", "smoothing", "message"),
    [
        (["<pad>", "le"], "le", 0.1, "2 types are too few: give 3 or more"),
        (TYPES, "chien", 0.1, "true_type is 'chien': give one of"),
        (["le", "<pad>", "la"], "le", 0.1, "the first type is 'le': put '<pad>' there"),
        (["<pad>", "le", "le"], "le", 0.1, "a type is named twice"),
        (TYPES, "le", 0.4, r"smoothing is 0\.4: the slider goes from 0 to 0\.3"),
    ],
)
def test_targets_refuse(types: list[str], true: str, smoothing: float, message: str) -> None:
    with pytest.raises(UserError, match=message):
        smoothed_targets_explorer(types, true, smoothing)
