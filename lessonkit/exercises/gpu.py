"""The gaps and exercises of lesson 17, in its order: micro-batches, short numbers, an average.

`LinearModel` is its toy.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from lessonkit.exercises.compare import describe_difference
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.outcome import AnswerFunction
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.toys import BaseToy
from lessonkit.exercises.without_torch.gpu import lesson_wording
from lessonkit.exercises.without_torch.gpu import round_to_bfloat16 as round_to_bfloat16

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
micro_batch_memory_share = lesson_wording.prediction("micro_batch_memory_share")
weights_changed_in_bfloat16 = lesson_wording.prediction("weights_changed_in_bfloat16")
fused_memory_ratio = lesson_wording.prediction("fused_memory_ratio")
Gradients = list[Tensor]


class LinearModel(nn.Module):
    """y = weight * x + bias; the loss of some points is the sum of their squared errors."""

    def __init__(self, weight: float, bias: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(weight))
        self.bias = nn.Parameter(torch.tensor(bias))
        self.written = f"LinearModel({weight}, {bias})"

    def __repr__(self) -> str:
        return self.written


def summed_loss_and_num_points(
    line: LinearModel, points: list[tuple[float, float]]
) -> tuple[Tensor, int]:
    """Return the summed loss of some points, and how many there are."""
    x, y = torch.tensor(points).T
    return (line.weight * x + line.bias - y).square().sum(), len(points)


def _pack_gradients_and_weights(calls: list[Gradients], model: nn.Module) -> dict[str, Any]:
    weights = [weight.detach() for weight in model.parameters()]
    return {"gradients of two calls": calls, "weights after them": weights}


class GradientsExercise(Exercise):
    """The gradients of a model, judged by two calls in a row, and by the weights they leave."""

    def to_case_function(self, answer: AnswerFunction) -> AnswerFunction:
        """Ask twice for the gradients of a case."""

        @functools.wraps(answer)
        def twice(model: Any, *rest: Any) -> Any:
            calls = []
            for _ in range(2):
                gradients = answer(model, *rest)
                if isinstance(gradients, list | tuple):
                    # The second call may write into the tensors that the first has returned.
                    gradients = [
                        gradient.detach().clone() if isinstance(gradient, Tensor) else gradient
                        for gradient in gradients
                    ]
                calls.append(gradients)
            return _pack_gradients_and_weights(calls, model)

        return twice


def my_accumulate_gradients(model: Any, parts: list[Any], loss_of: Callable[..., Any]) -> Gradients:
    """Return the gradients of the mean loss over all tokens of all parts."""
    model.zero_grad()
    total = 0
    for part in parts:
        loss, tokens = loss_of(model, part)
        loss.backward()
        total += tokens
    return [weight.grad / total for weight in model.parameters()]


def _accumulate_gradients_by_hand(line: LinearModel, parts: list[Any], _: Any) -> dict[str, Any]:
    """Work out the slopes by hand, over all points together."""
    x, y = torch.tensor([point for part in parts for point in part]).T
    off = (line.weight * x + line.bias - y).detach()
    gradients = [(2 * off * x).mean(), (2 * off).mean()]
    return _pack_gradients_and_weights([gradients, gradients], line)


accumulate_gradients = GradientsExercise(
    my_accumulate_gradients,
    lesson_wording,
    worked=[
        (
            (LinearModel(1.0, 0.0), [[(1.0, 0.0)]], summed_loss_and_num_points),
            {
                "gradients of two calls": [[torch.tensor(2.0), torch.tensor(2.0)]] * 2,
                "weights after them": [torch.tensor(1.0), torch.tensor(0.0)],
            },
        )
    ],
    cases=[
        (
            LinearModel(1.0, 0.0),
            [[(1.0, 0.0)], [(2.0, 0.0), (3.0, 1.0)]],
            summed_loss_and_num_points,
        ),
        (
            LinearModel(0.5, 0.25),
            [[(1.0, 1.0), (2.0, 0.0)], [(1.0, 3.0)], [(0.0, 1.0)]],
            summed_loss_and_num_points,
        ),
        (LinearModel(-1.0, 2.0), [[(1.0, 2.0)] * 3, [(4.0, 2.0)]], summed_loss_and_num_points),
    ],
    expected=_accumulate_gradients_by_hand,
    properties={
        "the weights must stay as they are: the step is the optimizer's": lambda value, model, *_: (
            not describe_difference(value["weights after them"], list(model.parameters()))
        ),
        "called again, it must return the same: clear the old gradients first, model.zero_grad()": (
            lambda value, *_: not describe_difference(*value["gradients of two calls"])
        ),
    },
)


def my_low_precision_matmul(inputs: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    """Multiply in a short type, and hand on float32."""
    short = inputs.to(dtype) @ weight.to(dtype).T
    return short.float()


def _low_precision_matmul_by_autocast(inputs: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    with torch.autocast("cpu", dtype=dtype):
        return nn.functional.linear(inputs, weight).float()


_MATMUL_INPUT_ROW = torch.tensor([[1.001, 257.0, -0.33]])
low_precision_matmul = Exercise(
    my_low_precision_matmul,
    lesson_wording,
    worked=[
        # 257 needs nine binary digits: bfloat16 has eight, and float16 eleven.
        ((torch.tensor([[257.0]]), torch.tensor([[1.0]]), torch.bfloat16), torch.tensor([[256.0]])),
        ((torch.tensor([[257.0]]), torch.tensor([[1.0]]), torch.float16), torch.tensor([[257.0]])),
    ],
    cases=[
        (_MATMUL_INPUT_ROW, torch.tensor([[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]]), torch.bfloat16),
        (_MATMUL_INPUT_ROW, torch.tensor([[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]]), torch.float16),
        (_MATMUL_INPUT_ROW.T, torch.tensor([[0.7]]), torch.bfloat16),
        (torch.tensor([[300.0]]), torch.tensor([[300.0]]), torch.float16),  # too large for it
    ],
    expected=_low_precision_matmul_by_autocast,
    properties={"it hands on float32": lambda value, *_: value.dtype == torch.float32},
)


def my_loss_scaler_step(
    scale: float, good_steps: int, gradients: Gradients, interval: int
) -> tuple[Gradients | None, float, int]:
    """Return the true gradients or None, the next scale, and the good steps."""
    if not all(gradient.isfinite().all() for gradient in gradients):
        return None, scale / 2, 0
    true = [gradient / scale for gradient in gradients]
    if good_steps + 1 == interval:
        return true, scale * 2, 0
    return true, scale, good_steps + 1


def _loss_scaler_step_by_grad_scaler(
    scale: float, good_steps: int, gradients: Gradients, interval: int
) -> tuple[Gradients | None, float, int]:
    """Let PyTorch's own do it, put where the arguments say it stands."""
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=interval)
    weights = [nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients]
    descent = torch.optim.SGD(weights, lr=1.0)
    scaler.scale(torch.zeros(1))  # which makes it begin
    state = scaler.state_dict()
    scaler.load_state_dict(state | {"scale": scale, "_growth_tracker": good_steps})
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.grad = gradient.clone()
    scaler.step(descent)
    scaler.update()
    finite = all(bool(gradient.isfinite().all()) for gradient in gradients)
    true = [-weight.detach() for weight in weights] if finite else None
    state = scaler.state_dict()
    return true, float(state["scale"]), int(state["_growth_tracker"])


_FINITE_GRADIENT, _INFINITE_GRADIENT = torch.tensor([2.0, -6.0]), torch.tensor([float("inf")])
loss_scaler_step = Exercise(
    my_loss_scaler_step,
    lesson_wording,
    worked=[
        ((4.0, 0, [_FINITE_GRADIENT], 3), ([torch.tensor([0.5, -1.5])], 4.0, 1)),
        ((4.0, 2, [_FINITE_GRADIENT], 3), ([torch.tensor([0.5, -1.5])], 8.0, 0)),
        ((4.0, 1, [_INFINITE_GRADIENT], 3), (None, 2.0, 0)),
    ],
    cases=[
        (8.0, 0, [_FINITE_GRADIENT, _INFINITE_GRADIENT], 2),
        (4.0, 1, [_FINITE_GRADIENT], 5),
        (8.0, 0, [torch.tensor([float("nan"), 1.0]), _FINITE_GRADIENT], 2),
        (2.0, 1, [_FINITE_GRADIENT, torch.tensor([16.0])], 2),
        (1.0, 4, [torch.tensor([-float("inf"), 1.0])], 5),
        (65536.0, 0, [torch.tensor([65536.0])], 2000),
        (4.0, 1, [_FINITE_GRADIENT], 3),
        (8.0, 3, [_FINITE_GRADIENT], 5),
        (4.0, 0, [torch.tensor([0.1, -0.3])], 3),  # which float16 rounds by more than is allowed
    ],
    expected=_loss_scaler_step_by_grad_scaler,
)


def my_quantize_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return int8 weights, and the scale of each row."""
    scales = weight.abs().amax(dim=1, keepdim=True) / 127
    return (weight / scales).round().to(torch.int8), scales


def _quantize_rows_number_by_number(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the same in 64 bits, row by row."""
    rows = weight.tolist()
    scales = [max(max(row), -min(row)) / 127 for row in rows]
    whole = [
        [round(number / scale) for number in row] for row, scale in zip(rows, scales, strict=True)
    ]
    return torch.tensor(whole, dtype=torch.int8), torch.tensor(scales)[:, None]


quantize_rows = Exercise(
    my_quantize_rows,
    lesson_wording,
    worked=[
        (
            (torch.tensor([[127.0, -3.4]]),),
            (torch.tensor([[127, -3]], dtype=torch.int8), torch.tensor([[1.0]])),
        ),
        (
            (torch.tensor([[1.0, -254.0], [63.5, 5.0]]),),
            (
                torch.tensor([[0, -127], [127, 10]], dtype=torch.int8),
                torch.tensor([[2.0], [0.5]]),
            ),
        ),
    ],
    cases=[
        (torch.tensor([[-0.3]]),),
        (torch.tensor([[0.1, 0.7]]),),
        (torch.tensor([[0.1], [-0.2]]),),
        (torch.tensor([[-0.9, 0.2, 0.4], [3.0, 100.0, -40.0]]),),
        (torch.arange(1.0, 36.0).sin().reshape(5, 7),),
    ],
    expected=_quantize_rows_number_by_number,
    properties={
        "the weights are of the type torch.int8, the scales of float32": lambda value, _: (
            [part.dtype for part in value] == [torch.int8, torch.float32]
        )
    },
)


class SimulatedAllReduceSum(BaseToy):
    """What another process has, and a sum with it: stands for `torch.distributed.all_reduce`."""

    def __init__(self, others: list[Gradients]) -> None:
        self.others, self.calls = others, 0

    def __call__(self, tensor: Tensor) -> None:
        """Add up a tensor over all processes, in its place."""
        for gradients in self.others:
            tensor += gradients[self.calls]
        self.calls += 1


def my_average_gradients(
    gradients: Gradients, all_reduce: Callable[[Tensor], object], size: int
) -> Gradients:
    """Return the mean of all processes' gradients."""
    means = []
    for gradient in gradients:
        total = gradient.clone()
        all_reduce(total)
        means.append(total / size)
    return means


_ONE, _TWO = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 6.0])
average_gradients = Exercise(
    my_average_gradients,
    lesson_wording,
    worked=[(([_ONE], SimulatedAllReduceSum([[_TWO]]), 2), [torch.tensor([2.0, 4.0])])],
    cases=[
        ([_ONE], SimulatedAllReduceSum([]), 1),
        ([_ONE, _TWO], SimulatedAllReduceSum([[_TWO, _TWO]]), 2),
        (
            [_ONE, torch.ones(2, 3)],
            SimulatedAllReduceSum([[_TWO, torch.zeros(2, 3)], [_ONE, torch.ones(2, 3)]]),
            3,
        ),
    ],
    expected=lambda gradients, ring, _: [
        torch.stack(same_weight).mean(dim=0)
        for same_weight in zip(gradients, *ring.others, strict=True)
    ],
)
