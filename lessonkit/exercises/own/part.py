"""A class of one's own Transformer: judged by what it computes, and by what it can learn.

Not in the paper. `check` never raises, whatever the class does, and leaves chance as it was.
"""

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise, Text, is_blank
from lessonkit.exercises.compare import show
from lessonkit.exercises.diagnosis import Tried
from lessonkit.exercises.outcome import (
    Answer,
    BrokenRuleError,
    sealed,
    shown,
    try_difference,
)

WORDS = read_words("own")
OURS = ("lessonkit", "transformer")  # whose classes are no answers
GRADIENT_ERROR = 1e-3  # of the largest number: float32 sums in another order stay below

_ORDER = " in the smallest case, unlike in the course's class"

Weights = dict[str, Tensor]
Case = tuple[str, tuple[int, ...], dict[str, Any]]  # a call as code, sizes, what the code names


class Part(Exercise):
    """One class to write: it must compute what the reference computes with the same weights.

    Where a case's value is a tensor, the gradients of all weights and inputs are compared too, in
    training mode: a class that cannot learn is refused.

    Args:
        reference: A right class, called My and its name.
        handle: How a notebook calls this part: "own.attention".
        cases: A call of `mine` as code, the sizes to build it with, and the inputs by name; many
            of them small, so that the smallest one fails.
        construct: Makes an instance of a class and sizes, where the sizes are not its arguments.
    """

    def __init__(
        self,
        reference: type[nn.Module],
        *,
        handle: str,
        cases: Sequence[Case],
        construct: Callable[..., nn.Module] | None = None,
    ) -> None:
        self.lesson = WORDS["exercises"][reference.__name__]["lesson"]
        self._weights: dict[tuple[int, ...], tuple[Weights, dict[str, str]]] = {}
        self._construct = construct or (lambda build, *sizes: build(*sizes))
        right = self.runner(reference)
        super().__init__(reference, WORDS, cases=cases, expected=right, kept=True)
        self.handle = handle

    def __repr__(self) -> str:
        return f"{self.handle} (lesson {self.lesson}): .check({self.name}), .hint(), .solution()"

    def _misfit(self, answer: Any, *_: Any) -> str:
        says = super()._misfit(answer, inspect.isclass, "a class")
        ours = inspect.isclass(answer) and any(
            x.__module__.split(".")[0] in OURS for x in answer.__mro__
        )
        return says or ("This is the course's own class: write yours." if ours else "")

    def is_open(self, answer: Any) -> bool:
        """Say whether there is no class, or one that still has a method of dots alone."""
        methods = vars(answer).values() if inspect.isclass(answer) else ()
        return answer in (None, ...) or any(map(is_blank, filter(inspect.isfunction, methods)))

    def built(self, build: Any, *sizes: int) -> nn.Module:
        """Make an instance with the check's weights, which are the same for every right class.

        Raises:
            BrokenRuleError: its weights are not those of a trained model.
        """
        with sealed():
            if sizes not in self._weights:
                self._weights[sizes] = _drawn_for(self._construct(self.reference, *sizes))
            module = self._construct(build, *sizes)
            _give(module, *self._weights[sizes])
        return module

    def solution(self) -> Text:
        """Show a class that passes."""
        return Text(inspect.getsource(self.reference).rstrip())

    def runner(self, build: Any) -> Answer:
        """Make a function of cases: build the class, give it our weights, call it, and learn."""

        def run(code: str, sizes: tuple[int, ...], inputs: dict[str, Any]) -> Any:
            module = self.built(build, *sizes).eval()
            before = copy.deepcopy(module.state_dict())
            value = _called(code, module, inputs)
            for name, weight in module.state_dict().items():
                if not torch.equal(weight, before[name]):
                    raise BrokenRuleError(f"it changes its weight {name} when it is called")
            right = self.built(self.reference, *sizes).eval()
            if not try_difference(value, _called(code, right, inputs)):
                _compare_learning(code, module.train(), right.train(), inputs)
            return value

        run.__wrapped__ = getattr(build, "forward", build)  # type: ignore[attr-defined]
        return run

    def _measured(self, answer: Any, tries: Sequence[Tried]) -> str:
        """Say which part of the class is the first to be given, or to give, something else."""
        fault = next(each for each in tries if each.complaint)
        if fault.outcome.stopped:
            return ""
        code, sizes, inputs = fault.args
        mine, right = (
            _parts_called(code, self.built(each, *sizes).eval(), inputs)
            for each in (answer, self.reference)
        )
        for name, (given, out) in right.items():
            if name not in mine:
                return f"Measured: {name} is never called{_ORDER}."
            others = [k for k, x in given.items() if try_difference(mine[name][0].get(k), x)]
            if others:
                return f"Measured: {name} is given another `{others[0]}`{_ORDER}."
            if try_difference(mine[name][1], out):
                return f"Measured: {name} is given the right tensors, and gives a wrong one."
        if more := [name for name in mine if name not in right]:
            return f"Measured: {more[0]} is called, and is not{_ORDER}."
        return "Measured: all its parts give what is right: what is made of that is wrong."

    def _shown(self, fault: Tried) -> list[str]:
        lines = ["The smallest case that shows it, as code:"]
        lines += [f"    {line}" for line in self.code(fault)]
        if not fault.outcome.broken:
            lines += [*fault.outcome.rows(), f"    expected  {shown(fault.right)}"]
        return lines

    def code(self, fault: Tried) -> list[str]:
        """Write a case down as a cell: what it prints is wrong in a faulty class."""
        call, sizes, inputs = fault.args
        learns = "gradient" in fault.outcome.broken
        lines = []
        for name, value in inputs.items():
            text = show(value)
            if learns and isinstance(value, Tensor) and value.is_floating_point():
                text = f"{text[:-1]}, requires_grad=True)"
            lines.append(f"{name} = {text}")
        made = ", ".join([self.name, *map(str, sizes)])
        lines.append(f"mine = {self.handle}.built({made})  # with the check's weights")
        if "training mode" in fault.outcome.broken:
            lines.append("mine.train()")
        if not learns:
            return [*lines, f"print({call})"]
        lines.append(f"({call}).square().sum().backward()")
        return [*lines, f"print({fault.outcome.broken.split()[-1]})"]


def _parts_called(
    code: str, module: nn.Module, inputs: dict[str, Any]
) -> dict[str, tuple[dict[str, Any], Any]]:
    """Give the tensors that each part is given, by name, and what it gives; call by call."""
    calls: dict[str, tuple[dict[str, Any], Any]] = {}

    def note(name: str, part: nn.Module, args: Any, options: Any, out: Any) -> None:
        bound = inspect.signature(part.forward).bind(*args, **options).arguments
        given = {key: each for key, each in bound.items() if isinstance(each, Tensor)}
        number = sum(each.split(" (")[0] == name for each in calls) + 1
        calls[name if number == 1 else f"{name} (call {number})"] = given, out

    for name, part in module.named_modules():
        if name:
            part.register_forward_hook(partial(note, f"`{name}`"), with_kwargs=True)
    _called(code, module, inputs)
    return calls


def _called(code: str, mine: nn.Module, inputs: dict[str, Any]) -> Any:
    return eval(code, {"torch": torch, "mine": mine, **inputs})


def _compare_learning(code: str, mine: nn.Module, right: nn.Module, inputs: dict[str, Any]) -> None:
    """Refuse a class that computes the right tensor and cannot learn from it."""
    found = {}
    for name, module in (("mine", mine), ("right", right)):
        for each in module.modules():
            if isinstance(each, nn.Dropout):  # no part of the lesson, and no mistake
                each.p = 0.0
        leaves = {
            key: each.clone().requires_grad_() if _is_float(each) else each
            for key, each in inputs.items()
        }
        value = _called(code, module, leaves)
        if not isinstance(value, Tensor):
            return
        if value.requires_grad:
            value.square().sum().backward()
        weights = {
            f"mine.{key}": each for key, each in module.named_parameters(remove_duplicate=False)
        }
        inner = {key: each for key, each in leaves.items() if _is_float(each)}
        found[name] = value, {key: each.grad for key, each in {**weights, **inner}.items()}
    if try_difference(*(value for value, _ in found.values())):
        raise BrokenRuleError("it gives something else in training mode")
    for name, slope in found["right"][1].items():
        yours = found["mine"][1][name]
        if slope is None or float(slope.abs().max()) < 1e-5:
            continue
        if yours is None:
            raise BrokenRuleError(
                f"its value is right, but it cannot learn: no gradient {name}.grad"
            )
        if float((yours - slope).abs().max()) > GRADIENT_ERROR * float(slope.abs().max()):
            raise BrokenRuleError(f"its value is right, but not the gradient {name}.grad")


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _drawn_for(right: nn.Module) -> tuple[Weights, dict[str, str]]:
    """Draw weights by their names, and say under which first name each matrix is shared."""
    wanted = right.state_dict()
    names = {weight.data_ptr(): name for name, weight in reversed(wanted.items())}
    first = {name: names[weight.data_ptr()] for name, weight in wanted.items()}
    generator = torch.Generator().manual_seed(3)
    drawn = {  # small enough that sums, and so logits, stay near 1: no rounding is enlarged
        name: torch.randn(weight.shape, generator=generator) / weight.shape[-1] ** 0.5
        for name, weight in wanted.items()
    }
    return {name: drawn[one] for name, one in first.items()}, first


def _give(module: nn.Module, wanted: Weights, first: dict[str, str]) -> None:
    """Give a module its weights by their names; refuse one that they do not fit."""
    found = module.state_dict()
    for name in [*wanted, *found]:
        if name not in found:
            others = sorted(set(found) - set(wanted))
            instead = f" (it has {', '.join(others)})" if others else ""
            raise BrokenRuleError(f"it has no weight called {name}{instead}")
        if name not in wanted:
            raise BrokenRuleError(f"it has a weight {name}, which no trained model brings")
        if found[name].shape != wanted[name].shape:
            shapes = f"{tuple(found[name].shape)}, not {tuple(wanted[name].shape)}"
            raise BrokenRuleError(f"the shape of {name} is {shapes}")
    for name, one in first.items():
        if found[name].data_ptr() != found[one].data_ptr():
            raise BrokenRuleError(f"{name} and {one} should be one matrix (§3.4)")
    module.load_state_dict(wanted)
