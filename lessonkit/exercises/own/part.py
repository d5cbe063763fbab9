"""A class of one's own Transformer: judged like an exercise, and kept for later lessons.

Not in the paper. `check` never raises, whatever the class does.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise, Text, is_blank
from lessonkit.exercises.mistakes import edited
from lessonkit.exercises.outcome import Answer, Args, BrokenRuleError, article

WORDS = read_words("own")


class Part(Exercise):
    """One class to write: it must compute what the reference computes with the same weights.

    Args:
        reference: A right class, called My and its name.
        handle: How a notebook calls this part: "own.attention".
        lesson: Where it is written, "02".
        sizes: How many of a case's arguments go to the constructor; the others are inputs.
        cases: Arguments, many of them small, so that the smallest one fails.
        wrong: Classes that make those mistakes that no edit of the reference makes.
    """

    def __init__(
        self,
        reference: type[nn.Module],
        *,
        handle: str,
        lesson: str,
        sizes: int,
        cases: Sequence[Args],
        wrong: Mapping[str, type[nn.Module]] | None = None,
    ) -> None:
        self.written, self.lesson, self._sizes = reference, lesson, sizes
        run = self._runner(reference)
        super().__init__(
            run, WORDS, cases=cases, expected=run, wrong=wrong, handle=handle, kept=True
        )
        self.right = reference

    def __repr__(self) -> str:
        """Name the class and what is offered."""
        return f"{self.handle} (lesson {self.lesson}): .check({self.name}), .hint(), .solution()"

    def check(self, answer: Any) -> Text:
        """Judge a class: passed, not attempted, or what is wrong, on the smallest case."""
        if answer is None or answer is ... or _has_gap(answer):
            text = f"{self.name}: not attempted. Put your lines in place of the dots."
            return Text(text, "not attempted")
        if not isinstance(answer, type):
            return Text(
                f"{self.name}: wrong. It was given {article(answer)}, not a class.\n"
                f"Write .check({self.name}), with no brackets after the name.",
                "wrong",
            )
        return super().check(self._runner(answer))

    def solution(self) -> Text:
        """Show a class that passes."""
        return Text(inspect.getsource(self.written).rstrip())

    def make(self, wrong: Any) -> Answer:
        """Make a wrong answer of a class, or of an edit of the reference."""
        return self._runner(edited(self.written, *wrong) if isinstance(wrong, tuple) else wrong)

    def _runner(self, build: Callable[..., Any]) -> Callable[..., Any]:
        """Make a function of sizes and inputs: build it, give it our weights, run it."""

        def run(*args: Any) -> Any:
            sizes, inputs = args[: self._sizes], args[self._sizes :]
            module = build(*sizes)
            _take_weights(module, self.written(*sizes))
            with torch.no_grad():
                return module.eval()(*inputs)

        run.__name__ = self.written.__name__
        run.__wrapped__ = getattr(build, "forward", build)  # type: ignore[attr-defined]
        return run


def _has_gap(answer: Any) -> bool:
    """Whether a class still has a method of dots alone."""
    if not inspect.isclass(answer):
        return False
    return any(is_blank(each) for each in vars(answer).values() if inspect.isfunction(each))


def _take_weights(module: nn.Module, like: nn.Module) -> None:
    """Give a module weights drawn by their names, the same for every class that has them all.

    Raises:
        BrokenRuleError: a name is missing, too many or of another shape, or what the
            reference shares is not shared.
    """
    wanted, found = like.state_dict(), module.state_dict()
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
    first = {weight.data_ptr(): name for name, weight in reversed(wanted.items())}
    generator = torch.Generator().manual_seed(3)
    drawn = {  # small enough that sums, and so logits, stay near 1: no rounding is enlarged
        name: torch.randn(weight.shape, generator=generator) / weight.shape[-1] ** 0.5
        for name, weight in wanted.items()
    }
    for name, weight in wanted.items():
        one = first[weight.data_ptr()]
        if found[name].data_ptr() != found[one].data_ptr():
            raise BrokenRuleError(f"{name} and {one} should be one matrix (§3.4)")
        drawn[name] = drawn[one]
    module.load_state_dict(drawn)
