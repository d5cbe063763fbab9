"""The explorers of label smoothing: the loss and the targets are those of the package."""

import math

import pytest
import torch
from lessonkit.charts.explorers.smoothing import (
    FORMS,
    label_smoothing_explorer,
    smoothed_targets_explorer,
)

from tests.helpers.vega import Spec, points, texts, title, with_controls
from transformer.support.errors import UserError
from transformer.training.loss import label_smoothing_loss, smoothed_targets

TYPES = ["<pad>", "le", "chat", "dort", "ici"]


@pytest.mark.slow
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


def bar_heights(spec: Spec) -> list[float]:
    """What the browser computes for each bar, in the order of the ids."""
    bars, _ = spec["layer"]
    heights = points(spec | {"layer": [bars]}, 0, "id", "wanted")
    assert [place for place, _ in heights] == list(range(len(TYPES)))
    return [height for _, height in heights]


@pytest.mark.slow
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


def test_nothing_is_asked_for_at_padding() -> None:
    spec = smoothed_targets_explorer(TYPES, "<pad>").to_dict()
    assert "The target is <pad>: nothing is asked for." in spec["description"]
