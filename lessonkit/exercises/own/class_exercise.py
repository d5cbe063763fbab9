"""A class of one's own Transformer: judged by what it computes, and by what it can learn.

Not in the paper. `check` never raises, whatever the class does, and leaves chance as it was.
"""

import ast
import copy
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lessonkit.exercises.answers import is_blank
from lessonkit.exercises.compare import are_identical, count_numbers, format_value
from lessonkit.exercises.diagnosis import JudgedCase
from lessonkit.exercises.exercise import MAX_NUMBERS_SHOWN, Exercise
from lessonkit.exercises.outcome import (
    AnswerFunction,
    describe_difference_safely,
    describe_value,
    fixed_torch_state_context,
    format_short,
)
from lessonkit.exercises.own.devices import OTHER_DEVICE, raise_unless_usable_on_another_device
from lessonkit.exercises.own.gradients import (
    ValueAndGradients,
    compute_value_and_gradients,
    evaluate_case_code,
    raise_unless_gradients_match,
)
from lessonkit.exercises.own.weights import CheckWeights
from lessonkit.exercises.rules import BrokenRuleError
from lessonkit.exercises.wording import read_lesson_wording

CLASS_EXERCISE_WORDS = read_lesson_wording("own")
COURSE_PACKAGES = ("lessonkit", "transformer")  # whose classes are no answers

ConstructorSizes = tuple[float, ...]  # a dropout rate among them
# A call as code, the sizes to build with, and what the code names.
CodeCase = tuple[str, ConstructorSizes, dict[str, Any]]


class ReferenceResult(NamedTuple):
    """What the reference computes in a case."""

    value: Any  # in evaluation mode
    in_training: ValueAndGradients | None  # None if the value is no tensor


class ClassExercise(Exercise):
    """A class to write: it must compute what the reference computes with the same weights.

    If a case's value is a tensor, the gradients of all weights and inputs are compared too, in
    training mode: a class that cannot learn is refused.

    Args:
        reference: A right class, called My and its name.
        handle: How a notebook calls this exercise: "own.attention".
        cases: A call of `mine` as code, the sizes to build it with, and the inputs by name; many
            of them small, so that the smallest one fails.
        construct: Makes an instance of a class and sizes, if the sizes are not its arguments.
        is_moved: Whether an instance must compute on another device as well.
    """

    def __init__(
        self,
        reference: type[nn.Module],
        *,
        handle: str,
        cases: Sequence[CodeCase],
        construct: Callable[..., nn.Module] | None = None,
        is_moved: bool = False,
    ) -> None:
        self.is_moved = is_moved
        self.lesson = CLASS_EXERCISE_WORDS.exercises[reference.__name__]["lesson"]
        self._weights: dict[ConstructorSizes, CheckWeights] = {}
        self._reference_results: dict[Any, ReferenceResult] = {}
        self._construct = construct or (lambda build, *sizes: build(*sizes))
        expected = self.to_case_function(reference)
        super().__init__(
            reference, CLASS_EXERCISE_WORDS, cases=cases, expected=expected, saved=True
        )
        self.handle = handle

    def __repr__(self) -> str:
        return f"{self.handle} (lesson {self.lesson}): .check({self.name}), .hint(), .solution()"

    def is_blank(self, answer: Any) -> bool:
        """Return whether there is no class, or one that still has a method of dots alone."""
        if answer is None or answer is ...:
            return True
        if not inspect.isclass(answer):
            return False
        return any(
            is_blank(method) for method in vars(answer).values() if inspect.isfunction(method)
        )

    def build_with_check_weights(self, build: Any, *sizes: float) -> nn.Module:
        """Make an instance with the check's weights, which are the same for every right class.

        Raises:
            BrokenRuleError: its weights are not those of a trained model.
        """
        with fixed_torch_state_context():
            if sizes not in self._weights:
                reference = self._construct(self.reference, *sizes)
                self._weights[sizes] = CheckWeights.draw(reference)
            module = self._construct(build, *sizes)
            self._weights[sizes].load_into(module)
        return module

    def solution_source(self) -> str:
        """Return the source of a class that passes."""
        return inspect.getsource(self.reference).rstrip()

    def to_case_function(self, build: Any) -> AnswerFunction:
        """Return a function of cases: build the class, load our weights, call it, and learn."""

        def run(code: str, sizes: ConstructorSizes, inputs: dict[str, Any]) -> Any:
            module = self.build_with_check_weights(build, *sizes).eval()
            before = copy.deepcopy(module.state_dict())
            unchanged_inputs = copy.deepcopy(inputs)
            value = evaluate_case_code(code, module, inputs)
            for name, weight in module.state_dict().items():
                if not torch.equal(weight, before[name]):
                    raise BrokenRuleError(f"it changes its weight {name} when it is called")
            if not are_identical(inputs, unchanged_inputs):
                return value  # which is refused: see `run_case`
            right = self._reference_result(code, sizes, unchanged_inputs)
            if not describe_difference_safely(value, right.value):
                if right.in_training is not None:
                    raise_unless_gradients_match(
                        code, module.train(), right.in_training, unchanged_inputs
                    )
                if self.is_moved:
                    raise_unless_usable_on_another_device(code, module, unchanged_inputs)
            return value

        run.__wrapped__ = getattr(build, "forward", build)  # type: ignore[attr-defined]
        return run

    def _reference_result(
        self, code: str, sizes: ConstructorSizes, inputs: dict[str, Tensor]
    ) -> ReferenceResult:
        """Return what the reference computes in a case, which is computed once."""
        contents = [(name, x.dtype, x.shape, x.numpy().tobytes()) for name, x in inputs.items()]
        key = (code, sizes, *contents)
        if key not in self._reference_results:
            reference = self.build_with_check_weights(self.reference, *sizes).eval()
            value = evaluate_case_code(code, reference, copy.deepcopy(inputs))
            in_training = compute_value_and_gradients(code, reference.train(), inputs)
            self._reference_results[key] = ReferenceResult(value, in_training)
        return self._reference_results[key]

    def case_input(self, number: int, name: str) -> Any:
        """Return a copy of an input of a case; cases are numbered from 0, smallest first."""
        return self.case_arguments(number)[2][name]

    def case_to_code_lines(self, case: JudgedCase) -> list[str]:
        """Return a case as the lines of a cell: what it prints is wrong in a faulty class."""
        call, sizes, inputs = case.args
        broken_rule = case.outcome.broken_rule
        learns = "gradient" in broken_rule
        moves = "device" in broken_rule
        is_large = count_numbers(inputs) > MAX_NUMBERS_SHOWN
        lines = []
        for name, value in inputs.items():
            text = format_value(value)
            if is_large:
                text = f"{self.handle}.case_input({self.case_number(case)}, {name!r})"
            if moves:
                text += f'.to("{OTHER_DEVICE}")'
            if learns and isinstance(value, Tensor) and value.is_floating_point():
                text += ".requires_grad_()"
            shape = f"  # {describe_value(value)}" if is_large else ""
            lines.append(f"{name} = {text}{shape}")
        arguments = ", ".join([self.name, *map(str, sizes)])
        lines.append(f"mine = {self.handle}.build_with_check_weights({arguments})")
        if "training mode" in broken_rule:
            lines.append("mine.train()")
        if moves:
            lines.append(f'mine.to("{OTHER_DEVICE}")')
        if not learns:
            return [*lines, f"print({call})"]
        lines.append(f"({call}).square().sum().backward()")
        gradient = broken_rule.split()[-1]
        return [*lines, f"print({gradient})"]

    def _explain_invalid_answer(self, answer: Any) -> str:
        if not inspect.isclass(answer):
            return self._explain_answer_of_wrong_kind(answer, "a class")
        packages = {base.__module__.split(".")[0] for base in answer.__mro__}
        if packages.intersection(COURSE_PACKAGES):
            return "This is the course's own class: write yours."
        return ""

    def _case_text_rows(self, case: JudgedCase) -> list[str]:
        rows = ["The smallest case that shows it, as code:"]
        rows += [f"    {line}" for line in self.case_to_code_lines(case)]
        if case.outcome.broken_rule:
            return rows
        shown = [*case.outcome.learner_value_rows(), f"    expected  {format_short(case.right)}"]
        return [*case.outcome.stop_line_rows(), *rows, *shown]

    def _describe_pattern_of_error(self, answer: Any, cases: Sequence[JudgedCase]) -> str:
        """Name the first part of the class that is given, or returns, something else."""
        failure = next(case for case in cases if case.complaint)
        if self._is_right_on_new_instances(answer, failure):
            return (
                "On a new instance each of these calls is right: the class keeps something of one "
                "call that it should be given anew in the next."
            )
        if failure.outcome.stop_cause or failure.outcome.changed:
            return ""
        code, sizes, inputs = failure.args
        yours = _submodule_calls(code, self.build_with_check_weights(answer, *sizes).eval(), inputs)
        theirs = _submodule_calls(
            code, self.build_with_check_weights(self.reference, *sizes).eval(), inputs
        )
        for name, right in theirs.items():
            if name not in yours:
                return f"In this case {name} is never called; the course's class calls it."
            inputs_of_yours = yours[name].inputs
            for input_name, tensor in right.inputs.items():
                if describe_difference_safely(inputs_of_yours.get(input_name), tensor):
                    given = f"{name} gets another `{input_name}`"
                    return f"The first difference: {given} than in the course's class."
            if describe_difference_safely(yours[name].output, right.output):
                return f"{name} gets the right inputs, and what it returns is wrong."
        for name in yours:
            if name not in theirs:
                return f"In this case {name} is called; the course's class does not call it."
        return "Each part you call is right; the mistake is in how you put them together."

    def _is_right_on_new_instances(self, answer: Any, case: JudgedCase) -> bool:
        """Return whether a case has several calls, each of them right on a new instance."""
        code, sizes, inputs = case.args
        calls = ast.parse(code, mode="eval").body
        if not isinstance(calls, ast.List):
            return False
        for call in map(ast.unparse, calls.elts):
            yours, right = (
                evaluate_case_code(
                    call,
                    self.build_with_check_weights(build, *sizes).eval(),
                    copy.deepcopy(inputs),
                )
                for build in (answer, self.reference)
            )
            if describe_difference_safely(yours, right):
                return False
        return True


class SubmoduleCall(NamedTuple):
    """A call of a part of a module."""

    inputs: dict[str, Tensor]  # by the names of its parameters
    output: Any


def _submodule_calls(
    code: str, module: nn.Module, inputs: dict[str, Any]
) -> dict[str, SubmoduleCall]:
    """Return every call of a part of a module, by the part's name, in order.

    The module is given copies, and copies are returned: a class may change its inputs in place.
    """
    calls: dict[str, SubmoduleCall] = {}

    def add_call(name: str, part: nn.Module, args: Any, options: Any, output: Any) -> None:
        bound = inspect.signature(part.forward).bind(*args, **options).arguments
        tensors = {key: value.clone() for key, value in bound.items() if isinstance(value, Tensor)}
        number = sum(other.split(" (")[0] == name for other in calls) + 1
        key = name if number == 1 else f"{name} (call {number})"
        calls[key] = SubmoduleCall(tensors, copy.deepcopy(output))

    for name, part in module.named_modules():
        if name:
            part.register_forward_hook(partial(add_call, f"`{name}`"), with_kwargs=True)
    with torch.no_grad():  # so that outputs can be copied
        evaluate_case_code(code, module, copy.deepcopy(inputs))
    return calls
