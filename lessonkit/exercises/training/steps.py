"""Two exercises of lesson 05: a loop of training, and one step from several batches."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import Parrot

words = read_words("05")

State = tuple[Tensor, Tensor, Tensor]
Batch = tuple[Tensor, Tensor, Tensor]


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


def _by_formula(
    model: Parrot, batches: list[Batch], warmup_steps: int, clip_norm: float
) -> list[float]:
    """Do it with no optimizer: gradients by `autograd.grad`, clip and Adam by their formulas."""
    model.train()
    weights, losses = list(model.parameters()), []
    moments = [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in weights]
    for step, (src, tgt_in, tgt_out) in enumerate(batches, start=1):
        log_probs = model(src, tgt_in).log_softmax(dim=-1)
        real = (tgt_out != 0).float()
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


_CLEARED, _BACKWARD = "        adam.zero_grad()\n", "        loss.backward()\n"
_STEPPED = "        adam.step()\n"

train = Exercise(
    my_train,
    words,
    worked=[
        # nothing but zeros: seven types are equally likely, and every gradient is 0
        ((Parrot(7, 2), 2 * [_batch([4, 3], [5])], 4, 1.0), [math.log(7), math.log(7)]),
    ],
    cases=_trainings(),
    expected=_by_formula,
    wrong={
        "padding_counts": (", ignore_index=0", ""),
        "reads_the_answer": ("model(src, tgt_in)", "model(src, tgt_out)"),
        "without_dropout": ("model.train()", "model.eval()"),
        "gradients_add_up": (_CLEARED, ""),
        "clears_too_late": (_CLEARED + _BACKWARD, _BACKWARD + _CLEARED),
        "never_clips": ("clip_norm)", "math.inf)"),
        "clips_each_number": ("clip_grad_norm_", "clip_grad_value_"),
        "clips_each_tensor": (
            "nn.utils.clip_grad_norm_(model.parameters(), clip_norm)",
            "[nn.utils.clip_grad_norm_([each], clip_norm) for each in model.parameters()]",
        ),
        "rate_of_the_step_before": (_STEPPED, "", "        rate =", f"{_STEPPED}        rate ="),
        "one_rate_for_all": ("min(step**-0.5, step * warmup_steps**-1.5)", "warmup_steps**-0.5"),
        "memory_of_adams_own": ("0.98", "0.999"),
    },
)


def my_accumulated_gradient(grads: list[Tensor], tokens: list[int], clip_norm: float) -> Tensor:
    """Give the gradient of the mean over all tokens, clipped."""
    total = torch.zeros_like(grads[0])
    for grad, count in zip(grads, tokens, strict=True):
        total = total + count * grad
    mean = total / sum(tokens)
    norm = mean.norm()
    if norm > clip_norm:
        mean = mean * clip_norm / norm
    return mean


def _by_autograd(grads: list[Tensor], tokens: list[int], clip_norm: float) -> Tensor:
    """Make losses that have these gradients; differentiate their mean over all tokens."""
    weight = nn.Parameter(torch.zeros_like(grads[0]))
    per_token = [
        (grad * weight).sum()
        for grad, count in zip(grads, tokens, strict=True)
        for _ in range(count)
    ]
    torch.stack(per_token).mean().backward()
    nn.utils.clip_grad_norm_([weight], clip_norm)
    assert weight.grad is not None
    return weight.grad


def _gradients() -> list[tuple[list[Tensor], list[int], float]]:
    """One batch, two and three, below the limit and above it."""
    short, long = torch.tensor([0.5, 0.0]), torch.tensor([3.0, 4.0])
    cases = [
        ([short], [2], 1.0),
        ([torch.zeros(2)], [2], 1.0),
        ([long, -3 * long], [3, 1], 1.0),  # they cancel: nothing is left
        ([long], [2], 1.0),
        ([short, long], [1, 1], 9.0),
        ([short, long], [3, 1], 9.0),
        ([short, long], [3, 1], 1.0),
        ([long, -short], [1, 4], 2.0),
    ]
    generator = torch.Generator().manual_seed(0)
    large = list(torch.randn(3, 2, 3, generator=generator).unbind())
    return [*cases, (large, [7, 2, 5], 9.0), (large, [7, 2, 5], 0.5)]


accumulated_gradient = Exercise(
    my_accumulated_gradient,
    words,
    worked=[
        # (3 * 2 + 1 * 6) / 4 is 3, below the limit
        (([torch.tensor([2.0]), torch.tensor([6.0])], [3, 1], 5.0), torch.tensor([3.0])),
        # the same, above it
        (([torch.tensor([2.0]), torch.tensor([6.0])], [3, 1], 1.5), torch.tensor([1.5])),
    ],
    cases=_gradients(),
    expected=_by_autograd,
    wrong={
        "batches_count_alike": ("+ count * grad", "+ grad", "sum(tokens)", "len(tokens)"),
        "sum_of_means": ("+ count * grad", "+ grad", " / sum(tokens)", ""),
        "clipped_one_by_one": (
            *("count * grad", "count * grad * (clip_norm / grad.norm()).clamp(max=1)"),
            *("norm > clip_norm", "False"),
        ),
        "always_rescaled": ("norm > clip_norm", "True"),
        "number_by_number": ("mean * clip_norm / norm", "mean.clamp(-clip_norm, clip_norm)"),
        "never_clipped": ("norm > clip_norm", "False"),
    },
    properties={
        "the norm is at most clip_norm": lambda value, grads, tokens, clip_norm: (
            float(value.norm()) <= clip_norm * 1.001
        ),
    },
)
