"""The learning rate, and label smoothing: the browser's numbers are those of the package."""

import math

import pytest
import torch

from lessonkit.charts import (
    label_smoothing_explorer,
    schedule_explorer,
    smoothed_targets_explorer,
)
from lessonkit.charts.training import FORMS, SYSTEMS
from tests.helpers.vega import Spec, points, texts, title, with_controls
from transformer.training.loss import label_smoothing_loss, smoothed_targets
from transformer.training.schedule import learning_rate

TYPES = ["<pad>", "le", "chat", "dort", "ici"]


@pytest.mark.slow
@pytest.mark.parametrize(("d_model", "warmup_steps", "factor"), [(64, 500, 2.0), (192, 6500, 1.75)])
def test_the_schedule_is_the_package_s(d_model: int, warmup_steps: int, factor: float) -> None:
    spec = with_controls(
        schedule_explorer().to_dict(), d_model=d_model, warmup_steps=warmup_steps, factor=factor
    )
    curve = points(spec, 0, "step", "rate")
    assert [step for step, _ in curve] == [1, *range(100, 40_001, 100)]
    wanted = [learning_rate(int(step), d_model, warmup_steps, factor) for step, _ in curve]
    assert [rate for _, rate in curve] == pytest.approx(wanted, rel=1e-12)
    peak = f"{max(wanted):.2e}".replace("e-0", "e-")  # as the browser writes it
    assert title(spec) == f"Learning rate: highest, {peak}, at step {warmup_steps:,}"
    others = points(spec, 1, "step", "rate")  # they stay
    wanted = [learning_rate(int(step), *each) for each in SYSTEMS for step, _ in curve]
    assert [rate for _, rate in others] == pytest.approx(wanted, rel=1e-12)


def _loss(p: float, vocab_size: int, smoothing: float) -> float:
    """The package's loss of a model that gives p to the truth and the rest to the others."""
    others = math.log((1 - p) / (vocab_size - 1))
    log_probs = torch.full((1, 1, vocab_size), others, dtype=torch.float64)
    log_probs[..., 5] = math.log(p)
    sums = label_smoothing_loss(log_probs, torch.tensor([[5]]), smoothing=smoothing, pad_id=0)
    return float(sums.loss)


@pytest.mark.slow
@pytest.mark.parametrize(("vocab_size", "smoothing"), [(1000, 0.0), (10, 0.3), (100, 0.1)])
def test_the_smoothed_loss_is_the_package_s(vocab_size: int, smoothing: float) -> None:
    spec = with_controls(
        label_smoothing_explorer().to_dict(), vocab_size=vocab_size, smoothing=smoothing
    )
    curve = points(spec, 1, "p", "loss")
    assert len(curve) == 199
    wanted = [_loss(p, vocab_size, smoothing) for p, _ in curve]
    assert [loss for _, loss in curve] == pytest.approx(wanted, rel=1e-9)
    plain = points(spec, 0, "p", "loss")
    assert [loss for _, loss in plain] == pytest.approx([-math.log(p) for p, _ in plain], abs=1e-12)
    ((_, lowest),) = points(spec, 2, "p", "loss")
    assert lowest <= min(wanted) + 1e-12
    best = 1 - smoothing + smoothing / vocab_size
    assert title(spec) == f"Loss is lowest at confidence {best:.3f}"


def bar_heights(spec: Spec) -> list[float]:
    """What the browser computes for each bar, in the order of the ids."""
    heights = points(spec | {"layer": spec["layer"][:1]}, 0, "id", "wanted")
    assert [place for place, _ in heights] == list(range(len(TYPES)))
    return [height for _, height in heights]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("true", "smoothing"), [("chat", 0.1), ("<pad>", 0.3), ("ici", 0.0)])
def test_targets_are_the_package_s(true: str, smoothing: float, form: str) -> None:
    spec = smoothed_targets_explorer(TYPES, "le").to_dict()
    spec = with_controls(spec, true_type=true, smoothing=smoothing, form=form)
    expected = smoothed_targets(
        torch.tensor([TYPES.index(true)]),
        len(TYPES),
        smoothing=smoothing,
        pad_id=0,
        over_all=form == FORMS[0],
    )[0]
    torch.testing.assert_close(torch.tensor(bar_heights(spec)), expected)
    written = [text for text, *_ in texts(spec, "role-mark")]
    assert written == [f"{share:.3f}" for share in expected.tolist()]
    kept = float(expected.max())
    words = f"{kept:.3f} for it, {1 - kept:.3f} for all others together"
    assert title(spec) == f"Target {true}: {'nothing is asked for' if true == '<pad>' else words}"


def test_targets_hand_worked() -> None:
    spec = with_controls(smoothed_targets_explorer(TYPES, "chat").to_dict(), smoothing=0.3)
    over_others = with_controls(spec, form=FORMS[1])
    assert bar_heights(over_others) == pytest.approx([0, 0.1, 0.7, 0.1, 0.1])
    assert bar_heights(spec) == pytest.approx([0.06, 0.06, 0.76, 0.06, 0.06])
    labels = [text for text, *_ in texts(spec, "role-axis-label")]
    assert labels[: len(TYPES)] == TYPES  # in the order of their ids
    said = smoothed_targets_explorer(TYPES, "<pad>").to_dict()["description"]
    assert "The target is <pad>: nothing is asked for." in said
