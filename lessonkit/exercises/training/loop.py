"""An exercise of lesson 05: steps of training, from the forward pass to the update (§5.3, §5.4)."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import Parrot

words = read_words("05")

Batch = tuple[Tensor, Tensor, Tensor]
PADDING = 0


def my_train(model: Any, batches: list[Batch], warmup_steps: int, clip_norm: float) -> list[float]:
    """Make a step on each batch; give the loss before each step."""
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    model.train()
    losses = []
    for step, (src, tgt_in, tgt_out) in enumerate(batches, start=1):
        logits = model(src, tgt_in)
        loss = F.cross_entropy(logits.mT, tgt_out, ignore_index=0)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        rate = min(step**-0.5, step * warmup_steps**-1.5)
        adam.param_groups[0]["lr"] = model.d_model**-0.5 * rate
        adam.step()
        losses.append(loss.item())
    return losses


def _rate(step: int, d_model: int, warmup_steps: int) -> float:
    return float(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


def _loss(logits: Tensor, tgt_out: Tensor) -> Tensor:
    return F.cross_entropy(logits.mT, tgt_out, ignore_index=PADDING)


def _clip(parameters: list[Tensor], clip_norm: float) -> None:
    nn.utils.clip_grad_norm_(parameters, clip_norm)


def _train(
    case: Any,
    *,
    betas: tuple[float, float] = (0.9, 0.98),
    rate_of: Callable[[int, int, int], float] = _rate,
    loss_of: Callable[[Tensor, Tensor], Tensor] = _loss,
    clip: Callable[[list[Tensor], float], None] = _clip,
    clears: str = "before",
    reads: str = "tgt_in",
    drops: bool = True,
) -> list[float]:
    """Train with one part done otherwise."""
    model, batches, warmup_steps, clip_norm = case
    adam = torch.optim.Adam(model.parameters(), betas=betas, eps=1e-9)
    model.train(drops)
    losses = []
    for step, (src, tgt_in, tgt_out) in enumerate(batches, start=1):
        loss = loss_of(model(src, tgt_in if reads == "tgt_in" else tgt_out), tgt_out)
        if clears == "before":
            adam.zero_grad()
        loss.backward()
        if clears == "after":
            adam.zero_grad()
        clip(list(model.parameters()), clip_norm)
        adam.param_groups[0]["lr"] = rate_of(step, model.d_model, warmup_steps)
        adam.step()
        losses.append(loss.item())
    return losses


def padding_counts(*case: Any) -> list[float]:
    """Average over padding too."""
    return _train(case, loss_of=lambda logits, tgt_out: F.cross_entropy(logits.mT, tgt_out))


def reads_the_answer(*case: Any) -> list[float]:
    """Let each position read the token that it is asked for."""
    return _train(case, reads="tgt_out")


def without_dropout(*case: Any) -> list[float]:
    """Leave the network in evaluation mode."""
    return _train(case, drops=False)


def gradients_add_up(*case: Any) -> list[float]:
    """Never clear the gradients."""
    return _train(case, clears="never")


def clears_too_late(*case: Any) -> list[float]:
    """Clear the gradients that were just computed."""
    return _train(case, clears="after")


def never_clips(*case: Any) -> list[float]:
    """Let a gradient be as long as it likes."""
    model, batches, warmup_steps, _ = case
    return my_train(model, batches, warmup_steps, math.inf)


def clips_each_number(*case: Any) -> list[float]:
    """Limit each number by itself."""
    return _train(case, clip=nn.utils.clip_grad_value_)


def clips_each_tensor(*case: Any) -> list[float]:
    """Give each tensor a limit of its own."""

    def clip(parameters: list[Tensor], clip_norm: float) -> None:
        for each in parameters:
            _clip([each], clip_norm)

    return _train(case, clip=clip)


def rate_of_the_step_before(*case: Any) -> list[float]:
    """Set the rate after the step, so that it serves the next one."""
    return _train(case, rate_of=lambda step, *sizes: _rate(step - 1, *sizes) if step > 1 else 1e-3)


def one_rate_for_all(*case: Any) -> list[float]:
    """Take the peak rate from the first step on."""
    return _train(case, rate_of=lambda _, d_model, warmup: _rate(warmup, d_model, warmup))


def memory_of_adams_own(*case: Any) -> list[float]:
    """Leave Adam's betas as they are when nobody names them."""
    return _train(case, betas=(0.9, 0.999))


def _by_formula(
    model: Parrot, batches: list[Batch], warmup_steps: int, clip_norm: float
) -> list[float]:
    """Do it with no optimizer: gradients by `autograd.grad`, clip and Adam by their formulas."""
    model.train()
    weights, losses = list(model.parameters()), []
    moments = [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in weights]
    for step, (src, tgt_in, tgt_out) in enumerate(batches, start=1):
        log_probs = model(src, tgt_in).log_softmax(dim=-1)
        real = (tgt_out != PADDING).float()
        nll = -log_probs.gather(-1, tgt_out[..., None])[..., 0]
        loss = (nll * real).sum() / real.sum()
        grads = torch.autograd.grad(loss, weights)
        norm = math.sqrt(sum(float((grad**2).sum()) for grad in grads))
        shrink = clip_norm / norm if norm > clip_norm else 1.0
        moments = [
            (0.9 * m + 0.1 * shrink * grad, 0.98 * v + 0.02 * (shrink * grad) ** 2)
            for (m, v), grad in zip(moments, grads, strict=True)
        ]
        peak = 1 / math.sqrt(model.d_model * warmup_steps)
        rate = peak * min(step / warmup_steps, math.sqrt(warmup_steps / step))
        with torch.no_grad():
            for weight, (m, v) in zip(weights, moments, strict=True):
                typical = (v / (1 - 0.98**step)).sqrt() + 1e-9
                weight.sub_(rate * m / (1 - 0.9**step) / typical)
        losses.append(loss.item())
    return losses


def _batch(src: list[int], *sentences: list[int]) -> Batch:
    """Pad and shift, with the same source for each."""
    longest = max(map(len, sentences))
    tgt = torch.tensor([[2, *ids, 3] + [0] * (longest - len(ids)) for ids in sentences])
    return torch.tensor([src] * len(sentences)), tgt[:, :-1].contiguous(), tgt[:, 1:].contiguous()


def _trainings() -> list[tuple[Parrot, list[Batch], int, float]]:
    """One step and several, up to the peak and past it, below the limit and above."""
    some = [
        _batch([4, 3], [5]),
        _batch([5, 3], [4, 5], [5]),
        _batch([6, 3], [6, 4, 4]),
        _batch([4, 5, 3], [4], [5, 6, 4]),
        _batch([5, 3], [6]),
    ]
    cases = []
    for seed, (steps, warmup_steps, clip_norm) in enumerate(
        ((1, 1, 9.0), (1, 4, 0.1), (2, 2, 9.0), (2, 1, 0.1), (3, 2, 0.5), (5, 3, 1.0), (5, 9, 99.0))
    ):
        cases.append((Parrot(7, (2, 3)[seed % 2], seed), some[:steps], warmup_steps, clip_norm))
    cases.append((Parrot(7, 2, 0), some[:3], 1, 1e-7))  # so short that epsilon's size shows
    return cases


_SHORT = _batch([4, 3], [5])

train = Exercise(
    my_train,
    words,
    worked=[
        # nothing but zeros: seven types are equally likely, and every gradient is 0
        ((Parrot(7, 2), [_SHORT, _SHORT], 4, 1.0), [math.log(7), math.log(7)]),
    ],
    cases=_trainings(),
    expected=_by_formula,
    wrong={
        "padding_counts": padding_counts,
        "reads_the_answer": reads_the_answer,
        "without_dropout": without_dropout,
        "gradients_add_up": gradients_add_up,
        "clears_too_late": clears_too_late,
        "never_clips": never_clips,
        "clips_each_number": clips_each_number,
        "clips_each_tensor": clips_each_tensor,
        "rate_of_the_step_before": rate_of_the_step_before,
        "one_rate_for_all": one_rate_for_all,
        "memory_of_adams_own": memory_of_adams_own,
    },
)
