"""The gaps and the exercise of lesson 06, in its order: loss, rate, step, and Adam's own formula.

`ShownBatch` and `GradientDescent` are its toys, beside `TinyTrainableNetwork` (§5.3, §5.4).
"""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn, tensor

from lessonkit.exercises.compare import format_value
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.outcome import AnswerFunction
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import make_normal_sampler
from lessonkit.exercises.toy_models import TinyTrainableNetwork
from lessonkit.exercises.without_torch.training import lesson_wording
from lessonkit.exercises.without_torch.training import warmup_rate as warmup_rate
from transformer.data.batches import Batch

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
best_smoothed_confidence = lesson_wording.prediction("best_smoothed_confidence")
twelve_digits_copied = lesson_wording.prediction("twelve_digits_copied")
WeightAndMoments = tuple[Tensor, Tensor, Tensor]
LossFunction = Callable[[Tensor, Tensor], Tensor]


def my_smoothed_loss(logits: Tensor, targets: Tensor, smoothing: float, pad_id: int) -> Tensor:
    """Return the real tokens' mean smoothed cross-entropy, in nats."""
    vocab_size = logits.shape[-1]
    truth = F.one_hot(targets, vocab_size)
    wanted = (1 - smoothing) * truth + smoothing / vocab_size
    costs = -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)
    return costs[targets != pad_id].mean()


def _smoothed_loss_cases() -> list[tuple[Tensor, Tensor, float, int]]:
    draw = make_normal_sampler(0)
    targets = [[1]], [[2, 1]], [[1, 0]], [[0, 2]], [[3, 1, 0], [2, 0, 0]], [[0, 4], [1, 2], [3, 3]]
    cases = []
    for rows, smoothing, pad_id in itertools.product(targets, (0.0, 0.1, 0.4), (0, 3)):
        ids = tensor(rows)
        if bool((ids != pad_id).any()):
            logits = draw(*ids.shape, int(ids.max()) + 2).requires_grad_()
            cases.append((logits, ids, smoothing, pad_id))
    return cases


_EQUAL_LOGITS = torch.zeros(1, 2, 4, requires_grad=True)
_LOGITS_OF_HALF = tensor([[[math.log(2), 0.0, 0.0]]], requires_grad=True)  # a half, two quarters
smoothed_loss = Exercise(
    my_smoothed_loss,
    lesson_wording,
    worked=[
        # a blind guess among four costs ln 4, whatever the smoothing; padding costs nothing
        ((_EQUAL_LOGITS, tensor([[2, 0]]), 0.1, 0), tensor(math.log(4))),
        # 0.8 is asked of the half, 0.2 of the quarters: 0.8 ln 2 + 0.2 ln 4
        ((_LOGITS_OF_HALF, tensor([[0]]), 0.3, 2), tensor(1.2 * math.log(2))),
    ],
    cases=_smoothed_loss_cases(),
    expected=lambda logits, targets, smoothing, pad_id: F.cross_entropy(
        logits.mT, targets, ignore_index=pad_id, label_smoothing=smoothing
    ),
    properties={"the loss must carry the gradient": lambda value, *_: value.requires_grad},
    saved=True,
)


@dataclass(frozen=True, eq=False, repr=False)
class ShownBatch(Batch):
    """A batch whose tensors are shown."""

    def __repr__(self) -> str:
        tensors = (self.src, self.tgt_in, self.tgt_out)
        return f"ex.ShownBatch({', '.join(map(format_value, tensors))})"


class GradientDescent(torch.optim.SGD):
    """Plain gradient descent: a step is the rate times the gradient. It comes with another rate."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model.parameters(), lr=0.25)

    def __repr__(self) -> str:
        return "ex.GradientDescent(model)"


def _pack_losses_and_weights(losses: list[Any], model: nn.Module) -> dict[str, Any]:
    weights = [weight.detach() for weight in model.parameters()]
    return {"losses of two calls": losses, "weights after them": weights}


class TrainingStepExercise(Exercise):
    """One step of training, judged by two in a row: both losses, and the weights they leave."""

    def to_case_function(self, answer: AnswerFunction) -> AnswerFunction:
        """Make two steps on a case."""

        @functools.wraps(answer)
        def twice(model: Any, optimizer: Any, *rest: Any) -> Any:
            return _pack_losses_and_weights(
                [answer(model, optimizer, *rest) for _ in range(2)], model
            )

        return twice


def my_training_step(
    model: Any, optimizer: Any, batch: Any, rate: float, loss_of: LossFunction
) -> float:
    """Make one step; return the loss before it."""
    model.train()
    logits = model(batch.src, batch.tgt_in)
    loss = loss_of(logits, batch.tgt_out)
    optimizer.zero_grad()
    loss.backward()
    optimizer.param_groups[0]["lr"] = rate
    optimizer.step()
    return loss.item()


def _two_training_steps_by_autograd(
    model: TinyTrainableNetwork,
    optimizer: GradientDescent,
    batch: ShownBatch,
    rate: float,
    loss_of: LossFunction,
) -> dict[str, Any]:
    """Make two steps with no optimizer: the weights less the rate times `autograd.grad`."""
    model.train()
    weights, losses = list(model.parameters()), []
    for _ in range(2):
        loss = loss_of(model(batch.src, batch.tgt_in), batch.tgt_out)
        grads = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for weight, grad in zip(weights, grads, strict=True):
                weight.sub_(rate * grad)
        losses.append(loss.item())
    return _pack_losses_and_weights(losses, model)


_unsmoothed_loss_for_step_cases = functools.partial(my_smoothed_loss, smoothing=0.0, pad_id=0)
_smoothed_loss_for_step_cases = functools.partial(my_smoothed_loss, smoothing=0.3, pad_id=0)


def _training_step_cases() -> list[
    tuple[TinyTrainableNetwork, GradientDescent, ShownBatch, float, LossFunction]
]:
    batches = [([[4, 3]], [[5]]), ([[5, 3]], [[4, 5]]), ([[4, 5, 3]] * 2, [[4, 0], [5, 6]])]
    cases: list[tuple[TinyTrainableNetwork, GradientDescent, ShownBatch, float, LossFunction]] = []
    for seed, (rate, loss_of) in enumerate(
        itertools.product(
            (0.01, 0.5), (_unsmoothed_loss_for_step_cases, _smoothed_loss_for_step_cases)
        )
    ):
        for src, tgt in batches:
            ids = tensor([[2, *row, 3] for row in tgt])
            batch = ShownBatch(tensor(src), ids[:, :-1].contiguous(), ids[:, 1:].contiguous())
            model = TinyTrainableNetwork(7, 2 + seed % 2, seed)
            cases.append((model, GradientDescent(model), batch, rate, loss_of))
    return cases


# It has nothing but zeros: all types are equally likely, and every gradient is 0.
_ZERO_NETWORK = TinyTrainableNetwork(7, 2)
_ONE_WORD_BATCH = ShownBatch(tensor([[4, 3]]), tensor([[2, 5]]), tensor([[5, 3]]))
training_step = TrainingStepExercise(
    my_training_step,
    lesson_wording,
    worked=[
        (
            (
                _ZERO_NETWORK,
                GradientDescent(_ZERO_NETWORK),
                _ONE_WORD_BATCH,
                0.5,
                _unsmoothed_loss_for_step_cases,
            ),
            _pack_losses_and_weights([math.log(7)] * 2, _ZERO_NETWORK),
        )
    ],
    cases=_training_step_cases(),
    expected=_two_training_steps_by_autograd,
    saved=True,
)


def my_adam_update(
    weight: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float
) -> WeightAndMoments:
    """Make one update; return the new weight and both new moments."""
    m = 0.9 * m + 0.1 * grad
    v = 0.98 * v + 0.02 * grad**2
    m_hat = m / (1 - 0.9**step)
    v_hat = v / (1 - 0.98**step)
    weight = weight - rate * m_hat / (v_hat**0.5 + 1e-9)
    return weight, m, v


def _adam_step_by_pytorch(
    weight: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float
) -> WeightAndMoments:
    """Let PyTorch's Adam make the step, put where the arguments say it stands."""
    parameter = nn.Parameter(weight.clone())
    parameter.grad = grad.clone()
    optimizer = torch.optim.Adam([parameter], lr=rate, betas=(0.9, 0.98), eps=1e-9)
    optimizer.state[parameter] = {
        "step": tensor(float(step - 1)),
        "exp_avg": m.clone(),
        "exp_avg_sq": v.clone(),
    }
    optimizer.step()
    state = optimizer.state[parameter]
    return parameter.detach(), state["exp_avg"], state["exp_avg_sq"]


def _adam_step_cases() -> list[tuple[Tensor, Tensor, Tensor, Tensor, int, float]]:
    cases = []
    for *numbers, step, rate in (
        (1.0, 2.0, 0.0, 0.0, 1, 0.5),
        (1.0, -2.0, 0.5, 1.0, 2, 0.5),
        (0.0, 1e-4, 0.0, 0.0, 1, 1.0),  # here epsilon's place shows
        (0.0, 1e-8, 0.0, 0.0, 1, 1.0),  # here its size
        (2.0, 0.0, 0.0, 0.0, 1, 0.5),  # here that it is needed
        (3.0, 0.0, 1.0, 4.0, 9, 0.1),
    ):
        weight, grad, m, v = tensor(numbers)[:, None]
        cases.append((weight, grad, m, v, int(step), rate))
    weight, grad, m, v = make_normal_sampler(0)(4, 2, 3).unbind()
    return [*cases, (weight, grad, m, v.abs(), 5, 0.1)]


adam_update = Exercise(
    my_adam_update,
    lesson_wording,
    worked=[
        (  # the first step: m_hat is the gradient, v_hat its square, so it moves by the rate
            (tensor([1.0]), tensor([4.0]), torch.zeros(1), torch.zeros(1), 1, 0.25),
            (tensor([0.75]), tensor([0.4]), tensor([0.32])),
        )
    ],
    cases=_adam_step_cases(),
    expected=_adam_step_by_pytorch,
)
